"""What the engine asks of an upstream kind: a record of functions, not a class tree.

    CREATE SOURCE          dialect.py                      what may be written, and what becomes of it
    REFRESH REFERENCES     references(options, ...)        what could be ingested
    the source starts      open(...)                       -> Reader, in the driver, one per source
      every tick           reader.probe(now)               how far could be read right now
                           reader.look(...)                where a range ends, and what it does not tell of
                           reader.plan_read(...)           the range, cut into parts
        in Spark tasks     read(part)                      the changes of that range, per export
      after a commit       reader.acknowledge(frontier)    upstream may forget before this
    CREATE TABLE           prepare_snapshot(...)           -> SnapshotPoint, beside the ticks
      between two ticks    point.take(frontier)            fixes the point; the tables join there
                           point.settle()                  what it shows is there to stay
                           point.chunks(...)               what is to be read at it
                           point.held()                    it was there until all of it was read
        in Spark tasks     reading(secrets)                -> the rows of a chunk, of some after each other
    a read that is to be   position(options, ...)          how far the upstream is, asked beside the reader
      recent               reached(frontier, position)     whether a source has read all before it
    now and then           retained(options, secrets)      what the upstream keeps for a source
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
and only the new columns are read (`core/points.py`: Widened).  For such a table `read` leaves nothing
out, but what the point shows says nothing of those columns.

What an upstream does to a table without a change that says so can only be noticed by looking, and by
comparing with what was seen before.  `look` does that once a range has been read: what it has seen is
kept with the binding.  A table begins with what its point has `seen`.

Parts, chunks and points are plain values: parts and chunks are pickled to other
processes, possibly on other machines; points are kept in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from headwater.core.change import Discipline, Received
from headwater.core.errors import DefiniteError

# Part of what a kind is written against, kept by the catalog too, which imports nothing from here.
from headwater.core.export import Export as Export
from headwater.core.export import OnValueError as OnValueError
from headwater.core.export import Pinned as Pinned
from headwater.core.frontier import Frontier
from headwater.core.points import Point, Read
from headwater.core.relation import Column, Relation
from headwater.sql.encoding import Encoding

Options = Mapping[str, Any]
"""A source's own options: JSON values, kept in the catalog, the same in every process."""

Secrets = Callable[[str], bytes]
"""The value of a secret now, by its id.  Options name secrets and never hold their values."""


class Answers(Protocol):
    """What upstreams told a source that will always be so: its tasks find it again, also after restarts."""

    def recall(self, question: str) -> bytes | None:
        """What was answered; None: nobody knows."""

    def keep(self, question: str, answer: bytes) -> None:
        """For whoever asks the same."""


Registries = Mapping[str, tuple[str, Options]]
"""Connections that formats name, by their full names: the id of each, and its options."""

Waits = Callable[[str, str], bool]
"""To be called again and again while the upstream lets one wait, with what for and what could be done;
True: give up."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A column that no table can have."""

    name: str
    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Something of an upstream that may be ingested."""

    namespace: tuple[str, ...]  # ("mz_load_generators", "auction")
    name: str
    relation: Relation
    discipline: Discipline
    pinned: Pinned = field(default_factory=Pinned)  # what its exports begin with; before `pin` more than that
    absent: tuple[Absent, ...] = ()  # columns that the upstream has and that cannot be taken
    export_options: tuple[tuple[str, Any], ...] = ()  # of whatever is made of it
    remarks: tuple[tuple[str, str], ...] = ()  # what to tell whoever makes a table of it; each with a hint

    def path(self) -> tuple[str, ...]:
        return (*self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One task's share of a tick: positions [start, end) for these exports."""

    source_type: str
    options: Options
    start: Any  # frontier in JSON form
    end: Any
    exports: tuple[Export, ...]
    index: int = 0  # order of the parts of one tick; changes are ordered by (timestamp, index, _sequence)
    details: Any = None  # the source type's own


@dataclass(frozen=True, slots=True)
class SnapshotChunk:
    """One task's share of a snapshot of one export at a point."""

    source_type: str
    options: Options
    point: Point  # the export's, of those that SnapshotPoint.take returned
    export: Export
    index: int  # below zero: of this point alone, and not counted at a later one
    rows_estimate: int
    details: Any = None
    lane: int = (
        0  # of chunks that are changes: only those of one lane come in the order in which they happened
    )


