"""A stretch of the replication stream -> changes of tables, column-wise, in Spark tasks.

    messages of one table ──shape──► tuples ──► text columns ──► typed columns ──► batches

The shape is the one that was in force at each message, so that changes before a DDL of
the upstream are read as they were written.  What cannot become a row of a table (another
shape, a value out of range, no old row) is a definite error of that table alone.

    keyed      '+' the new row; '-' the old key where an update changed it, and for a delete;
               '~' a new row without long values that the server did not send, as they are unchanged
    counted    '+' the new row; '-' the old row, which needs REPLICA IDENTITY FULL

Not here: the protocol (pgoutput.py), cutting the stream into stretches (spool.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import change
from headwater.core.errors import DefiniteError, UserError
from headwater.core.types import SqlType
from headwater.formats.arrow import arrow_type, change_schema
from headwater.formats.text import from_text
from headwater.sources.contract import Export, ReadPart, Reset, Side
from headwater.sources.postgres import pgoutput
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

_BATCH_MESSAGES: Final = 65_536
_VALUE_BYTES_SHOWN: Final = 60
_TRUNCATED: Final = "the table was truncated while columns were added to it"
_NO_TOAST: Final = (
    "TOASTed value missing from old row. Did you forget to set REPLICA IDENTITY to FULL for your table?"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the stream a table has already."""

    snapshot: str
    columns: tuple[str, ...] | None = None  # only these, of every row; None: all of it

    @staticmethod
    def by(point: Any) -> Shown:
        """By the point at which the table was read."""
        side = Side.of(point)
        return Shown(point["snapshot"]) if side is None else Shown(side.point["snapshot"], side.columns)


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive messages, here or in a file, and what must be known of the stream before them."""

    data: bytes
    path: str | None  # of the file that has the data, when it is not here
    offset: int
    lengths: npt.NDArray[np.uint32]
    relations: tuple[bytes, ...]  # the newest Relation message of each table
    transaction: tuple[int, int]  # (commit's position, number) of the one that is under way
    first: int  # how many messages of the tick come before
    points: Mapping[str, Shown]  # by table: the snapshot that it was read at, while it may matter

    def load(self) -> bytes:
        """The messages' bytes."""
        if self.path is None:
            return self.data
        with Path(self.path).open("rb") as file:
            file.seek(self.offset)
            return file.read(int(self.lengths.sum(dtype=np.int64)))


def read(part: ReadPart) -> Iterator[tuple[Export, pa.RecordBatch | Reset | DefiniteError]]:
    """The changes of a part, export by export."""
    segment: Segment = part.details
    stretch = Stretch(segment.load(), segment.lengths)
    lsns, xids = stretch.transactions(segment.transaction)
    decoder = Decoder(stretch, lsns, xids, _shapes(stretch, segment.relations), segment.first)
    changes = stretch.of_kind(pgoutput.INSERT, pgoutput.UPDATE, pgoutput.DELETE)
    oids = stretch.u32(stretch.starts[changes] + 1)
    truncated = stretch.truncated()
    for export in part.exports:
        oid = export.details["oid"]
        numbers, reset = changes[oids == oid], truncated.get(oid)
        shown: Integers = numbers[:0]
        point = segment.points.get(export.table_id)
        if point is not None:
            snapshot = Snapshot.from_text(point.snapshot)
            is_shown = snapshot.shows(xids[numbers])
            shown, numbers = numbers[is_shown], numbers[~is_shown]
            if reset is not None and bool(snapshot.shows(xids[[reset]])[0]):
                if point.columns is not None:
                    yield export, decoder.error(export, reset, _TRUNCATED)
                    continue
                reset = None
        if reset is not None:
            yield export, Reset()
            numbers, shown = numbers[numbers > reset], shown[shown > reset]
        try:
            if point is not None and point.columns is not None:
                for batch in decoder.batches(export, shown, frozenset(point.columns)):
                    yield export, batch
            for batch in decoder.batches(export, numbers):
                yield export, batch
        except DefiniteError as error:
            yield export, error


Places = list[int | None]
"""By column of a table: its place in a tuple; None: what is said of it does not matter."""

