"""Changes of rows of one table, read by columns out of many events at once.

    rows      table id:6 flags:2 [size:2 more, of the newer kind] columns:packed
              which columns the images have, a bit each; of updates that twice
              (image | image before, image after)*
    image     [what is partial: packed, a bit for each document] a bit for each column that is NULL, value*

There is one place in every event, and a column is read at all places at once; what its values took moves
them on.  So there is one turn for the first rows of all events, one for the second, and most events have one
row.  Columns that nobody wants are only measured; those whose values are all of a size cost nothing.

Every row must end within its event and the last one where the event does: what is spoiled is a ValueError.

Not here: what the values are (row_values.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from headwater.sources.mysql.events import (
    DELETES,
    HEADER,
    PARTIAL_UPDATE_ROWS,
    UPDATES,
    WRITE_ROWS,
    WRITES,
    Booleans,
    Bytes,
    Events,
    Integers,
    packed,
)
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.row_values import Values, equal_bytes, texts_of, values_of
from headwater.sources.mysql.table_map import JSON, TableMap
from headwater.sources.mysql.tuples import TupleColumn

_SPOILED: Final = "a row in the binary log does not end where its event does"


class IncompleteRows(ValueError):
    """Images do not have all columns: somebody's session does not log them."""


@dataclass(frozen=True, slots=True)
class Tuples:
    """Images of rows, in the order of the log."""

    event: Integers  # the number of the event each is from
    change: Integers  # which change it is of; an update's two images have the same
    columns: dict[int, TupleColumn]  # by place in the table map

    def taken(self, mask: Booleans) -> Tuples:
        columns = {place: column.taken(mask) for place, column in self.columns.items()}
        return Tuples(self.event[mask], self.change[mask], columns)

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What happened to rows of a table."""

    events: Events
    table_map: TableMap
    came: Tuples  # of inserts and updates
    went: Tuples  # of updates and deletes

    def values(self, tuples: Tuples, place: int, facts: ColumnFacts) -> Values:
        """The values of a column as its type has them."""
        return values_of(self.events, tuples.columns[place], self.table_map.columns[place], facts)

    def texts(self, tuples: Tuples, place: int, facts: ColumnFacts) -> Values:
        """The values of a column as the server prints them."""
        return texts_of(self.events, tuples.columns[place], self.table_map.columns[place], facts)

    def equal(self, some: Tuples, others: Tuples, place: int) -> Booleans:
        """Of as many images of each: whether a column's values are the same, byte by byte."""
        return equal_bytes(self.events, some.columns[place], others.columns[place])


class _Body(NamedTuple):
    """What an event says before its rows; events that say the same are read together."""

    kind: int
    size: int  # up to the first row
    present: tuple[bytes, ...]  # of each image, a bit for each column


def read_rows(events: Events, numbers: Integers, table_map: TableMap, places: Collection[int]) -> RowChanges:
    """The changes in these events, which all are of a table map; ValueError if one cannot be read."""
    try:
        found = [
            _walk(events, numbers[chosen], body, table_map, frozenset(places))
            for body, chosen in _bodies(events, numbers, len(table_map.columns))
        ]
    except IndexError as error:
        raise ValueError(_SPOILED) from error
    event = np.concatenate([np.empty(0, np.int64), *(walk.event for walk in found)])
    turn = np.concatenate([np.empty(0, np.int64), *(walk.turn for walk in found)])
    change = np.empty(len(event), np.int64)
    change[np.lexsort((turn, event))] = np.arange(len(event))
    sides: list[Tuples] = []
    for side in ("after", "before"):
        starts = np.cumsum([0, *(len(walk.event) for walk in found)])
        parts = [
            (getattr(walk, side), change[start : start + len(walk.event)], walk.event)
            for walk, start in zip(found, starts.tolist(), strict=False)
            if getattr(walk, side) is not None
        ]
        sides.append(_in_order(parts, places))
    return RowChanges(events, table_map, *sides)


def _in_order(
    parts: Sequence[tuple[dict[int, TupleColumn], Integers, Integers]], places: Collection[int]
) -> Tuples:
    if not parts:
        none = np.empty(0, np.int64)
        return Tuples(none, none, {place: TupleColumn(none, none, np.empty(0, bool)) for place in places})
    change = np.concatenate([numbers for _, numbers, _ in parts])
    event = np.concatenate([numbers for _, _, numbers in parts])
    columns = {place: TupleColumn.concat([part[place] for part, _, _ in parts]) for place in places}
    tuples = Tuples(event, change, columns)
    if np.all(change[1:] > change[:-1]):
        return tuples
    order = np.argsort(change, kind="stable")
    moved = {place: column.taken(order) for place, column in columns.items()}
    return Tuples(event[order], change[order], moved)


