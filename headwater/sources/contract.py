"""What the engine asks of an upstream kind: a record of functions, not a class tree.

    CREATE SOURCE          references(options, ...)        what could be ingested; asked once
    the source starts      open(...)                       -> Reader, in the driver, one per source
      every tick           reader.probe(now)               how far could be read right now
                           reader.confirm(exports)         all of it was sent that far
                           reader.plan_read(...)           a definite range, cut into parts
        in Spark tasks     read(part)                      the changes of that range, per export
                           reader.look(...)                what a range does not tell of; before it is kept
      after a commit       reader.acknowledge(frontier)    upstream may forget before this
    CREATE TABLE           prepare_snapshot(...)           -> SnapshotPoint, beside the ticks
      between two ticks    point.take(frontier)            fixes the point; the tables join there
                           point.settle()                  what it shows is there to stay
                           point.chunks(...)               what is to be read at it
                           point.held()                    it was there until all of it was read
        in Spark tasks     reading(secrets)                -> the rows of a chunk, of some after each other
    DROP SOURCE            drop(options, secrets)          nothing is left upstream

Definite: the same range read twice gives the same changes in the same order, so a
retried task or a restarted process cannot change history.

A point is taken while the source stands at a binding, so it shows at least everything
before that binding's frontier.  What it shows beyond it comes again in the ticks after:
`read` leaves that out for the tables that were read at the point, and a table is
readable from the first binding on that `covers` the point.

A process may die while it reads chunks, and its point may be gone with it.  `take` is then
told the point of before, and says whether the chunks that were read at it still count: the
rest is read at the new point, and chunks with an index below zero bring what has changed
since in the places that were read already.  Of two rows with the same key the one that was
read at the later point counts.

A table that gets more columns is made anew beside itself: its rows are our own, of the binding,
and only the new columns are read, at a point (`Side`).  For such a table `read` leaves nothing
out, but what the point shows says nothing of those columns.

What an upstream does to a table without a change that says so can only be noticed by looking, and by
comparing with what was seen before.  `look` does that once a range has been read: what it has seen is
kept with the binding.  A table begins with what its point says under `SEEN`.

Parts, chunks and points are plain values: parts and chunks are pickled to other
processes, possibly on other machines; points are JSON, kept in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from headwater.core.change import Discipline
from headwater.core.errors import DefiniteError
from headwater.core.frontier import Frontier
from headwater.core.relation import Column, Relation

Options = Mapping[str, Any]
"""A source's own options: JSON values, kept in the catalog, the same in every process."""

Secrets = Callable[[str], bytes]
"""The value of a secret now, by its id.  Options name secrets and never hold their values."""