@dataclass(frozen=True, slots=True)
class Reset:
    """All rows of the table are gone at this place of the stream (TRUNCATE)."""


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Something that an upstream has and that cannot be named as a reference."""

    path: tuple[str, ...]  # as that of a reference would be
    why: str
    hint: str


ReadChunk = Callable[[SnapshotChunk], Iterator[pa.RecordBatch | Received]]
"""The rows of a chunk, in state_schema, perhaps with FLAWS after it, or its changes in read_schema; each to
its end before the next.  `Received` says what they were upstream, where it is not so many rows."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found beside the stream."""

    end: Frontier  # everything up to here may be read
    errors: Mapping[str, DefiniteError] = field(default_factory=dict)  # by table id: who cannot go on
    seen: Mapping[str, Any] = field(default_factory=dict)  # of others: JSON, where it is not as before


@dataclass(frozen=True, slots=True)
class Retained:
    """What an upstream keeps because a source has not acknowledged it yet."""

    state: str  # in the upstream's words
    held_bytes: int | None  # None: nothing is kept any more
    left_bytes: int | None = None  # what may still come until it is let go of; None: any amount
    limit_bytes: int | None = None  # of what is kept at most; None: there is none
    lost: bool = False  # some of what the source needs is gone
    missing: bool = False  # there is nothing under the source's name; it may not have begun


class Reader(Protocol):
    """A source's connection to its upstream; its methods are called from the source's own thread."""

    start: Frontier
    """Where a source begins that has never been read, or that does not go on from where it stood."""
    continues: bool
    """Whether what comes follows what was read; if not, every table has to be read again."""
    waiting: tuple[str, str] | None
    """Why nothing more can be read although there is more, and what to do; None: it can."""

    def probe(self, now_ms: int) -> Frontier:
        """How far could be read right now."""

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Point],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        """The end after cutting at about `rows_max`, and the parts; `points`: by table id, while they matter.

        Up to where `look` has looked, of the exports that it found well.
        """

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        """By table id: exports whose references are not what they were.  Called now and then; cheap."""

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        """Where the next range ends, at or before `end`, and what it does not tell of.

        `seen`: by table id, what was seen at the range before.  Called whenever there is something to
        read; quick.
        """

    def acknowledge(self, frontier: Frontier) -> None:
        """Everything before is durable."""

    def close(self) -> None:
        """Let go of the upstream."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A point that is fixed."""

    points: Mapping[str, Point]  # by table id
    kept: frozenset[str] = frozenset()  # tables whose chunks of before still count


