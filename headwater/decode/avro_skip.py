"""Going past values of Avro that nobody wants, and finding where the elements of arrays and maps begin.

Two ways that agree: `skipper` for many messages at a time, and `passed` for one value after the other in
Python, for what only a few messages have: an array that is much longer than those of the others, and types
that contain themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from headwater.decode.avro_bytes import ENDS_EARLY, Cursor, Mask, Places, spans, whole
from headwater.decode.avro_schema import Document, Field, Schema

Skip = Callable[[Cursor], Places]
"""The places behind a value."""

_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_FEW: Final = 24
"""So many messages, or fewer, are gone through one by one: a step for all of them takes as long."""
_NEGATIVE: Final = "a length is negative"
_NO_BRANCH: Final = "union has no branch {}"
_TOO_MANY: Final = "there are more elements than bytes"
_OTHER_SIZE: Final = "elements do not have the size that is said of them"


def width_of(schema: Schema) -> int | None:
    """How many bytes every value of a type has; None where they differ."""
    if schema.kind == "fixed":
        return schema.size
    if schema.kind == "record":
        widths = [width_of(field.schema) for field in schema.fields]
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) else None
    return _WIDTHS.get(schema.kind)


def entry_of(schema: Schema) -> Schema:
    """What an array or a map is a row of."""
    if schema.kind == "array":
        return schema.parts[0]
    return Schema("record", fields=(Field("key", Schema("string")), Field("value", schema.parts[0])))


def no_branch(number: int) -> str:
    """The complaint about a branch that a union does not have."""
    return _NO_BRANCH.format(number)


# Many messages at a time


def skipper(document: Document, schema: Schema) -> Skip:
    """How to go past values of a type."""
    width = width_of(schema)
    if width is not None:
        return lambda cursor: cursor.held(cursor.at + width)
    match schema.kind:
        case "int" | "long" | "enum":
            return lambda cursor: whole(cursor)[1]
        case "bytes" | "string":
            return lambda cursor: spans(cursor)[1]
        case "array" | "map":
            find = finder(document, schema)
            return lambda cursor: find(cursor)[2]
        case "record":
            return _record_skipper([skipper(document, field.schema) for field in schema.fields])
        case "union":
            return _union_skipper([skipper(document, part) for part in schema.parts])
    return lambda cursor: _one_by_one(document, schema, cursor)


def _record_skipper(skips: list[Skip]) -> Skip:
    def skip(cursor: Cursor) -> Places:
        for one in skips:
            cursor = cursor.moved(one(cursor))
        return cursor.at

    return skip


def _union_skipper(skips: list[Skip]) -> Skip:
    def skip(cursor: Cursor) -> Places:
        index, at = branch_numbers(cursor, len(skips))
        for number, one in enumerate(skips):
            chosen = np.flatnonzero(index == number)
            if len(chosen):
                at[chosen] = one(cursor.some(chosen, at))
        return at

    return skip


def branch_numbers(cursor: Cursor, count: int) -> tuple[Places, Places]:
    """Which branch of a union each value has, -1 where there is none such; and the places behind."""
    index, at = whole(cursor)
    bad = (index < 0) | (index >= count)
    if bad.any():
        for number in np.unique(index[bad]).tolist():
            cursor.fault(index == number, no_branch(number))
        return np.where(bad, -1, index), np.where(bad, cursor.end, at)
    return index, at


def _one_by_one(document: Document, schema: Schema, cursor: Cursor) -> Places:
    data = cursor.page.data.data
    at = cursor.at.copy()
    for number, (begin, end) in enumerate(zip(cursor.at.tolist(), cursor.end.tolist(), strict=True)):
        try:
            at[number] = passed(document, schema, data, begin, end)
        except (_Broken, RecursionError) as error:
            _fault_one(cursor, number, error)
            at[number] = end
    return at


def _fault_one(cursor: Cursor, number: int, error: Exception) -> None:
    why = "values are nested too deeply" if isinstance(error, RecursionError) else str(error)
    cursor.some(np.array([number])).fault(np.array([True]), why)


# Elements


Find = Callable[[Cursor], tuple[Places, Places, Places]]
"""Of each element, in order, whose it is and where it begins; and the places behind each array."""


def finder(document: Document, schema: Schema) -> Find:
    """How to find the elements of an array, or the entries of a map."""
    entry = entry_of(schema)
    width = width_of(entry)
    skip = skipper(document, entry)
    least = max(_least(entry), 1)

    def find(cursor: Cursor) -> tuple[Places, Places, Places]:
        at = cursor.at.copy()
        found = _Found([], [])
        active = np.arange(len(at))
        due = np.empty_like(at)
        while len(active) > _FEW:
            some = cursor.some(active, at)
            left, at[active], due[active] = _counts(some, least)
            active, left = active[left > 0], left[left > 0]
            if width is not None:
                found.add_even(active, at, left, width)
                _check_sizes(cursor, active, at, due)
                continue
            inner = active
            while len(inner) > _FEW:
                found.add(inner, at[inner])
                at[inner] = skip(cursor.some(inner, at))
                left = left - 1
                inner, left = inner[left > 0], left[left > 0]
            for owner, count in zip(inner.tolist(), left.tolist(), strict=True):
                _walk(document, schema, cursor, owner, at, found, count, int(due[owner]))
            active = np.setdiff1d(active, inner, assume_unique=True)
            _check_sizes(cursor, active, at, due)
        for owner in active.tolist():
            _walk(document, schema, cursor, owner, at, found, 0, -1)
        return (*found.in_order(), at)

    return find


class _Found:
    """Elements as they are found: one of each value, then the next of each."""

    __slots__ = ("owners", "places")

    def __init__(self, owners: list[Places], places: list[Places]) -> None:
        self.owners = owners
        self.places = places

    def add(self, owners: Places, places: Places) -> None:
        self.owners.append(owners)
        self.places.append(places)

    def add_even(self, owners: Places, at: Places, counts: Places, width: int) -> None:
        """Elements of one width, whose number is known to fit; `at` is moved behind them."""
        all_owners = np.repeat(owners, counts)
        number = np.arange(len(all_owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        self.add(all_owners, at[all_owners] + number * width)
        at[owners] += counts * width

    def in_order(self) -> tuple[Places, Places]:
        if not self.owners:
            none = np.empty(0, np.int64)
            return none, none
        owners, places = np.concatenate(self.owners), np.concatenate(self.places)
        if len(self.owners) == 1:
            return owners, places
        order = np.argsort(owners, kind="stable")
        return owners[order], places[order]


def _check_sizes(cursor: Cursor, owners: Places, at: Places, due: Places) -> None:
    """A block must end where it says, if it does."""
    wrong = owners[(due[owners] >= 0) & (due[owners] != at[owners])]
    if len(wrong):
        cursor.some(wrong).fault(np.ones(len(wrong), np.bool_), _OTHER_SIZE)
        at[wrong] = cursor.end[wrong]


def _counts(cursor: Cursor, least: int) -> tuple[Places, Places, Places]:
    """How many elements the next blocks have, none where that is not possible; and the places behind that.

    Then where a block says that it ends, -1 where it does not say so.
    """
    count, at = whole(cursor)
    due = np.full(len(at), -1)
    sized = np.flatnonzero(count < 0)
    if len(sized):
        # A negative count is followed by the block's size in bytes, for those who want to go past it.
        size, at[sized] = whole(cursor.some(sized, at))
        count[sized] = -count[sized]
        due[sized] = at[sized] + np.clip(size, 0, cursor.end[sized])
    bad: Mask = (count < 0) | (count > (cursor.end - at) // least)
    if bad.any():
        cursor.fault(bad, _TOO_MANY)
        return np.where(bad, 0, count), np.where(bad, cursor.end, at), due
    return count, at, due


def _least(schema: Schema) -> int:
    """How many bytes a value of a type has at least."""
    if schema.kind == "record":
        return sum(_least(field.schema) for field in schema.fields)
    width = width_of(schema)
    return 1 if width is None else width


def _walk(
    document: Document,
    schema: Schema,
    cursor: Cursor,
    owner: int,
    at: Places,
    found: _Found,
    left: int,
    due: int,
) -> None:
    """What is left of one array, from inside a block or from between two on; moves `at` behind it."""
    places: list[int] = []
    begin, end = int(at[owner]), int(cursor.end[owner])
    try:
        blocks = _blocks(document, schema, cursor.page.data.data, begin, end, left, due)
        for place, is_element in blocks:
            if is_element:
                places.append(place)
            else:
                at[owner] = place
    except (_Broken, RecursionError) as error:
        _fault_one(cursor, owner, error)
        at[owner] = end
    found.add(np.full(len(places), owner), np.array(places, np.int64))


# One value after the other


class _Broken(Exception):
    """What is wrong with a message."""


def passed(document: Document, schema: Schema, data: memoryview, at: int, end: int) -> int:
    """The place behind one value."""
    width = width_of(schema)
    if width is not None:
        at += width
    else:
        match schema.kind:
            case "int" | "long" | "enum":
                at = _number(data, at, end)[1]
            case "bytes" | "string":
                length, at = _number(data, at, end)
                if length < 0:
                    raise _Broken(_NEGATIVE)
                at += length
            case "record":
                for field in schema.fields:
                    at = passed(document, field.schema, data, at, end)
            case "union":
                number, at = _number(data, at, end)
                if not 0 <= number < len(schema.parts):
                    raise _Broken(no_branch(number))
                at = passed(document, schema.parts[number], data, at, end)
            case "recursive":
                at = passed(document, document.meant(schema), data, at, end)
            case _:
                for place, is_element in _blocks(document, schema, data, at, end, 0, -1):
                    at = at if is_element else place
    if at > end:
        raise _Broken(ENDS_EARLY)
    return at


def _blocks(
    document: Document, schema: Schema, data: memoryview, at: int, end: int, left: int, due: int
) -> Iterator[tuple[int, bool]]:
    """The places of elements; in the end the place behind all, which is none."""
    entry = entry_of(schema)
    least = max(_least(entry), 1)
    while True:
        for _ in range(left):
            yield at, True
            at = passed(document, entry, data, at, end)
        if due >= 0 and at != due:
            raise _Broken(_OTHER_SIZE)
        left, at = _number(data, at, end)
        due = -1
        if left < 0:
            size, at = _number(data, at, end)
            left, due = -left, at + max(size, 0)
        if not left:
            yield at, False
            return
        if left > (end - at) // least:
            raise _Broken(_TOO_MANY)


def _number(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= end:
            raise _Broken(ENDS_EARLY)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            break
    if value >> 64 or shift > 63:
        raise _Broken("a number has more than 64 bits")
    return (value >> 1) ^ -(value & 1), at
