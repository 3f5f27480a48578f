"""The ledger: what exists.  Bindings, change files, states, snapshots.  What it promises, whichever keeps it.

Every durable step of the engine is one method in here, and each is taken as a whole or not at all:

    open_writer      a new epoch for a writer; an older one is refused from now on
    append           a tick: one binding, change files and errors of every table, compare-and-append
    restart          a source goes on from another place; all of its tables are to be read again
    fail             a source cannot go on
    join, rejoin     a table joins its source's reader: where its snapshot stands
    add_chunks       finished chunks of snapshots
    fill             all chunks are there: the table may be read, for the first time or again
    put_state        a fold: a later state over a shorter tail
    poison           a definite error: reads at or after its timestamp fail
    forget           history before a table's `since`
    drop             a table or source and everything of it

**Durable.**  When a step has returned, it survives whatever ends the process or the machine, and every
process that asks from then on sees it.

**Compare-and-append.**  A writer is a source, or `TABLES` for all plain tables together.  Its (epoch, ts)
is compared by every append, in the same transaction: two writers cannot interleave, and a process that was
thought dead cannot write once another has opened the same writer.  Who is refused gets a LedgerConflict.

**Processes.**  Who names files has a name of its own, given when the ledger is opened, and with it an
incarnation, a number that no other process ever had.  Opening under a name takes it from whoever had it:
all steps of that one are refused from then on, with a LedgerConflict.  Who has no name is not checked, and
only looks.

**Doubt.**  A step that raises TransientError has been taken or has not, as a whole.  After an append
nothing else is written before that is known: the writer is opened again, so that the older one cannot
succeed any more, and its `ts` says what has happened.  Other work begins anew with what the ledger says by
then.

**Threads and waiting.**  Any thread may call; calls are short.  While another process writes a step waits,
METADATA_BUSY_MS_MAX at most, and is then a TransientError that has changed nothing. Questions do not wait
for that.  They see what has been committed, and what one call answers is of one moment.

**Failing.**  An implementation passes the failpoints `ledger.before_commit` and `ledger.after_commit` with
every step: the tests of this contract (tests/unit/persist/test_ledger.py) make steps fail and be doubtful
there.

**Opening.**  The tables are made, or brought to this release's version; a newer one is refused by a
UserError.

What is handed in as `object` and comes back as Any is JSON: frontiers, what was seen, what an upstream is.
Paths are those of the data store (store.py); nothing here looks at files.

Not here: who opens one (opening.py), and how it is kept (sqlite_ledger.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.core.change import Discipline, FileEntry, ReadPlan
from headwater.core.errors import DefiniteError, InvariantViolation
from headwater.core.points import Point
from headwater.core.relation import Relation

TABLES = "tables"
"""The writer of all plain tables."""


class LedgerConflict(InvariantViolation):
    """Another process writes what this one thought was its own."""


@dataclass(frozen=True, slots=True)
class WriterState:
    """Where a writer stands: its epoch, the newest binding's timestamp (0: none) and frontier."""

    epoch: int
    ts: int
    frontier: Any


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What the ledger knows of a collection, without its files."""

    collection_id: str
    writer_id: str
    discipline: Discipline
    relation: Relation
    since: int
    joined_ts: int
    point: Point | None  # as of which its rows are read; None: it has not been taken
    batch: str
    hydrated: bool  # it has been readable
    refilling: bool = False  # it was readable, and is being read again

    @property
    def filling(self) -> bool:
        """Whether its rows are being read from the upstream."""
        return self.refilling or not self.hydrated


@dataclass(frozen=True, slots=True)
class Filled:
    """What reading a table from the upstream has come to."""

    point: Point | None  # at which it was read; worth nothing if the table has another one by now
    files: Sequence[FileEntry]  # its rows; of a table that is read again: the changes that make it right
    version: int | None = None  # of its Delta table; None: changes


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """A definite error: reads at timestamps in [ts, until) fail; without an end all from `ts` on."""

    ts: int
    position: str
    message: str
    hint: str | None = None
    until: int | None = None

    def meets(self, after: int, until: int) -> bool:
        """Whether it covers a timestamp in (after, until]."""
        return self.ts <= until and (self.until is None or self.until > after + 1)


@dataclass(frozen=True, slots=True)
class Taken:
    """A request that has become rows: what names it, and what was in it.  Both are digests."""

    key: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an append says of the requests that a table's rows are from."""

    taken: Sequence[Taken] = ()  # not to be taken again
    counters: Mapping[str, int] = field(default_factory=dict)  # of the table, from its beginning