class SnapshotPoint(Protocol):
    """A moment of the upstream at which several exports are read."""

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        """Fix the point now; quick.  `before`: by table id, points at which chunks have been read already.

        Chunks are of about so many rows.  That belongs to the point: another version of this program
        may want other chunks, and goes on with those that were begun.
        """

    def settle(self) -> None:
        """Wait until what the point shows cannot be lost upstream; before any chunk is read."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        """All chunks but those that are done."""

    def held(self) -> None:
        """All chunks have been read: TransientError unless the upstream has kept the point until now."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class SourceType:
    """An upstream kind."""

    name: str  # as mz_sources.type has it: "load-generator"
    namespace: str
    """What statuses name its errors after.  Texts of its TransientErrors begin with it and a colon: others
    may come from the disk or from Spark."""
    title: Callable[[Options], str]  # in messages: "multi-output load generator"
    progress_columns: Callable[[Options], tuple[Column, ...]]  # of the source as a relation
    progress_rows: Callable[[Any], list[tuple[Any, ...]]]  # frontier in JSON form -> rows of the source
    frontier_from_json: Callable[[Any], Frontier]
    offset: Callable[[Frontier], int | None]  # one number for lag statistics; None at the end
    references: Callable[[Options, Secrets, str | None], tuple[Reference, ...]]
    """What could be ingested; with a name at least all that is called so, and perhaps nothing else."""
    open: Callable[[Options, Secrets, Frontier | None, Path, Waits], Reader]
    """(options, secrets, where the source stands (None: never read), a folder to use, waits) -> reader."""
    read: Callable[
        [ReadPart, Secrets, Answers],
        Iterator[tuple[Export, pa.RecordBatch | Reset | Received | DefiniteError]],
    ]
    """Batches in read_schema, where rows have flaws with FLAWS in it (formats/arrow.py); after an error
    no more of them come for that export.

    `Received` says what they were upstream, where they are not the upstream's own messages."""
    prepare_snapshot: Callable[[Options, Secrets, tuple[Export, ...]], SnapshotPoint]
    """May take its time; runs beside the ticks."""
    covers: Callable[[Frontier, Any], bool]  # whether a frontier has passed the moment `at` of a point
    reading: Callable[[Secrets, Answers], AbstractContextManager[ReadChunk]]
    """Chunks that are read one after the other may share what they need of the upstream."""
    position: Callable[[Options, Secrets, int], Frontier]
    """(options, secrets, now in ms) -> where the upstream is: all that is committed by now lies before it.
    The reader comes to it also if nothing happens there any more.  Has a bound in time; needs no reader."""
    position_from_text: Callable[[Options, str], Frontier]
    """A position as people and progress relations write it, of a source with these options; ValueError says
    what it takes."""
    reached: Callable[[Frontier, Frontier], bool]
    """Whether a source that stands at the first has read everything before the second."""
    retained: Callable[[Options, Secrets], Retained] | None = None
    """Asked now and then of sources that have been read, whether they run or not; None: nothing is kept."""
    drop: Callable[[Options, Secrets], None] = lambda options, secrets: None
    resync: Callable[[Options, Secrets], Options] | None = None
    """What must be other in its options for a source to begin anew, whatever was lost between it and its
    upstream; its tables are brought up to date.  None: it cannot begin anew."""
    forgotten: Callable[[Options, Secrets, Export, Point], str | None] = lambda *_: None
    """Why a table may rightly have rows that reading everything again at a point does not bring; None: it may
    not."""
    retied: Callable[[Options, Secrets, tuple[Pinned, ...]], tuple[Pinned, ...]] = (
        lambda options, secrets, tables: tables
    )
    """What is pinned of each of these tables of a source that begins anew with these options."""
    unlisted: Callable[[Options, Secrets, str], tuple[Unlisted, ...]] = lambda options, secrets, name: ()
    """What the upstream has of this name that is no reference."""
    single_output: Callable[[Options], bool] = lambda options: False
    """Whether there is never more than one reference: a table need not name it, and may name its columns."""
    encode: Callable[[Secrets, Reference, Encoding, Registries], Reference] | None = None
    """Where what comes are messages: a reference as FORMAT, INCLUDE and ENVELOPE make it; asks the registries
    that the formats name, once.  None: there are no messages, and no such clauses."""
    snapshots_are_changes: Callable[[Export], bool] = lambda export: False
    """Whether chunks are changes, as ticks have them, of which several may be of one key: a state is made of
    all of them together, in the order of the chunks."""
    grown: Callable[[Export, Reference, tuple[str, ...]], Reference] | None = None
    """Where what comes are messages: the reference as its clauses come to now, as a table that was made with
    earlier schemas goes on with it, with more columns; UserError if it cannot."""
    places_in: Callable[[Export, Export, bool], tuple[int, ...] | None] | None = None
    """(donor, export of the same reference, whether rows may have flaws) -> for each column of the export its
    place in the donor, where their rows are the same; None: they are not.  Without it columns are told by
    their names, and rows with flaws are not alike."""
    snapshots_in_positions: bool = False
    """Whether it is told in places of the upstream how far a snapshot is: in `rows_estimate` of chunks, of
    which not each place need be a row."""
    metadata_columns: Callable[[Options], tuple[Column, ...]] = lambda options: ()
    """Columns that a table may INCLUDE although no reference lists them."""
    pin: Callable[[Reference, tuple[str, ...], tuple[str, ...]], Reference] | None = None
    """A reference as a table takes it, with TEXT and EXCLUDE COLUMNS; None: as it is, and without them."""
    same_reference: Callable[[Pinned, Pinned], bool] = lambda was, now: was.reference == now.reference
    """Whether what has a reference's name now is what was pinned under it."""
    taken_as_text: Callable[[Pinned], tuple[str, ...]] = lambda pinned: ()
    """Of what is pinned, the columns of the reference that TEXT COLUMNS has named."""
    check_access: Callable[[Sequence[tuple[Reference, Sequence[str]]]], None] = lambda wanted: None
    """UserError unless references may be read, without some of their columns; it tells of all at once."""
    check_table: Callable[[Reference], None] = lambda reference: None
    """UserError where CREATE TABLE .. FROM SOURCE cannot take what the legacy syntax can."""
    chooses_columns: bool = False
    """Whether a table's list of columns says which are taken, by `pin`; otherwise what they are called."""
