"""A stretch of the binary log -> changes of tables, column-wise, in Spark tasks.

    row events of one table map ──rows──► images ──► raw columns ──► stored columns ──► batches

The table map is the one that was in force at each event, so that changes before a DDL of the upstream are
read as they were written.  What cannot become a row of a table (another shape, an image without all columns)
is a definite error of that table alone; a value that cannot be stored is a flaw of its row.

    keyed      '+' the new row; '-' the old key where an update changed it, and for a delete
    counted    '+' the new row; '-' the old row

Not here: events (events.py, rows.py), cutting the log into stretches (spool.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core import change
from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.formats.arrow import arrow_type, read_schema
from headwater.sources.contract import Export, ReadPart, Reset
from headwater.sources.flawed import RowFlaws
from headwater.sources.mysql.altered import said
from headwater.sources.mysql.events import Booleans, Events, Integers, is_rows
from headwater.sources.mysql.facts import ColumnFacts, Flavour
from headwater.sources.mysql.gtid import Gtid, parse_gtids
from headwater.sources.mysql.rows import IncompleteRows, RowChanges, Tuples, read_rows
from headwater.sources.mysql.statements import Effect, read_query
from headwater.sources.mysql.table_map import TableMap, TableMaps
from headwater.sources.mysql.transactions import Begun, begun, parse_query, statements_of
from headwater.sources.mysql.trouble import READ_AGAIN
from headwater.sources.mysql.values import stored
from headwater.sources.spooled import Stored
from headwater.sources.stretches import Shown, changes

_BATCH_EVENTS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive events, and what must be known of the log before them."""

    stored: Stored
    lengths: Integers
    maps: tuple[bytes, ...]  # of the transaction that is under way
    under: Gtid | None  # its name
    points: Mapping[str, Shown]  # by table: what it was read at, while it may matter
    flavour: Flavour
    folded: bool  # names of tables are kept in lower case upstream

    def load(self) -> Events:
        """The events."""
        return Events(self.stored.load(), self.lengths)


def read(part: ReadPart) -> Iterator[tuple[Export, pa.RecordBatch | Reset | Received | DefiniteError]]:
    """The changes of a part, export by export."""
    stretch = _Stretch(part.details)
    for export in part.exports:
        table = export.pinned.reference["schema"], export.pinned.reference["table"]
        numbers, reset = stretch.changes(table), stretch.emptied(table)
        yield export, stretch.received(numbers)
        point = stretch.segment.points.get(export.table_id)
        for found in changes(stretch, export, numbers, reset, point):
            yield export, found