@dataclass(frozen=True, slots=True)
class TailSize:
    """How long a collection's tail is, against its newest state."""

    collection_id: str
    files: int
    bytes: int
    rows: int
    last_ts: int
    state_as_of: int
    state_rows: int


class Ledger(Protocol):
    """What exists, and every durable step."""

    incarnation: int
    """In the names of this process's files; 0: it has no name and names none."""

    # Processes

    def close(self) -> None:
        """Let go of what it is kept in; nothing is asked of it any more."""

    def incarnations(self) -> frozenset[int]:
        """Of all processes that may name files: each that has a name, as it was last begun."""

    def settle(self) -> None:
        """After this, what the ledger says is what it will say, also if the machine crashes.

        Asked before files are removed because it does not name them.  Only for a process with a name.
        """

    # Writers

    def open_writer(self, writer_id: str, upstream: object = None) -> WriterState:
        """Become the one writer; whoever was it before can no longer append.

        `upstream` is what must be known to leave nothing behind there, when the source is gone.
        """

    def append(
        self,
        writer_id: str,
        expected: WriterState,
        ts: int,
        frontier: object,
        files: Mapping[str, Sequence[FileEntry]],
        errors: Mapping[str, DefiniteError] = {},
        seen: Mapping[str, object] = {},
        accepted: Mapping[str, Accepted] = {},
    ) -> WriterState:
        """One tick: the binding, every table's change files, and definite errors, or nothing.

        `expected` is where the caller believes the writer stands.  `seen` is by table what the upstream
        showed beside the changes, `accepted` what is to be remembered of requests that its rows are from.
        Files of a table that has been dropped meanwhile are not kept.
        """

    def restart(
        self, writer_id: str, expected: WriterState, ts: int, frontier: object, error: DefiniteError
    ) -> WriterState:
        """The source goes on from a place to which what it has read does not lead.

        All of its tables are to be read again.  Until a table has been, reads from `ts` on are told `error`.
        """

    def fail(self, writer_id: str, message: str, hint: str | None) -> None:
        """The source cannot go on, and no table can join it.  Its next binding takes this back."""

    def failure(self, writer_id: str) -> tuple[str, str | None] | None:
        """Why a source cannot go on, and what to do."""

    def writer(self, writer_id: str) -> WriterState | None:
        """Where a writer stands, without becoming it."""

    def writers(self) -> dict[str, WriterState]:
        """Every writer by id."""

    def binding_at(self, writer_id: str, ts: int) -> tuple[int, Any] | None:
        """The newest binding at or before `ts`, as (ts, frontier)."""

    def first_binding_ts(self, writer_id: str) -> int:
        """The timestamp of the oldest binding that is kept, 0 without one."""

    def bindings(self, writer_id: str, after: int = 0, until: int | None = None) -> list[tuple[int, Any]]:
        """Bindings in (after, until], oldest first."""

    def upstreams(self) -> dict[str, Any]:
        """By writer: what it said of its upstream."""

    # Requests that must not be taken twice

    def taken(self, collection_id: str) -> list[tuple[int, Taken]]:
        """Those that are remembered, with the timestamp of their append, the oldest first."""

    def counters(self) -> dict[str, dict[str, int]]:
        """By collection, what its newest append has said of requests."""

    def forget_taken(self, collection_id: str, until: int) -> None:
        """Forget those that were appended at or before a timestamp."""

    # Collections

    def join(
        self,
        collections: Iterable[tuple[str, Discipline, Relation, str, Point | None]],
        writer_id: str,
        ts: int,
        hydrated: bool,
    ) -> None:
        """Tables begin here, at the binding `ts`: (id, discipline, relation, batch, snapshot's point).

        A table that is there already stays as it is.  Plain tables are born hydrated, with an
        empty state at `ts`.
        """

    def rejoin(self, points: Mapping[str, Point], ts: int) -> None:
        """Snapshots that were not complete begin anew, at other points; what was read is let go.

        So are changes that a table which is read again has got since it stopped: nobody can read them, and
        what is committed in the end takes the place of all of them.
        """

    def repoint(self, points: Mapping[str, Point]) -> None:
        """Snapshots that were not complete go on at other points; chunks below zero are let go."""

    def collections(self, writer_id: str | None = None) -> dict[str, CollectionState]:
        """All collections, or those of one writer, by id."""

    def collection(self, collection_id: str) -> CollectionState | None:
        """One collection."""

    def refilling(self, collection_id: str) -> bool:
        """Whether a table that was readable is being read again; asked before every read."""

    def seen(self, collection_id: str) -> Any:
        """What the upstream showed of a table beside its changes, at the newest binding; None: nothing."""

    def add_chunks(self, chunks: Iterable[tuple[str, Point | None, int, FileEntry]]) -> None:
        """Finished chunks: table, point, number, file.  Of tables that are not read there nothing is kept."""

    def chunks(self, collection_id: str) -> dict[int, FileEntry]:
        """Finished chunks of a snapshot that is not complete yet."""

    def fill(self, filled: Mapping[str, Filled], since: int) -> None:
        """These tables have been read: together they become readable, from `since` on.

        A new table's Delta version and files are its state as of the binding at which it joined.  One that
        was readable before gets changes there; nobody has read it since, so that these may still come before
        others that were written meanwhile.  `since` is the first binding that covers the point.  A table
        with another point, or that is readable already, stays as it is.
        """

    def put_state(
        self, collection_id: str, as_of: int, delta_version: int, files: Sequence[FileEntry]
    ) -> None:
        """A fold's outcome.  Refused when the table has gone, has a later state, or is read again."""

    def poison(self, collection_id: str, ts: int, error: DefiniteError) -> None:
        """A definite error: from `ts` on this table cannot be read."""

    def errors(self, collection_id: str) -> list[ErrorSpan]:
        """All that reads may meet, oldest first."""

    def stopped(self, collection_id: str) -> ErrorSpan | None:
        """Why a table does not go on; None while it does, or is being read again."""

    # Reading

    def read_plan(self, collection_id: str, as_of: int) -> ReadPlan:
        """The files that are this collection at `as_of`.  The caller holds `since` at or below it."""

    def change_files(self, collection_id: str, after: int, until: int) -> list[FileEntry]:
        """Change files in (after, until], oldest first."""

    def flawed(self) -> list[str]:
        """Collections whose newest state, or a change after it, has rows with values that were not stored."""

    def state_at(self, collection_id: str, as_of: int) -> int:
        """The timestamp of the state that a plan at `as_of` begins with; `as_of` where there is none."""

    def tails(self) -> list[TailSize]:
        """Every hydrated collection with a tail, for the fold's policy."""

    def superseded(self) -> list[tuple[str, int]]:
        """(collection, as_of) of every state that follows an older one."""

    # Forgetting

    def forget(self, collection_id: str, since: int) -> list[str]:
        """Raise `since`; returns the paths that no longer belong to anything.

        Kept: the newest state at or before `since` and everything after it.
        """

    def forget_bindings(self, writer_id: str, since: int) -> None:
        """Drop bindings before the newest one at or before `since`."""

    def drop(self, collection_id: str) -> None:
        """Forget a collection; its folder is then nobody's."""

    def drop_writer(self, writer_id: str) -> None:
        """Forget a source."""

    def file_bytes(self) -> dict[str, int]:
        """By collection: how much all files take that the ledger names."""

    def named_paths(self, collection_id: str) -> set[str]:
        """Every path the ledger names for a collection."""
