"""A stretch of the replication stream -> changes of tables, column-wise, in Spark tasks.

    messages of one table ──shape──► tuples ──► text columns ──► typed columns ──► batches

The shape is the one that was in force at each message, so that changes before a DDL of
the upstream are read as they were written.  What cannot become a row of a table (another
shape, no old row) is a definite error of that table alone; a value that cannot be stored is a flaw of
its row.

    keyed      '+' the new row; '-' the old key where an update changed it, and for a delete;
               '~' a new row without long values that the server did not send, as they are unchanged;
               where the key changed, they are those of the old row, which the same message takes away
    counted    '+' the new row; '-' the old row, which needs REPLICA IDENTITY FULL

Not here: the protocol (pgoutput.py), cutting the stream into stretches (spool.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import change
from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.core.flaws import Flaw
from headwater.core.types import SqlType
from headwater.formats.arrow import arrow_type, read_schema
from headwater.sources.contract import Export, ReadPart, Reset
from headwater.sources.flawed import RowFlaws, as_far
from headwater.sources.postgres import pgoutput
from headwater.sources.postgres.altered import altered, what_is_said
from headwater.sources.postgres.flaws import printed, typed
from headwater.sources.postgres.frontier import lsn_text
from headwater.sources.postgres.identity import (
    NO_OLD_ROW,
    reprinted,
    retyped,
    speaks_for_itself,
    switched,
    unsent,
)
from headwater.sources.postgres.pgoutput import (
    Integers,
    RelationMessage,
    Stretch,
    Tuples,
    parse_relation,
)
from headwater.sources.postgres.visibility import Snapshot
from headwater.sources.spooled import Stored
from headwater.sources.stretches import Shown, changes

_BATCH_MESSAGES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive messages, and what must be known of the stream before them."""

    stored: Stored
    lengths: npt.NDArray[np.uint32]
    relations: tuple[bytes, ...]  # the newest Relation message of each table
    transaction: tuple[int, int]  # (commit's position, number) of the one that is under way
    first: int  # how many messages of the tick come before
    points: Mapping[str, Shown]  # by table: the snapshot that it was read at, while it may matter


def read(part: ReadPart) -> Iterator[tuple[Export, pa.RecordBatch | Reset | Received | DefiniteError]]:
    """The changes of a part, export by export."""
    segment: Segment = part.details
    stretch = Stretch(segment.stored.load(), segment.lengths)
    lsns, xids = stretch.transactions(segment.transaction)
    decoder = Decoder(stretch, lsns, xids, _shapes(stretch, segment.relations), segment.first)
    rows = stretch.of_kind(pgoutput.INSERT, pgoutput.UPDATE, pgoutput.DELETE)
    oids = stretch.u32(stretch.starts[rows] + 1)
    truncated = stretch.truncated()
    for export in part.exports:
        oid = export.pinned.reference["oid"]
        numbers, reset = rows[oids == oid], truncated.get(oid)
        yield export, _received(segment, numbers, reset)
        point = segment.points.get(export.table_id)
        for found in changes(decoder, export, numbers, reset, point):
            yield export, found


def _received(segment: Segment, numbers: Integers, reset: int | None) -> Received:
    """The messages about a table, with those that a snapshot has shown and those that a truncation undid."""
    told = numbers if reset is None else np.append(numbers, reset)
    return Received(len(told), int(segment.lengths[told].sum(dtype=np.int64)))


Places = list[int | None]
"""By column of a table: its place in a tuple; None: what is said of it does not matter."""

Shapes = dict[int, list[tuple[int, bytes]]]
"""By table: from which message on it has which shape, as a Relation message says."""


def _shapes(stretch: Stretch, before: Sequence[bytes]) -> Shapes:
    shapes: Shapes = {}
    known = [(-1, message) for message in before]
    known += [(number, stretch.message(number)) for number in stretch.of_kind(pgoutput.RELATION).tolist()]
    latest: dict[bytes, bytes] = {}
    for number, message in known:
        oid = message[1:5]
        if latest.get(oid) == message:
            continue  # the server says it again whenever it has looked again
        latest[oid] = message
        shapes.setdefault(int.from_bytes(oid), []).append((number, message))
    return shapes