def _bodies(events: Events, numbers: Integers, columns: int) -> list[tuple[_Body, Booleans]]:
    """The different bodies, and of which events they are."""
    found: list[tuple[_Body, Booleans]] = []
    left = np.ones(len(numbers), bool)
    kinds, starts = events.kinds[numbers], events.starts[numbers] + HEADER
    while left.any():
        first = int(np.flatnonzero(left)[0])
        body = _body(events.event(int(numbers[first])), columns)
        size = body.size - 8
        begins = starts[left] + 8
        if int((begins + size).max()) > len(events.array):
            raise ValueError(_SPOILED)
        wanted = events.array[starts[first] + 8 : starts[first] + 8 + size]
        same = (events.array[begins[:, None] + np.arange(size)] == wanted).all(axis=1)
        same &= kinds[left] == body.kind
        chosen = np.zeros(len(numbers), bool)
        chosen[np.flatnonzero(left)[same]] = True
        found.append((body, chosen))
        left &= ~chosen
    return found


def _body(event: bytes, columns: int) -> _Body:
    kind, at = event[4], HEADER + 8
    if kind >= WRITE_ROWS:
        at += max(int.from_bytes(event[at : at + 2], "little"), 2)
    count, at = packed(event, at)
    if count != columns:
        raise ValueError(f"rows in the binary log have {count} columns, and the table map {columns}")
    size = (count + 7) // 8
    present = []
    for _ in range(2 if kind in UPDATES else 1):
        present.append(event[at : at + size])
        at += size
    if at > len(event):
        raise ValueError(_SPOILED)
    return _Body(kind, at - HEADER, tuple(present))


@dataclass(frozen=True, slots=True)
class _Walked:
    event: Integers
    turn: Integers
    before: dict[int, TupleColumn] | None
    after: dict[int, TupleColumn] | None


def _walk(
    events: Events, numbers: Integers, body: _Body, table_map: TableMap, places: frozenset[int]
) -> _Walked:
    """All rows of events that say the same before them."""
    partial = body.kind == PARTIAL_UPDATE_ROWS
    images = [_Image(events, table_map, present, places) for present in body.present]
    if partial:
        images[1] = _PartialImage(events, table_map, body.present[1], places)
    at, ends = events.starts[numbers] + HEADER + body.size, events.ends[numbers]
    # An event without any row is none that a server writes, but says nothing wrong.
    going = at < ends
    turns: list[tuple[Integers, int]] = []
    while going.any():
        if not going.all():
            numbers, at, ends = numbers[going], at[going], ends[going]
        begins = at
        for image in images:
            at = image.read(at)
        if np.any(at > ends) or np.any(at <= begins):
            raise ValueError(_SPOILED)
        turns.append((numbers, len(turns)))
        going = at < ends
    event = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in turns)])
    turn = np.repeat([turn for _, turn in turns], [len(numbers) for numbers, _ in turns]).astype(np.int64)
    columns = [image.columns() for image in images]
    if partial:
        columns[1] = {
            place: column.upon(columns[0][place]) if column.diffs is not None else column
            for place, column in columns[1].items()
        }
    before = columns[0] if body.kind in UPDATES or body.kind in DELETES else None
    after = columns[-1] if body.kind in UPDATES or body.kind in WRITES else None
    return _Walked(event, turn, before, after)


class _Measure(NamedTuple):
    """How a column lies in an image."""

    place: int
    size: int | None  # None: its length comes before it
    length_size: int
    wanted: bool


@dataclass(slots=True)
class _Read:
    starts: list[Integers] = field(default_factory=list)
    lengths: list[Integers] = field(default_factory=list)
    missing: list[Booleans] = field(default_factory=list)