Shapes = dict[int, list[tuple[int, RelationMessage]]]
"""By table: from which message on it has which shape."""


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
        relation = parse_relation(message)
        shapes.setdefault(relation.oid, []).append((number, relation))
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
    ) -> Iterator[pa.RecordBatch]:
        """The changes that these messages are to a table; they say nothing of the columns in `unsaid`."""
        shapes = self.shapes.get(export.details["oid"], [])
        for index, (since, relation) in enumerate(shapes):
            until = shapes[index + 1][0] if index + 1 < len(shapes) else len(self.stretch.kinds)
            mine = numbers[(numbers > since) & (numbers < until)]
            if not len(mine):
                continue
            places = self._places(export, relation, mine, unsaid)
            self._check_identity(export, relation, mine)
            for start in range(0, len(mine), _BATCH_MESSAGES):
                chosen = mine[start : start + _BATCH_MESSAGES]
                yield self._batch(export, len(relation.columns), places, chosen)

    def _places(
        self, export: Export, relation: RelationMessage, numbers: Integers, unsaid: frozenset[str]
    ) -> Places:
        """Where in a tuple each column of the table lies, if the table is still what was pinned."""
        pinned = export.details
        found = {column.name: (place, column) for place, column in enumerate(relation.columns)}
        places: Places = []
        for column in pinned["columns"]:
            if column["name"] in unsaid:
                places.append(None)
                continue
            place, now = found.get(column["name"], (0, None))
            same_type = now is not None and (
                column["text"] or (now.type_oid, now.typmod) == (column["type_oid"], column["typmod"])
            )
            if not same_type or (relation.namespace, relation.name) != (pinned["schema"], pinned["table"]):
                raise self.error(
                    export,
                    numbers[0],
                    f"incompatible schema change: source table {pinned['table']} with oid {pinned['oid']}"
                    " has been altered",
                )
            places.append(place)
        return places

    def _check_identity(self, export: Export, relation: RelationMessage, numbers: Integers) -> None:
        """Updates and deletions say which row they are about, or there are none."""
        lacking = unsent(export, relation) if speaks_for_itself(export) else ()
        other = reprinted(export, relation)
        if not lacking and not other:
            return
        kinds = self.stretch.kinds[numbers]
        refused = numbers[(kinds == pgoutput.UPDATE) | (kinds == pgoutput.DELETE)]
        if len(refused):
            message = switched(export.details, lacking) if lacking else retyped(export.details, other)
            raise self.error(export, refused[0], message)

    def error(self, export: Export, number: int, message: str) -> DefiniteError:
        """A definite error at a message."""
        return DefiniteError(".".join(export.reference), lsn_text(int(self.lsns[number])), message)

    def _batch(self, export: Export, width: int, places: Places, numbers: Integers) -> pa.RecordBatch:
        came, came_from, went, went_from = self._came_and_went(export, width, places, numbers)
        rows = came.followed_by(went)
        which = np.concatenate((came_from, went_from))
        count = len(came_from)
        arrays = []
        for position, place in enumerate(places):
            if place is None:
                arrays.append(pa.nulls(len(which), arrow_type(export.relation.columns[position].type)))
                continue
            texts = self.stretch.texts(rows.columns[place])
            missing = came.columns[place].kinds == pgoutput.NULL
            self._check_null(export, position, missing, came_from)
            arrays.append(self._typed(export, position, texts, which))
        ops = pa.chunked_array(
            [self._upserts(came, places), pa.array([change.DELETE] * len(went_from), pa.string())]
        ).combine_chunks()
        sequence = (self.first + which) * 2
        sequence[:count] += 1  # an update takes the old row away before it brings the new one
        return pa.RecordBatch.from_arrays(
            [*arrays, ops, pa.array(sequence), pa.array(self.lsns[which])],
            schema=change_schema(export.relation),
        )

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
                if export.details["columns"][position]["not_null"] and nameless.any():
                    # The replica identity is another one than it was: what went cannot be told.
                    raise self.error(export, of[nameless][0], NO_OLD_ROW)
        for column in new_both.columns.values():
            lost = moved & (column.kinds == pgoutput.UNCHANGED)
            if lost.any():  # what it was stands under another key
                raise self.error(export, both[lost][0], _NO_TOAST)
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

    def _upserts(self, came: Tuples, places: Places) -> pa.Array:
        """The _op of rows that came: '+', or '~' with the columns that are left as they were."""
        count = len(next(iter(came.columns.values())).kinds)
        unsaid = np.stack(
            [
                np.ones(count, bool) if place is None else came.columns[place].kinds == pgoutput.UNCHANGED
                for place in places
            ],
            axis=1,
        )
        if not unsaid.any():
            return pa.array([change.INSERT] * len(unsaid), pa.string())
        shapes, which = np.unique(unsaid, axis=0, return_inverse=True)
        ops = [
            change.PARTIAL + ",".join(map(str, np.flatnonzero(shape))) if shape.any() else change.INSERT
            for shape in shapes
        ]
        return pa.array(ops, pa.string()).take(pa.array(which.reshape(-1)))

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
        pinned = export.details
        column = pinned["columns"][position]
        if column["not_null"] and missing.any():
            number = numbers[missing][0]
            name = f"{pinned['schema']}.{pinned['table']}.{column['name']}"
            raise self.error(
                export, number, f"PG column {name} contained NULL data, despite having NOT NULL constraint"
            )

    def _typed(self, export: Export, position: int, texts: pa.Array, numbers: Integers) -> pa.Array:
        type_, name = export.relation.columns[position].type, export.columns[position]
        try:
            return typed(texts, type_)
        except UserError:
            index, error = first_error(texts, type_)
            raise self.error(export, numbers[index], f'column "{name}": {error}') from None


def _key(export: Export) -> tuple[int, ...]:
    """The places of the key's columns; none for a counted table."""
    return export.relation.keys[0] if export.discipline == "keyed" else ()


def typed(texts: pa.Array, type_: SqlType) -> pa.Array:
    """Values that PostgreSQL has printed, in stored form; UserError if one cannot be."""
    check_text(texts)
    return from_text(texts, type_)


def check_text(texts: pa.Array) -> None:
    """UserError unless all of it is UTF-8, which an upstream with the encoding SQL_ASCII does not see to."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        value = ""
        if len(texts) == 1:
            value = f" {str(texts.cast(pa.binary())[0].as_py()[:_VALUE_BYTES_SHOWN])[1:]}"
        raise UserError(
            f"value{value} is not text in UTF-8; mend it upstream, or leave the column out (EXCLUDE COLUMNS)",
            "22021",
        ) from error


def first_error(texts: pa.Array, type_: SqlType) -> tuple[int, UserError]:
    """The first value that cannot be stored, when some cannot."""
    low, high = 0, len(texts)  # an error is in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            typed(texts.slice(low, middle - low), type_)
            low = middle
        except UserError:
            high = middle
    try:
        typed(texts.slice(low, 1), type_)
    except UserError as error:
        return low, error
    return low, UserError("a value cannot be stored", "22000")