@dataclass(frozen=True, slots=True)
class Decoder:
    """Makes batches of the messages of a stretch."""

    stretch: Stretch
    lsns: Integers
    xids: Integers
    shapes: Shapes
    first: int

    def batches(
        self, export: Export, numbers: Integers, unsaid: frozenset[str] = frozenset()
    ) -> Iterator[pa.RecordBatch | Received]:
        """The changes that these messages are to a table; they say nothing of the columns in `unsaid`."""
        shapes = self.shapes.get(export.pinned.reference["oid"], [])
        for index, (since, said) in enumerate(shapes):
            until = shapes[index + 1][0] if index + 1 < len(shapes) else len(self.stretch.kinds)
            mine = numbers[(numbers > since) & (numbers < until)]
            if not len(mine):
                continue
            relation = parse_relation(said)
            places = self._places(export, relation, mine, unsaid)
            self._check_identity(export, relation, mine)
            for start in range(0, len(mine), _BATCH_MESSAGES):
                chosen = mine[start : start + _BATCH_MESSAGES]
                yield from self._batch(export, len(relation.columns), places, chosen)

    def shown(self, point: Shown, numbers: Integers) -> pgoutput.Booleans:
        """Of each message, whether the snapshot of a point shows its transaction."""
        return Snapshot.from_text(point.at).shows(self.xids[numbers])

    def _places(
        self, export: Export, relation: RelationMessage, numbers: Integers, unsaid: frozenset[str]
    ) -> Places:
        """Where in a tuple each column of the table lies, if the table is still what was pinned."""
        pinned = export.pinned
        what = what_is_said(pinned, relation, unsaid)
        if what is not None:
            raise self.error(export, numbers[0], altered(pinned, what))
        found = {column.name: place for place, column in enumerate(relation.columns)}
        names = (column["name"] for column in pinned.columns)
        return [None if name in unsaid else found[name] for name in names]

    def _check_identity(self, export: Export, relation: RelationMessage, numbers: Integers) -> None:
        """Updates and deletions say which row they are about, or there are none."""
        lacking = unsent(export, relation) if speaks_for_itself(export) else ()
        other = reprinted(export, relation)
        if not lacking and not other:
            return
        kinds = self.stretch.kinds[numbers]
        refused = numbers[(kinds == pgoutput.UPDATE) | (kinds == pgoutput.DELETE)]
        if len(refused):
            message = switched(export.pinned, lacking) if lacking else retyped(export.pinned, other)
            raise self.error(export, refused[0], message)

    def error(self, export: Export, number: int, message: str) -> DefiniteError:
        """A definite error at a message."""
        return DefiniteError(".".join(export.reference), lsn_text(int(self.lsns[number])), message)

    def _batch(
        self, export: Export, width: int, places: Places, numbers: Integers
    ) -> Iterator[pa.RecordBatch | Received]:
        came, came_from, went, went_from = self._came_and_went(export, width, places, numbers)
        rows = came.followed_by(went)
        which = np.concatenate((came_from, went_from))
        count = len(came_from)
        arrays, flaws = [], RowFlaws(export)
        for position, place in enumerate(places):
            if place is None:
                arrays.append(pa.nulls(len(which), arrow_type(export.relation.columns[position].type)))
                continue
            texts = self.stretch.texts(rows.columns[place])
            missing = came.columns[place].kinds == pgoutput.NULL
            self._check_null(export, position, missing, came_from)
            values, found = typed_as_far(texts, export.relation.columns[position].type)
            flaws.add(position, found, texts)
            arrays.append(values)
        moved = np.isin(came_from, went_from)
        ops = pa.chunked_array(
            [self._upserts(came, moved, places), pa.array([change.DELETE] * len(went_from), pa.string())]
        ).combine_chunks()
        sequence = (self.first + which) * 2
        sequence[:count] += 1  # an update takes the old row away before it brings the new one
        told = flaws.columns(len(which), lambda index: lsn_text(int(self.lsns[which[index]])))
        yield pa.RecordBatch.from_arrays(
            [*arrays, *told, ops, pa.array(sequence)],
            schema=read_schema(export.kept, flawed=bool(flaws)),
        )
        if flaws.defects:
            yield Received(defects=flaws.defects)

    def _came_and_went(
        self, export: Export, width: int, places: Places, numbers: Integers
    ) -> tuple[Tuples, Integers, Tuples, Integers]:
        """(rows that came, their messages, rows that went, their messages)."""
        stretch, kept = self.stretch, {place for place in places if place is not None}
        kinds = stretch.kinds[numbers]
        starts = stretch.starts[numbers]
        # Insert and Delete have one tuple; an Update has an old one first, or has not.
        inserted, deleted = numbers[kinds == pgoutput.INSERT], numbers[kinds == pgoutput.DELETE]
        is_update = kinds == pgoutput.UPDATE
        has_old = is_update & (stretch.data[starts + 5] != pgoutput.NEW)
        plain = numbers[is_update & ~has_old]
        both = numbers[has_old]
        try:
            new_plain, _ = stretch.tuples(stretch.starts[plain] + 6, width, kept)
            old, ends = stretch.tuples(stretch.starts[both] + 6, width, kept)
            new_both, _ = stretch.tuples(ends + 1, width, kept)
            gone, _ = stretch.tuples(stretch.starts[deleted] + 6, width, kept)
            fresh, _ = stretch.tuples(stretch.starts[inserted] + 6, width, kept)
        except ValueError as error:
            raise self.error(export, numbers[0], str(error)) from error
        whole = stretch.data[stretch.starts[both] + 5] == pgoutput.OLD_ROW
        if export.discipline == "counted":
            for refused in (plain, both[~whole], deleted[self._without_row(deleted)]):
                if len(refused):
                    raise self.error(export, refused[0], NO_OLD_ROW)
        # An old key has the key's columns, an old row all of them.
        key_places = [place for position in _key(export) if (place := places[position]) is not None]
        always, key = np.ones(len(both), bool), set(key_places)
        new_both = Tuples(
            {
                place: column.where_unchanged(old.columns[place], always if place in key else whole)
                for place, column in new_both.columns.items()
            }
        )
        moved = self._keys_differ(key_places, old, new_both) if key else always
        for tuples, of in ((gone, deleted), (old.taken(moved), both[moved])):
            for position, place in zip(_key(export), key_places, strict=True):
                nameless = tuples.columns[place].kinds == pgoutput.NULL
                if export.pinned.columns[position]["not_null"] and nameless.any():
                    # The replica identity is another one than it was: what went cannot be told.
                    raise self.error(export, of[nameless][0], NO_OLD_ROW)
        return (
            fresh.followed_by(new_plain).followed_by(new_both),
            np.concatenate((inserted, plain, both)),
            gone.followed_by(old.taken(moved)),
            np.concatenate((deleted, both[moved])),
        )

    def _without_row(self, deleted: Integers) -> pgoutput.Booleans:
        kinds = self.stretch.data[self.stretch.starts[deleted] + 5]
        without: pgoutput.Booleans = kinds != pgoutput.OLD_ROW
        return without

    def _upserts(self, came: Tuples, moved: pgoutput.Booleans, places: Places) -> pa.Array:
        """The _op of rows that came: '+', or '~' with the columns that are as they were, or came along."""
        count = len(moved)
        unsaid = np.zeros((count, len(places)), np.uint8)  # 1: left under this key, 2: came from another
        for position, place in enumerate(places):
            if place is None:
                unsaid[:, position] = 1
            else:
                unchanged = came.columns[place].kinds == pgoutput.UNCHANGED
                unsaid[unchanged, position] = np.where(moved[unchanged], 2, 1)
        if not unsaid.any():
            return pa.array([change.INSERT] * count, pa.string())
        shapes, which = np.unique(unsaid, axis=0, return_inverse=True)
        return pa.array(map(_upsert, shapes), pa.string()).take(pa.array(which.reshape(-1)))

    def _keys_differ(self, places: list[int], old: Tuples, new: Tuples) -> pgoutput.Booleans:
        differing: pgoutput.Booleans = np.zeros(len(next(iter(new.columns.values())).kinds), bool)
        for place in places:
            before, after = self.stretch.texts(old.columns[place]), self.stretch.texts(new.columns[place])
            unequal = pc.fill_null(pc.not_equal(before, after), True)
            differing |= unequal.to_numpy(zero_copy_only=False)
        return differing

    def _check_null(
        self, export: Export, position: int, missing: pgoutput.Booleans, numbers: Integers
    ) -> None:
        pinned = export.pinned
        column = pinned.columns[position]
        if column["not_null"] and missing.any():
            number = numbers[missing][0]
            name = f"{pinned.reference['schema']}.{pinned.reference['table']}.{column['name']}"
            raise self.error(
                export, number, f"PG column {name} contained NULL data, despite having NOT NULL constraint"
            )


def _upsert(shape: pgoutput.Bytes) -> str:
    """The _op of rows whose columns are said (0), as they were (1), or came along from another key (2)."""
    left, carried = (",".join(map(str, np.flatnonzero(shape == how))) for how in (1, 2))
    if carried:
        return f"{change.PARTIAL}{left}{change.CARRIED}{carried}"
    return f"{change.PARTIAL}{left}" if left else change.INSERT


def _key(export: Export) -> tuple[int, ...]:
    """The places of the key's columns; none for a counted table."""
    return export.relation.keys[0] if export.discipline == "keyed" else ()


def typed_as_far(texts: pa.Array, type_: SqlType) -> tuple[pa.Array, dict[int, Flaw]]:
    """Values that PostgreSQL has printed, in stored form; NULL for those that cannot be, by their place."""
    return as_far(texts, lambda some: typed(some, type_), arrow_type(type_), printed)
