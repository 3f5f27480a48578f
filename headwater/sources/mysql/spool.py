"""What has arrived of a binary log and has not been read yet, within bounded memory.

Pieces of the log are added by the thread that receives them, and whole transactions are taken by ticks.
Changes of tables that nobody follows are left out at once.  The rest lies in parts; a part that has become
long goes to a file, so that the largest transaction costs disk and not memory.

    add ──► [ file ][ file ][ memory ]  ──take(so many transactions)──► Segments for Spark tasks
                               ▲ ends of transactions are marked

Each segment knows what a reader of it must know of the log before it: the table maps of the transaction
that is under way, and its name.

Not here: the connection (reader.py), what events say (events.py, statements.py).
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from headwater.core.errors import DefiniteError
from headwater.core.limits import (
    BINLOG_WAITING_BYTES_MAX,
    REPLICATION_SEGMENT_BYTES,
    REPLICATION_TICK_BYTES_MAX,
)
from headwater.sources.mysql import events as log
from headwater.sources.mysql.decode import Segment
from headwater.sources.mysql.events import HEADER, Booleans, Events, Integers
from headwater.sources.mysql.facts import Flavour
from headwater.sources.mysql.gtid import Gtid
from headwater.sources.mysql.statements import Effect, Name, Statement, is_rollback, read_query
from headwater.sources.mysql.table_map import TableMaps
from headwater.sources.mysql.transactions import (
    Begun,
    Ends,
    Transaction,
    begun,
    parse_query,
    parse_xa_prepare,
    statements_of,
)
from headwater.sources.mysql.trouble import RESYNC
from headwater.sources.spooled import Files, Held, unlink
from headwater.sources.stretches import Shown

_XA_DONE: Final = re.compile(r"XA\s+(?P<how>COMMIT|ROLLBACK)\s+(?P<xid>.*)", re.IGNORECASE | re.DOTALL)
_INCIDENT: Final = "the server says that its binary log lacks changes that were made (an incident event)"


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a transaction: after so many events and bytes of a part."""

    events: int
    bytes: int
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Remark:
    """A statement of a transaction; `number`: how many transactions have come before it."""

    number: int
    gtid: Gtid
    statement: Statement


@dataclass(slots=True)
class _Part:
    """A stretch of events; `maps` and `under` are of the log before it."""

    maps: tuple[bytes, ...]
    under: Transaction | None
    held: Held = field(default_factory=Held)
    lengths: array[int] = field(default_factory=lambda: array("q"))
    tables: set[Name] = field(default_factory=set)
    marks: deque[Mark] = field(default_factory=deque)


