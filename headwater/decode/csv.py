"""CSV: a message is one record, whose fields are text.

Separators are found for all messages at once: a delimiter counts where the quotes before it are even in
number. Fields in quotes lose these, and of two quotes in them one.  Records with quotes in other places
are read one by one: `a"b` is what it says, and `"a"b` is `ab`.

Pinned: `header` (names, or null), `columns` (their number) and `delimiter`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.relation import Column
from headwater.core.types import TEXT
from headwater.decode.contract import Decoded, Decoder, Format, SchemaOf
from headwater.decode.slices import sliced
from headwater.decode.text import text_and_errors
from headwater.formats.spans import Bytes, Mask, Numbers, bytes_of, pieces_of, rows_of

_QUOTE, _RETURN, _NEWLINE = 34, 13, 10
_QUOTED: Final = '^"(?:[^"]|"")*"$'


def _columns(pinned: Mapping[str, Any]) -> tuple[Column, ...]:
    names = pinned["header"] or [f"column{number}" for number in range(1, pinned["columns"] + 1)]
    return tuple(Column(name, TEXT, nullable=False) for name in names)


def _decoder(pinned: Mapping[str, Any], _schema_of: SchemaOf) -> Decoder:
    width, delimiter = len(_columns(pinned)), pinned["delimiter"]
    return sliced(lambda messages: _decode(messages, width, delimiter))


def _decode(messages: pa.Array, width: int, delimiter: str) -> Decoded:
    texts, errors = text_and_errors(messages, "CSV")
    if errors is not None:
        texts = texts.fill_null("")
    data, offsets = bytes_of(texts)
    starts, ends = offsets[:-1], _without_line_end(data, offsets)
    separators, odd = _separators(data, offsets, ends, ord(delimiter))
    odd |= np.diff(np.searchsorted(separators, offsets)) != width - 1
    plain = np.flatnonzero(~odd)
    between = separators[~odd[rows_of(separators, offsets)]].reshape(len(plain), width - 1)
    firsts = np.column_stack([starts[plain], between + 1])
    lasts = np.column_stack([between, ends[plain]])
    pieces = pieces_of(data, np.append(0, np.stack([firsts, lasts], axis=-1)))
    numbers = np.zeros(len(texts), np.int64)
    numbers[plain] = 2 * width * np.arange(len(plain)) + 1
    columns = [pieces.take(pa.array(numbers + 2 * at, mask=odd)).cast(pa.string()) for at in range(width)]
    if (data == _QUOTE).any():
        columns = [_unquoted(column, odd) for column in columns]
    return _with_odd(texts, columns, errors, odd, delimiter)


def _without_line_end(data: Bytes, offsets: Numbers) -> Numbers:
    """Where records end: before one end of a line."""
    ends: Numbers = offsets[1:]
    for last in (_NEWLINE, _RETURN):
        there = ends > offsets[:-1]
        there[there] = data[ends[there] - 1] == last
        ends = ends - there
    return ends


def _separators(data: Bytes, offsets: Numbers, ends: Numbers, delimiter: int) -> tuple[Numbers, Mask]:
    """Delimiters that are in no quotes, and the rows that have open quotes, or more than one line."""
    quotes = np.flatnonzero(data == _QUOTE)
    before = np.searchsorted(quotes, offsets)
    odd = np.diff(before) % 2 == 1

    def outside(places: Numbers) -> Numbers:
        if not len(quotes):
            return places
        earlier = np.searchsorted(quotes, places) - before[rows_of(places, offsets)]
        return np.asarray(places[earlier % 2 == 0])

    lines = outside(np.flatnonzero((data == _NEWLINE) | (data == _RETURN)))
    rows = rows_of(lines, offsets)
    odd[rows[lines < ends[rows]]] = True
    return outside(np.flatnonzero(data == delimiter)), odd


def _unquoted(column: pa.Array, odd: Mask) -> pa.Array:
    """Fields without the quotes around them; what has quotes elsewhere makes its row odd."""
    quoted = pc.fill_null(pc.match_substring_regex(column, _QUOTED), False)
    strange = pc.and_(pc.fill_null(pc.match_substring(column, '"'), False), pc.invert(quoted))
    odd |= strange.to_numpy(zero_copy_only=False)
    bare = pc.utf8_slice_codeunits(column.filter(quoted), 1, -1)
    return pc.replace_with_mask(column, quoted, pc.replace_substring(bare, '""', '"'))


def _with_odd(
    texts: pa.Array, columns: list[pa.Array], errors: pa.Array | None, odd: Mask, delimiter: str
) -> Decoded:
    """With the rows that have to be read one by one."""
    if errors is not None:
        odd |= errors.is_valid().to_numpy(zero_copy_only=False)
    if not odd.any():
        return Decoded(tuple(columns))
    mask = pa.array(odd)
    read = [_record(text, len(columns), delimiter) for text in texts.filter(mask).to_pylist()]
    reasons = pa.array([one if isinstance(one, str) else None for one in read], pa.string())
    if errors is not None:
        reasons = pc.coalesce(errors.filter(mask), reasons)
    good = [one if reason is None else None for one, reason in zip(read, reasons.to_pylist(), strict=True)]
    made = tuple(
        pc.replace_with_mask(
            column, mask, pa.array([None if one is None else one[at] for one in good], pa.string())
        )
        for at, column in enumerate(columns)
    )
    if reasons.null_count == len(reasons):
        return Decoded(made)
    return Decoded(made, pc.replace_with_mask(pa.nulls(len(texts), pa.string()), mask, reasons))


def _record(text: str, width: int, delimiter: str) -> list[str] | str:
    """The fields of a record, or what is wrong with it."""
    field = _field(delimiter)
    fields: list[str] = []
    place = 0
    while (found := field.match(text, place)) is not None:
        if found["open"] is not None and not found["close"]:
            return "CSV: a quoted field has no end"
        fields.append((found["open"] or "").replace('""', '"') + found["rest"])
        place = found.end()
        if found["end"] != delimiter:
            break
    if place < len(text):
        return "CSV: more than one record in a message"
    return fields if len(fields) == width else f"CSV: expected {width} columns, got {len(fields)}"


@lru_cache(maxsize=16)
def _field(delimiter: str) -> re.Pattern[str]:
    """A field and what ends it; what comes after its closing quote belongs to it as it is."""
    sign = re.escape(delimiter)
    return re.compile(
        rf'(?:"(?P<open>(?:[^"]|"")*+)(?P<close>"?))?(?P<rest>[^{sign}\r\n]*)(?P<end>{sign}|\r?\n|\r|\Z)'
    )


CSV: Final = Format("csv", _columns, _decoder)