Waits = Callable[[str, str], bool]
"""To be called again and again while the upstream lets one wait, with what for and what could be done;
True: give up."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Something of an upstream that may be ingested."""

    namespace: tuple[str, ...]  # ("mz_load_generators", "auction")
    name: str
    relation: Relation
    discipline: Discipline
    details: Any = None  # the source type's own, in JSON; goes into the exports of this reference

    def path(self) -> tuple[str, ...]:
        return (*self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Export:
    """The tie of one table to one reference: which columns it takes and how they are kept."""

    table_id: str
    reference: tuple[str, ...]  # Reference.path()
    relation: Relation  # the table's columns; names may differ from the reference's
    columns: tuple[str, ...]  # the reference's column for each of them
    discipline: Discipline
    options: tuple[tuple[str, Any], ...] = ()
    details: Any = None  # the source type's own, in JSON: what was pinned when the table was made

    def to_json(self) -> dict[str, Any]:
        return {
            "table_id": self.table_id,
            "reference": list(self.reference),
            "relation": self.relation.to_json(),
            "columns": list(self.columns),
            "discipline": self.discipline,
            "options": [list(pair) for pair in self.options],
            "details": self.details,
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Export:
        return Export(
            value["table_id"],
            tuple(value["reference"]),
            Relation.from_json(value["relation"]),
            tuple(value["columns"]),
            value["discipline"],
            tuple((name, option) for name, option in value["options"]),
            value["details"],
        )


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One task's share of a tick: positions [start, end) for these exports."""

    source_type: str
    options: Options
    start: Any  # frontier in JSON form
    end: Any
    exports: tuple[Export, ...]
    index: int = 0  # order of the parts of one tick; the engine orders changes by (index, _sequence)
    details: Any = None  # the source type's own


@dataclass(frozen=True, slots=True)
class SnapshotChunk:
    """One task's share of a snapshot of one export at a point."""

    source_type: str
    options: Options
    point: Any  # the export's, of those that SnapshotPoint.take returned
    export: Export
    index: int  # below zero: of this point alone, and not counted at a later one
    rows_estimate: int
    details: Any = None


@dataclass(frozen=True, slots=True)
class Side:
    """The point of a table whose further columns were read at it, beside rows that we had."""

    point: Any
    base_id: str  # the table whose rows they are
    columns: tuple[str, ...]  # the reference's names of what was read, keys apart

    def to_json(self) -> dict[str, Any]:
        return {"side": self.base_id, "point": self.point, "columns": list(self.columns)}

    @staticmethod
    def of(point: Any) -> Side | None:
        """What a point says of such a table; None when it is a point like others."""
        if not isinstance(point, dict) or "side" not in point:
            return None
        return Side(point["point"], point["side"], tuple(point["columns"]))


SEEN: Final = "seen"


def seen_at(point: Any) -> Mapping[str, Any]:
    """What was seen of a table at a point, to be compared by `look`."""
    found = point.get(SEEN) if isinstance(point, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Reset:
    """All rows of the table are gone at this place of the stream (TRUNCATE)."""


ReadChunk = Callable[[SnapshotChunk], Iterator[pa.RecordBatch]]
"""The rows of a chunk, in state_schema; each chunk to its end before the next."""


class Reader(Protocol):
    """A source's connection to its upstream; its methods are called from the source's own thread."""

    start: Frontier
    """Where a source that has never been read begins."""

    def probe(self, now_ms: int) -> Frontier:
        """How far could be read right now."""

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Any],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        """The end after cutting at about `rows_max`, and the parts; `points` by table id, some a `Side`."""

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        """By table id: exports whose references are not what they were.  Called now and then; cheap."""

    def look(
        self, exports: tuple[Export, ...], seen: Mapping[str, Any], reached: Frontier
    ) -> tuple[Mapping[str, DefiniteError], Mapping[str, Any]]:
        """What the range that was planned last, up to `reached`, does not tell of.

        By table id: exports that cannot go on; and what was seen of others, JSON objects, where that is
        not what was seen before.
        """

    def confirm(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        """By table id: exports some of whose changes up to what was probed may never have been sent.

        Called whenever there is something to read, after `probe`; quick.
        """

    def acknowledge(self, frontier: Frontier) -> None:
        """Everything before is durable."""

    def close(self) -> None:
        """Let go of the upstream."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A point that is fixed."""

    points: Mapping[str, Any]  # by table id, in JSON
    kept: frozenset[str] = frozenset()  # tables whose chunks of before still count


class SnapshotPoint(Protocol):
    """A moment of the upstream at which several exports are read."""

    def take(self, frontier: Frontier, before: Mapping[str, Any], rows: int) -> Taken:
        """Fix the point now; quick.  `before`: by table id, points at which chunks have been read already.

        Chunks are of about so many rows.  That belongs to the point: another version of this program
        may want other chunks, and goes on with those that were begun.
        """

    def settle(self) -> None:
        """Wait until what the point shows cannot be lost upstream; before any chunk is read."""

    def chunks(self, export: Export, point: Any, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        """All chunks but those that are done."""

    def held(self) -> None:
        """All chunks have been read: TransientError unless the upstream has kept the point until now."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class SourceType:
    """An upstream kind."""

    name: str  # as mz_sources.type has it: "load-generator"
    title: Callable[[Options], str]  # in messages: "multi-output load generator"
    progress_columns: tuple[Column, ...]
    progress_rows: Callable[[Any], list[tuple[Any, ...]]]  # frontier in JSON form -> rows of the source
    frontier_from_json: Callable[[Any], Frontier]
    offset: Callable[[Frontier], int | None]  # one number for lag statistics; None at the end
    references: Callable[[Options, Secrets, str | None], tuple[Reference, ...]]
    """What could be ingested; with a name at least all that is called so, and perhaps nothing else."""
    open: Callable[[Options, Secrets, Frontier | None, Path, Waits], Reader]
    """(options, secrets, where the source stands (None: never read), a folder to use, waits) -> reader."""
    read: Callable[[ReadPart], Iterator[tuple[Export, pa.RecordBatch | Reset | DefiniteError]]]
    """Batches in change_schema; after an error nothing more comes for that export."""
    prepare_snapshot: Callable[[Options, Secrets, tuple[Export, ...]], SnapshotPoint]
    """May take its time; runs beside the ticks."""
    covers: Callable[[Frontier, Any], bool]  # whether a frontier has passed a point
    reading: Callable[[Secrets], AbstractContextManager[ReadChunk]]
    """Chunks that are read one after the other may share what they need of the upstream."""
    drop: Callable[[Options, Secrets], None] = lambda options, secrets: None
    single_output: Callable[[Options], bool] = lambda options: False
    """Whether there is never more than one reference: a table need not name it, and may name its columns."""
    messages: bool = False
    """Whether what comes are messages, of which FORMAT and ENVELOPE say what they become."""
    metadata_columns: Callable[[Options], tuple[Column, ...]] = lambda options: ()
    """Columns that a table may INCLUDE although no reference lists them."""
    pin: Callable[[Reference, tuple[str, ...], tuple[str, ...]], Reference] = (
        lambda reference, text_columns, exclude_columns: reference
    )
    """A reference as a table takes it, with TEXT and EXCLUDE COLUMNS."""