class Spool:
    """Filled by one thread, emptied by another."""

    def __init__(self, folder: Path, flavour: Flavour, folded: bool) -> None:
        self._files = Files(folder, "binlog")
        self._flavour = flavour
        self._folded = folded  # names of tables are kept in lower case upstream
        self._lock = threading.Lock()
        self._maps = TableMaps((), flavour)
        self._ends = Ends()
        self._named: dict[bytes, bytes] = {}  # its table maps, by id
        self._left: Events | None = None  # the beginning of a transaction whose next event has not come yet
        self._under: Transaction | None = None
        self._touched: set[Name] = set()  # tables that it has changed so far
        self._parts: deque[_Part] = deque()
        self._remarks: list[Remark] = []
        self._prepared: dict[str, tuple[Name, ...]] = {}  # by XA transaction: what it has changed
        self._watched: frozenset[Name] | None = None  # None: all tables
        self._dropped: dict[Name, int] = {}  # changes of these were left out, of which transaction last
        self._came = 0  # transactions that have come to their end
        self._went = 0  # transactions that were taken
        self._news: list[Transaction] = []  # that nobody has asked about yet
        self.waiting_bytes = 0

    @property
    def inside(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._under is not None or self._left is not None

    @property
    def full(self) -> bool:
        """Whether so much is waiting that nothing more must come."""
        return self.waiting_bytes > BINLOG_WAITING_BYTES_MAX and not self.inside

    def watch(self, tables: Collection[Name]) -> bool:
        """Leave out changes of all tables but these; whether some of theirs that wait were left out."""
        with self._lock:
            self._watched = frozenset(tables)
            return any(self._dropped.get(table, 0) > self._went for table in tables)

    def add(self, piece: Events) -> None:
        """The next events of the log."""
        if self._left is not None:
            piece, self._left = Events.concat([self._left, piece]), None
        if len(piece) and piece.kinds[-1] in log.GTIDS:
            # Which transaction it is of shows with its next event.
            last = len(piece) - 1
            piece, self._left = piece.slice(0, last), piece.slice(last, last + 1)
        if not len(piece):
            return
        if np.any(piece.kinds == log.INCIDENT):
            raise DefiniteError("", "", _INCIDENT, RESYNC)
        maps, which = self._maps.of(piece)
        ends = np.flatnonzero(self._ends.of(piece))
        arrived = _Arrived(piece, begun(piece), ends, which, [(m.schema, m.name) for m in maps], self._under)
        with self._lock:
            self._take_in(arrived)

    def _take_in(self, arrived: _Arrived) -> None:
        piece, names = arrived.piece, arrived.names
        there = {place: names[place] for place in np.unique(arrived.which[arrived.which >= 0]).tolist()}
        strange = [place for place, name in there.items() if not self._is_watched(name)]
        kept = ~np.isin(arrived.which, strange) if strange else np.ones(len(piece), bool)
        if not self._parts or self._parts[-1].held.path is not None:
            self._parts.append(_Part(tuple(self._named.values()), self._under))
        part = self._parts[-1]
        part.tables |= self._remark(arrived)
        counts, sizes = np.cumsum(kept), np.cumsum(np.where(kept, piece.lengths, 0))
        for end, transaction in arrived.finished():
            place = len(part.lengths) + int(counts[end]), part.held.size + int(sizes[end])
            part.marks.append(Mark(*place, transaction))
            self._news.append(transaction)
        self._came += len(arrived.ends)
        self._dropped.update((there[place], self._came + 1) for place in strange)
        stays = piece.kept(kept)
        part.held.add(stays.data)
        part.lengths.extend(stays.lengths.tolist())
        part.tables.update(name for place, name in there.items() if place not in strange)
        self.waiting_bytes += len(stays.data)
        self._go_on(arrived, kept)
        if part.held.size >= REPLICATION_SEGMENT_BYTES:
            self._files.spill(part.held)

    def _is_watched(self, name: Name) -> bool:
        return self._watched is None or name in self._watched

    def _remark(self, arrived: _Arrived) -> set[Name]:
        """Keeps statements beside the changes of rows; the tables that they empty."""
        piece, emptied = arrived.piece, set[Name]()
        for number in statements_of(piece).tolist():
            query = parse_query(piece.event(number))
            if is_rollback(query.sql):
                self._doubt(arrived, number, "ROLLBACK")
                continue
            statement = self._committed(query.sql) or read_query(query, self._folded)
            if statement is None:
                continue
            if statement.effect is Effect.TRUNCATED:
                emptied.update(statement.tables)
            else:
                self._remarks.append(arrived.remark(number, self._came, statement))
        for number in piece.of_kind(log.EXECUTE_LOAD).tolist():
            self._remarks.append(
                arrived.remark(number, self._came, Statement(Effect.WRITTEN, (), "LOAD DATA"))
            )
        for number in piece.of_kind(log.XA_PREPARE).tolist():
            prepared = parse_xa_prepare(piece.event(number))
            if not prepared.one_phase:
                self._doubt(arrived, number, f"XA PREPARE {prepared.xid}")
                self._prepared[prepared.xid] = tuple(arrived.touched(number, self._touched))
        return emptied

    def _committed(self, sql: bytes) -> Statement | None:
        """The second half of a commit in two phases.

        MariaDB lets go of what a prepared transaction has locked when its session ends, so that a snapshot
        may have been taken in between.
        """
        text = sql.decode(errors="replace").strip()
        done = _XA_DONE.fullmatch(text)
        if done is None or self._flavour == "mysql":
            return None
        tables = self._prepared.pop(done["xid"].replace(" ", ""), None)
        if done["how"].lower() == "rollback" or tables == ():
            return None
        if tables is None:  # it was prepared before we listened
            return Statement(Effect.WRITTEN, (), text)
        return Statement(Effect.UNCERTAIN, tables, text)

    def _doubt(self, arrived: _Arrived, number: int, why: str) -> None:
        """What the transaction has changed up to here may never be."""
        tables = tuple(arrived.touched(number, self._touched))
        if tables:
            statement = Statement(Effect.UNCERTAIN, tables, why)
            self._remarks.append(arrived.remark(number, self._came, statement))

    def _go_on(self, arrived: _Arrived, kept: Booleans) -> None:
        """What must be known of the transaction that is under way at the end of a piece."""
        piece, since = arrived.piece, arrived.since()
        if since is None:  # none is, or another than before
            self._named, self._touched = {}, set()
        self._under = arrived.last()
        if self._under is None:
            return
        begin = 0 if since is None else since
        if begin:
            self._named, self._touched = {}, set()
        mapped = np.flatnonzero((piece.kinds == log.TABLE_MAP) & kept)
        for number in mapped[mapped >= begin].tolist():
            event = piece.event(number)
            self._named[event[HEADER : HEADER + 6]] = event
        which = arrived.which[begin:]
        self._touched.update(arrived.names[place] for place in np.unique(which[which >= 0]).tolist())

    # Ticks

    def news(self) -> list[Transaction]:
        """Transactions that have come since this was asked last."""
        with self._lock:
            found, self._news = self._news, []
        return found

    def ahead(self) -> list[Transaction]:
        """Transactions that a tick may take: about as much as it may have, and at least one."""
        found: list[Transaction] = []
        size = 0
        with self._lock:
            for part in self._parts:
                for mark in part.marks:
                    if found and size + mark.bytes > REPLICATION_TICK_BYTES_MAX:
                        return found
                    found.append(mark.transaction)
                size += part.held.size
        return found

    def remarks(self, count: int) -> list[Remark]:
        """Those of the next so many transactions."""
        with self._lock:
            return [remark for remark in self._remarks if remark.number < self._went + count]

    def take(self, count: int, points: Mapping[str, Shown]) -> list[tuple[Segment, set[Name]]]:
        """The next so many transactions, with the tables they are about."""
        taken: list[tuple[Segment, set[Name]]] = []
        with self._lock:
            left = count
            while left:
                part = self._parts.popleft()
                if len(part.marks) > left:
                    part, rest = _split(part, part.marks[left - 1])
                    self._parts.appendleft(rest)
                elif len(part.marks) == left and part.marks[-1].events < len(part.lengths):
                    part, rest = _split(part, part.marks[-1])
                    self._parts.appendleft(rest)
                left -= len(part.marks)
                self._files.hand(part.held)
                taken.append((self._segment(part, points), part.tables))
                self.waiting_bytes -= part.held.size
            self._went += count
            self._remarks = [remark for remark in self._remarks if remark.number >= self._went]
            self._dropped = {name: at for name, at in self._dropped.items() if at > self._went}
        return taken

    def _segment(self, part: _Part, points: Mapping[str, Shown]) -> Segment:
        return Segment(
            part.held.stored(),
            np.array(part.lengths, np.int64),
            part.maps,
            None if part.under is None else part.under.gtid,
            dict(points),
            self._flavour,
            self._folded,
        )

    def done(self) -> None:
        """What was taken has become durable: its files may go."""
        with self._lock:
            gone = self._files.done(part.held for part in self._parts)
        unlink(gone)

    def close(self) -> None:
        """Nothing of it is needed any more."""
        with self._lock:
            gone = self._files.all(part.held for part in self._parts)
            self._parts.clear()
        unlink(gone)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A piece of the log, and what is known of its events."""

    piece: Events
    begun: Begun
    ends: Integers  # the last event of each transaction that ends here
    which: Integers  # of each event its table map, by place; -1: it is about no rows
    names: Sequence[Name]  # of the table maps
    before: Transaction | None  # the one that was under way

    def _transaction(self, place: int) -> Transaction:
        """The one that begins here at a place; before the first the one that was under way."""
        if place < 0:
            if self.before is None:
                raise ValueError("an event belongs to no transaction")
            return self.before
        return self.begun.transaction(place)

    def finished(self) -> Iterator[tuple[int, Transaction]]:
        """Events that end transactions."""
        places = np.searchsorted(self.begun.at, self.ends, "right") - 1
        for end, place in zip(self.ends.tolist(), places.tolist(), strict=True):
            yield end, self._transaction(place)

    def remark(self, number: int, came: int, statement: Statement) -> Remark:
        """A statement at an event; `came`: transactions that have ended before the piece."""
        transaction = self._transaction(int(np.searchsorted(self.begun.at, number, "right")) - 1)
        return Remark(came + int(np.count_nonzero(self.ends < number)), transaction.gtid, statement)

    def touched(self, number: int, before: set[Name]) -> set[Name]:
        """Tables that the transaction of an event has changed up to there."""
        place = int(np.searchsorted(self.begun.at, number, "right")) - 1
        which = self.which[int(self.begun.at[place]) if place >= 0 else 0 : number]
        found = {self.names[place] for place in np.unique(which[which >= 0]).tolist()}
        return found if place >= 0 else found | before

    def last(self) -> Transaction | None:
        """The one that is under way at the end."""
        ended, began = self.ends[-1:].tolist(), self.begun.at[-1:].tolist()
        if began and (not ended or began > ended):
            return self._transaction(len(self.begun.at) - 1)
        return None if ended else self.before

    def since(self) -> int | None:
        """Where that began; 0: before the piece, or with it."""
        if self.last() is None:
            return None
        return int(self.begun.at[-1]) if len(self.begun.at) else 0


def _split(part: _Part, cut: Mark) -> tuple[_Part, _Part]:
    """The events up to a mark, and the rest, which begins with a transaction."""
    before, after = part.held.cut(cut.bytes)
    head = replace(
        part,
        held=before,
        lengths=part.lengths[: cut.events],
        marks=deque(mark for mark in part.marks if mark.events <= cut.events),
    )
    rest = _Part(
        (),
        None,
        after,
        part.lengths[cut.events :],
        part.tables,
        deque(
            Mark(mark.events - cut.events, mark.bytes - cut.bytes, mark.transaction)
            for mark in part.marks
            if mark.events > cut.events
        ),
    )
    return head, rest