class _Image:
    """Reads images of one shape."""

    def __init__(self, events: Events, table_map: TableMap, present: bytes, places: frozenset[int]) -> None:
        self._events = events
        self._measures: list[_Measure] = []
        for place, column in enumerate(table_map.columns):
            if not present[place // 8] >> place % 8 & 1:
                if place in places:
                    raise IncompleteRows(
                        f"the binary log does not have {_shown(table_map, place)} of all rows: "
                        "binlog_row_image was not FULL"
                    )
                continue
            size = column.size()
            length_size = column.length_size() if size is None else 0
            if size is None and not 1 <= length_size <= 4:
                raise ValueError(
                    f"{_shown(table_map, place)} has the type {column.kind} of the binary log, "
                    "which cannot be read"
                )
            self._measures.append(_Measure(place, size, length_size, place in places))
        self._null_bytes = (len(self._measures) + 7) // 8
        self._found = {place: _Read() for place in sorted(places)}

    def read(self, at: Integers) -> Integers:
        """One image at each place; where they end."""
        nulls: Bytes = self._events.array[at[:, None] + np.arange(self._null_bytes)]
        some_null = np.bitwise_or.reduce(nulls, axis=0).tolist()
        at = at + self._null_bytes
        beyond = 0  # what is to be added to all places
        for bit, (place, size, length_size, wanted) in enumerate(self._measures):
            missing: Booleans | None = None
            if some_null[bit >> 3] >> (bit & 7) & 1:
                missing = (nulls[:, bit >> 3] >> np.uint8(bit & 7) & 1).astype(bool)
            if size is None:
                at = at + beyond if beyond else at
                beyond = 0
                lengths = self._events.numbers(at, length_size)
                if missing is None:
                    starts = at + length_size
                else:
                    lengths[missing] = 0
                    starts = at + np.where(missing, 0, length_size)
                at = starts + lengths
                self._check(at)
                if wanted:
                    self._keep(place, starts, lengths, missing)
            else:
                if wanted:
                    self._keep(place, at + beyond, np.full(len(at), size, np.int64), missing)
                if missing is None:
                    beyond += size
                else:
                    at = at + np.where(missing, 0, size)
        return at + beyond

    def _check(self, at: Integers) -> None:
        if len(at) and int(at.max()) > len(self._events.data):
            raise ValueError(_SPOILED)

    def _keep(self, place: int, starts: Integers, lengths: Integers, missing: Booleans | None) -> None:
        found = self._found[place]
        found.starts.append(starts)
        found.missing.append(np.zeros(len(starts), bool) if missing is None else missing)
        found.lengths.append(lengths if missing is None else np.where(missing, 0, lengths))

    def columns(self) -> dict[int, TupleColumn]:
        """All that was read."""
        none = np.empty(0, np.int64)
        return {
            place: TupleColumn(
                np.concatenate([none, *found.starts]),
                np.concatenate([none, *found.lengths]),
                np.concatenate([np.empty(0, bool), *found.missing]),
            )
            for place, found in self._found.items()
        }


class _PartialImage(_Image):
    """Reads images whose documents may only say what has changed in them."""

    def __init__(self, events: Events, table_map: TableMap, present: bytes, places: frozenset[int]) -> None:
        super().__init__(events, table_map, present, places)
        documents = [place for place, column in enumerate(table_map.columns) if column.kind == JSON]
        self._bits = {place: bit for bit, place in enumerate(documents) if place in places}
        self._bytes = (len(documents) + 7) // 8
        self._diffs: dict[int, list[Booleans]] = {place: [] for place in self._bits}

    def read(self, at: Integers) -> Integers:
        told = self._events.array[at]
        if np.any(told > 1):
            raise ValueError("a row in the binary log is partial in a way that is not known")
        partial = told == 1
        bits = self._events.array[at[:, None] + 1 + np.arange(self._bytes)]
        for place, bit in self._bits.items():
            self._diffs[place].append(partial & (bits[:, bit >> 3] >> np.uint8(bit & 7) & 1).astype(bool))
        return super().read(at + 1 + np.where(partial, self._bytes, 0))

    def columns(self) -> dict[int, TupleColumn]:
        columns = super().columns()
        for place, diffs in self._diffs.items():
            column = columns[place]
            some = np.concatenate([np.empty(0, bool), *diffs])
            columns[place] = TupleColumn(column.starts, column.lengths, column.missing, some)
        return columns


def _shown(table_map: TableMap, place: int) -> str:
    name = table_map.columns[place].name
    column = f"column {place + 1}" if name is None else f"column `{name}`"
    return f"{column} of `{table_map.schema}`.`{table_map.name}`"