class _Stretch:
    """A segment's events, and of each which transaction and which table it is of."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.events = segment.load()
        self._begun: Begun = begun(self.events)
        self._transaction = np.searchsorted(self._begun.at, np.arange(len(self.events)), "right") - 1
        self.maps: Sequence[TableMap]
        self.maps, self.which = TableMaps(segment.maps, segment.flavour).of(self.events)
        self._is_rows = is_rows(self.events.kinds)
        self._emptied = self._truncations()

    def _truncations(self) -> dict[tuple[str, str], int]:
        """By table: the last event that empties it."""
        found: dict[tuple[str, str], int] = {}
        for number in statements_of(self.events).tolist():
            statement = read_query(parse_query(self.events.event(number)), self.segment.folded)
            if statement is not None and statement.effect is Effect.TRUNCATED:
                found.update(dict.fromkeys(statement.tables, number))
        return found

    def emptied(self, table: tuple[str, str]) -> int | None:
        """The last event that empties a table."""
        return self._emptied.get(table)

    def changes(self, table: tuple[str, str]) -> Integers:
        """The row events of a table."""
        mine = [place for place, known in enumerate(self.maps) if (known.schema, known.name) == table]
        return np.flatnonzero(np.isin(self.which, mine) & self._is_rows)

    def shown(self, point: Shown, numbers: Integers) -> Booleans:
        """Of each event, whether what was read at a point has it already."""
        gtids = parse_gtids(self.segment.flavour, point.at)
        of = np.empty(len(self._begun.at) + 1, bool)  # the last is the one under way before
        of[-1] = self.segment.under is not None and self.segment.under in gtids
        for place, source in enumerate(self._begun.sources):
            mine = np.flatnonzero(self._begun.which == place)
            of[mine] = gtids.having(source, self._begun.numbers[mine])
        found: Booleans = of[self._transaction[numbers]]
        return found

    def received(self, numbers: Integers) -> Received:
        """The row events of a table, with those that a snapshot has shown and those a truncation undid."""
        return Received(len(numbers), int(self.events.lengths[numbers].sum()))

    def gtid(self, number: int) -> str:
        """The transaction of an event, as people write it."""
        place = int(self._transaction[number])
        return str(self.segment.under if place < 0 else self._begun.gtid(place))

    def error(self, export: Export, number: int, message: str) -> DefiniteError:
        """A definite error at an event."""
        return DefiniteError(".".join(export.reference), self.gtid(number), message)

    def batches(
        self, export: Export, numbers: Integers, unsaid: frozenset[str] = frozenset()
    ) -> Iterator[pa.RecordBatch | Received]:
        """The changes that these events are to a table; they say nothing of the columns in `unsaid`."""
        which = self.which[numbers]
        if not len(which):
            return
        # As they follow each other: what was altered ends a table, and what came before it counts.
        edges = np.flatnonzero(np.diff(which, prepend=-1))
        for start, end in zip(edges.tolist(), [*edges[1:].tolist(), len(numbers)], strict=True):
            for first in range(start, end, _BATCH_EVENTS):
                chosen = numbers[first : min(end, first + _BATCH_EVENTS)]
                yield from self._batch(export, self.maps[int(which[start])], chosen, unsaid)

    def _batch(
        self, export: Export, table_map: TableMap, numbers: Integers, unsaid: frozenset[str]
    ) -> Iterator[pa.RecordBatch | Received]:
        found = said(export.pinned, table_map)
        if isinstance(found, str):
            raise self.error(export, int(numbers[0]), found)
        columns = [ColumnFacts.from_json(column) for column in export.pinned.columns]
        places = [None if c.name in unsaid else place for c, place in zip(columns, found, strict=True)]
        wanted = {place for place in places if place is not None}
        try:
            changes = read_rows(self.events, numbers, table_map, wanted)
            batch, defects = _Made(self, export, changes, places, columns).batch()
        except IncompleteRows as error:
            at = self.gtid(int(numbers[0]))
            raise DefiniteError(".".join(export.reference), at, str(error), READ_AGAIN, True) from error
        except ValueError as error:
            raise self.error(export, int(numbers[0]), str(error)) from error
        yield batch
        if defects:
            yield Received(defects=defects)


@dataclass(frozen=True, slots=True)
class _Made:
    """What becomes of the row changes of one table map."""

    stretch: _Stretch
    export: Export
    changes: RowChanges
    places: list[int | None]
    columns: list[ColumnFacts]

    def batch(self) -> tuple[pa.RecordBatch, tuple[str, ...]]:
        """The changes; and where errors came about that nobody foresaw."""
        export, came = self.export, self.changes.came
        went = self._went()
        both: tuple[Tuples, Tuples] = (came, went)
        count = len(came.event)
        numbers = np.concatenate([tuples.event for tuples in both])
        arrays, flaws = [], RowFlaws(export)
        for position, (place, facts) in enumerate(zip(self.places, self.columns, strict=True)):
            type_ = export.relation.columns[position].type
            if place is None:
                arrays.append(pa.nulls(len(numbers), arrow_type(type_)))
                continue
            halves = []
            for tuples, offset in zip(both, (0, count), strict=True):
                if not len(tuples.event):
                    continue
                raw = self._raw(tuples, place, position, facts)
                values, odd = stored(raw.array, raw.odd, type_)
                flaws.add(position, {offset + row: flaw for row, flaw in odd.items()})
                halves.append(values)
            arrays.append(pa.concat_arrays(halves) if halves else pa.nulls(0, arrow_type(type_)))
        ops = pa.array([self._upsert()] * count + [change.DELETE] * (len(numbers) - count), pa.string())
        told = flaws.columns(len(numbers), lambda row: self.stretch.gtid(int(numbers[row])))
        made = pa.RecordBatch.from_arrays(
            [*arrays, *told, ops, pa.array(self._sequence(went))],
            schema=read_schema(export.kept, flawed=bool(flaws)),
        )
        return made, flaws.defects

    def _raw(self, tuples: Tuples, place: int, position: int, facts: ColumnFacts) -> Any:
        as_text = self.export.pinned.columns[position]["text"]
        return (self.changes.texts if as_text else self.changes.values)(tuples, place, facts)

    def _upsert(self) -> str:
        left = ",".join(str(position) for position, place in enumerate(self.places) if place is None)
        return f"{change.PARTIAL}{left}" if left else change.INSERT

    def _went(self) -> Tuples:
        """Rows that went, and keys that are not any more."""
        came, went = self.changes.came, self.changes.went
        if self.export.discipline == "counted" or not len(went.event):
            return went
        # An update has both images; of one whose key is the same only the new one counts.
        of, updated = np.searchsorted(came.change, went.change), np.zeros(len(went.event), bool)
        within = of < len(came.change)
        updated[within] = came.change[of[within]] == went.change[within]
        stays = np.zeros(len(went.event), bool)
        if updated.any():
            paired = np.zeros(len(came.event), bool)
            paired[of[updated]] = True
            before, after = went.taken(updated), came.taken(paired)
            alike = np.ones(len(before.event), bool)
            for position in self.export.relation.keys[0]:
                place = self.places[position]
                if place is not None:
                    alike &= self.changes.equal(before, after, place)
            stays[updated] = alike
        return went.taken(~stays)

    def _sequence(self, went: Tuples) -> Integers:
        """In the order of the log: what an update takes away goes before what it brings.

        Every image takes a byte at least, so that places of bytes leave room for the changes of an event.
        """
        came, events = self.changes.came, self.stretch.events
        first = np.full(len(events), np.iinfo(np.int64).max)
        for tuples in (came, self.changes.went):
            np.minimum.at(first, tuples.event, tuples.change)
        return np.concatenate(
            [
                2 * (events.starts[tuples.event] + tuples.change - first[tuples.event]) + later
                for tuples, later in ((came, 1), (went, 0))
            ]
        )
