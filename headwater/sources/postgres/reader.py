"""The one reader of a PostgreSQL source: a replication slot and the stream that comes from it.

    open      the history is the one we know -> the slot is there and has what we need -> START_REPLICATION
    thread    receives messages into the spool, answers keepalives, tells the server what is durable
    ticks     take whole transactions from the spool

The thread never waits for a tick: keepalives are answered while a tick takes minutes.
If too much is waiting it stops reading the socket, and the server waits.

A server that does not answer any more is hung up on, also when nobody says that the
connection is gone: a silent stream is asked for an answer, and then asked about (silence.py).

The position told to the server is that of the newest durable binding.  A source that
starts again takes the stream from where the slot is, which may be before its binding: what
it has read it leaves out, and what it has read last must be there (spool.py).  A slot that
no longer has the binding's position is an error and never a gap.

A tick takes only what shows upstream.  A commit is in the log, and sent, before it shows: one that waits
for a synchronous standby does not show for as long as that takes.  Nothing here is ahead of the upstream,
then, and whatever was read shows in any later snapshot.

If the slot is lost, or the server is another one than it was, nothing leads from what was read to what is
there now.  The source fails, until it is told to begin anew: as another generation of itself, with another
slot, and with tables that are read again.

Not here: decoding (decode.py), snapshots (snapshot.py).
"""

from __future__ import annotations

import os
import select
import struct
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
import structlog
from psycopg import pq

from headwater.core.calendar import MIDNIGHT_2000_US
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    REPLICATION_STATUS_S,
    REPLICATION_WAITING_BYTES_MAX,
    SNAPSHOT_SETTLE_CHECK_S,
    STREAM_CATCH_UP_S_MAX,
    UPSTREAM_ANSWER_S_MAX,
    UPSTREAM_SILENCE_S_MAX,
)
from headwater.core.quoting import literal, quoted
from headwater.sources.contract import Export, Looked, Options, ReadPart, Secrets, Waits
from headwater.sources.postgres import pgoutput
from headwater.sources.postgres.facts import (
    RESYNC,
    Doubt,
    Facts,
    changed,
    judged,
    missing_publication,
    moved,
    went_back,
)
from headwater.sources.postgres.frontier import LsnFrontier, Transaction, lsn_of, lsn_text, position
from headwater.sources.postgres.inspect import inspect
from headwater.sources.postgres.pgoutput import RelationMessage
from headwater.sources.postgres.remarks import Remark
from headwater.sources.postgres.session_settings import UNCHECKED_TEXT
from headwater.sources.postgres.silence import Session, bounded
from headwater.sources.postgres.slot import Slot, drop_slot, reach, ready, spoken
from headwater.sources.postgres.spool import Overlap, Spool
from headwater.sources.postgres.trouble import AGAIN, first_line, named, trouble
from headwater.sources.postgres.visibility import Snapshot
from headwater.sources.postgres.watch import Notes, Watch
from headwater.sources.stretches import Shown
from headwater.sources.unshown import Unshown

log = structlog.get_logger("postgres")

SOURCE_TYPE: Final = "postgres"
_REMADE: Final = (
    "What was written without it can no longer be read. Once it exists again,"
    " ALTER SOURCE {source} RESYNC starts over and brings every table up to date."
)
_NOT_UTF8: Final = (
    "A value upstream cannot be converted to UTF-8, and the stream cannot pass it: fix the value, then drop"
    " the source and create it again."
)
_HIDDEN: Final = (
    "Its session probably waits for a synchronous standby: see synchronous_standby_names and"
    " pg_stat_replication upstream. Tables go on once that is over."
)
READ_AGAIN: Final = "Read it without AS OF, or at a later timestamp: the table is read again by itself."
_DATA_HEADER_BYTES: Final = 25
_STATUS: Final = struct.Struct(">cQQQQ?")


class PostgresReader:
    """A source's connection to its upstream."""

    def __init__(
        self,
        options: Options,
        secrets: Secrets,
        stands_at: Frontier | None,
        scratch: Path,
        waits: Waits,
    ) -> None:
        self._options = options
        self._secrets = secrets
        self._generation: int = options.get("generation", 0)
        self.continues = not (isinstance(stands_at, LsnFrontier) and stands_at.generation != self._generation)
        stands_at = stands_at if self.continues else None
        self.waiting: tuple[str, str] | None = None
        self._unshown = Unshown()
        self._slot: str = options["slot"]
        self._control = reach(options, secrets)
        self._stream: psycopg.Connection[Any] | None = None
        self._wake_in, self._wake_out = os.pipe()
        self._stopping = False
        self._failure: HeadwaterError | None = None
        self._heard_s = 0.0  # when the server last said anything
        self._doubted_s = 0.0  # when it was last asked why it does not
        self._session: Session | None = None
        self._spool: Spool | None = None
        self._watch = Watch(options["publication"])
        self._stretch_end = 0
        self._thread: threading.Thread | None = None
        try:
            self._stream = reach(options, secrets, replication=True)
            self._session = Session.of(self._stream)
            with bounded(self._stream):
                history = self._history(self._stream)
            self._check_history(history, stands_at)
            if not self.continues:  # of the generation before, or of an attempt to begin this one
                drop_slot(options, secrets)
            begin = Slot(self._slot, self._control, waits).ready(self._stream, stands_at)
            self.start: Frontier = history.at(begin)
            self._here = history
            before = stands_at if isinstance(stands_at, LsnFrontier) else history
            self._end = begin if stands_at is None else position(stands_at)
            self._durable = begin
            self._spool = Spool(scratch, Overlap(begin, before.last))
            with bounded(self._stream):
                self._begin_stream(self._stream.pgconn, begin)
        except psycopg.Error as error:
            self.close()
            raise trouble(error) from error
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(
            target=self._run,
            args=(self._stream.pgconn, self._spool),
            name=f"stream-{self._slot}",
            daemon=True,
        )
        self._thread.start()

    # Opening

    def _history(self, stream: psycopg.Connection[Any]) -> LsnFrontier:
        row = stream.execute("IDENTIFY_SYSTEM").fetchone()
        if row is None:
            raise TransientError("postgres: the server does not say which one it is")
        return LsnFrontier(lsn_of(row[2]), str(row[0]), int(row[1]), generation=self._generation)

    def _check_history(self, history: LsnFrontier, stands_at: Frontier | None) -> None:
        """The server is the one that was read so far, in the same history."""
        identity = dict(self._options["identity"])
        if isinstance(stands_at, LsnFrontier):
            identity |= {"system_id": stands_at.system_id, "timeline": stands_at.timeline}
        facts = self._facts(())
        message = moved(identity, facts)
        if message is None and isinstance(stands_at, LsnFrontier) and not stands_at <= history:
            how = f"the log ends at {history}, and was read to {stands_at}"
            if facts.recovering:  # a replica that has just started shows less than it has
                raise TransientError(f"postgres: {how}", AGAIN)
            message = went_back(how)
        if message is not None:
            raise DefiniteError("", "" if stands_at is None else str(stands_at), message, RESYNC)

    def _facts(self, oids: Collection[int]) -> Facts:
        try:
            with bounded(self._control):
                return inspect(self._control, self._options["publication"], oids)
        except TransientError as error:
            raise named(error) from error

    def _begin_stream(self, wire: pq.abc.PGconn, begin: int) -> None:
        result = wire.exec_(f"SELECT {UNCHECKED_TEXT}".encode())
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise TransientError(f"postgres: {spoken(result.error_message)}", AGAIN)
        publications = literal(quoted(self._options["publication"]))
        result = wire.exec_(
            f'START_REPLICATION SLOT "{self._slot}" LOGICAL {lsn_text(begin)}'
            f" (proto_version '1', publication_names {publications})".encode()
        )
        if result.status != pq.ExecStatus.COPY_BOTH:
            raise TransientError(f"postgres: {spoken(result.error_message)}", AGAIN)

    # The thread

    def _run(self, wire: pq.abc.PGconn, spool: Spool) -> None:
        """Whatever ends the thread is told to the next tick."""
        try:
            self._receive(wire, spool)
        except DefiniteError as error:
            self._failure = error
        except (psycopg.Error, OSError) as error:
            self._failure = self._ended(first_line(error))
        except BaseException as error:
            log.exception("receiving failed", slot=self._slot)
            what = f"postgres: stream ended prematurely: internal: {type(error).__name__}: {error}"
            self._failure = TransientError(what, "It is tried again; the cluster's log says more.")

    def _ended(self, why: str) -> HeadwaterError:
        """Why the stream has ended; some ends are the same at every try."""
        if missing_publication(self._options["publication"]) in why:
            return DefiniteError("", lsn_text(self._end), why, _REMADE)
        hint = _NOT_UTF8 if "has no equivalent in encoding" in why else AGAIN
        return TransientError(f"postgres: stream ended prematurely: {why}", hint)

    def _receive(self, wire: pq.abc.PGconn, spool: Spool) -> None:
        wire.nonblocking = 1
        told_s = 0.0
        self._heard_s = SYSTEM_CLOCK.monotonic_s()
        while not self._stopping:
            now_s = SYSTEM_CLOCK.monotonic_s()
            if now_s - told_s >= REPLICATION_STATUS_S:
                # A server that hears from us has no reason of its own to say anything.
                self._tell(wire, wants_answer=now_s - self._heard_s >= REPLICATION_STATUS_S)
                told_s = now_s
            if spool.waiting_bytes > REPLICATION_WAITING_BYTES_MAX and not spool.inside:
                self._sleep({}, REPLICATION_STATUS_S)
                self._heard_s = SYSTEM_CLOCK.monotonic_s()  # nobody has listened
                continue
            if not self._take_messages(wire, spool):
                continue
            if self._woken(wire):
                self._tell(wire, wants_answer=True)
                told_s = now_s
            self._check_heard(wire)

    def _take_messages(self, wire: pq.abc.PGconn, spool: Spool) -> bool:
        """What is here, a message at a time, as libpq hands it out; whether that was all."""
        add, copy_data = spool.add, wire.get_copy_data
        for _ in range(10_000):
            count, data = copy_data(1)
            if count == 0:
                return True
            if count == -1:
                result = wire.get_result()
                reason = spoken(b"" if result is None else result.error_message) or "closed by the server"
                raise psycopg.OperationalError(reason)
            if count == -2:
                raise psycopg.OperationalError(spoken(wire.error_message))
            if data[0] == 0x77:  # w: data
                end = add(bytes(data[_DATA_HEADER_BYTES:]))
                if end is not None:
                    self._end = max(self._end, end)
            elif data[0] == 0x6B:  # k: keepalive
                if not spool.inside:
                    sent = int.from_bytes(data[1:9], "big")
                    spool.reached(sent)
                    self._end = max(self._end, sent)
                if data[17]:
                    self._tell(wire, wants_answer=False)
        return False

    def _woken(self, wire: pq.abc.PGconn) -> bool:
        """Wait for the server or for a tick; whether a tick wants the server to be told."""
        awake = self._sleep({wire.socket: select.POLLIN}, REPLICATION_STATUS_S)
        if wire.socket in awake:
            wire.consume_input()
            self._heard_s = SYSTEM_CLOCK.monotonic_s()
        return self._wake_in in awake

    def _check_heard(self, wire: pq.abc.PGconn) -> None:
        """A server that was asked for an answer again and again and gives none may not be there."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        if now_s - max(self._heard_s, self._doubted_s) <= UPSTREAM_ANSWER_S_MAX or self._session is None:
            return
        why = self._session.unheard()
        self._doubted_s = SYSTEM_CLOCK.monotonic_s()
        silent_s = self._doubted_s - self._heard_s
        if why is None and silent_s > UPSTREAM_SILENCE_S_MAX:
            why = f"the server has been silent for {silent_s:.0f} s"
        # What was on its way while it was asked about counts.
        if why is not None and not ready({wire.socket: select.POLLIN}, REPLICATION_STATUS_S):
            raise psycopg.OperationalError(why)

    def _sleep(self, sockets: dict[int, int], seconds: float) -> set[int]:
        woken = ready({**sockets, self._wake_in: select.POLLIN}, seconds)
        if self._wake_in in woken:
            os.read(self._wake_in, 4096)
        return woken

    def _tell(self, wire: pq.abc.PGconn, wants_answer: bool) -> None:
        """A standby status update: everything up to the newest durable binding is ours."""
        durable = self._durable
        now_us = SYSTEM_CLOCK.now_ms() * 1000 - MIDNIGHT_2000_US
        wire.put_copy_data(
            _STATUS.pack(b"r", max(durable, self._end), durable, durable, now_us, wants_answer)
        )
        while wire.flush() and not self._stopping:
            ready({wire.socket: select.POLLOUT}, REPLICATION_STATUS_S)
            self._check_heard(wire)

    # Ticks

    def probe(self, now_ms: int) -> Frontier:
        end = self._end
        if self._failure is not None:
            raise self._failure
        if self._thread is None or not self._thread.is_alive():
            raise TransientError("postgres: nobody receives the stream", AGAIN)
        self._wake()
        return self._here.at(end)

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Any],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        if self._spool is None or not isinstance(start, LsnFrontier):
            raise TypeError(f"a PostgreSQL source was given the frontier {start}")
        snapshots = {table_id: Shown.by(point, "snapshot") for table_id, point in points.items()}
        taken = self._spool.take(position(end), snapshots)
        parts: list[ReadPart] = []
        for segment, tables in taken.segments:
            mine = tuple(export for export in exports if export.pinned.reference["oid"] in tables)
            if mine:
                parts.append(ReadPart(SOURCE_TYPE, {}, None, None, mine, len(parts), segment))
        last = taken.transactions[-1] if taken.transactions else start.last
        reached = position(end) if taken.reached is None else taken.reached
        return self._here.at(reached, last), tuple(parts)

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        return self._definite(exports, self._changed(exports), self._end)

    def _changed(self, exports: tuple[Export, ...]) -> dict[str, Doubt]:
        """By table id: why it is not what was pinned."""
        facts = self._facts({export.pinned.reference["oid"] for export in exports})
        message = moved(self._options["identity"], facts)
        if message is None and facts.publication is None:
            message = missing_publication(facts.publication_name)
        if message is not None:
            raise DefiniteError("", lsn_text(self._end), message, RESYNC)
        doubts = {e.table_id: judged(e, partial(changed, e.pinned, facts)) for e in exports}
        return {table_id: doubt for table_id, doubt in doubts.items() if doubt is not None}

    @staticmethod
    def _definite(
        exports: tuple[Export, ...], doubts: Mapping[str, Doubt], at: int
    ) -> dict[str, DefiniteError]:
        return {
            export.table_id: DefiniteError(
                ".".join(export.reference),
                lsn_text(at),
                doubts[export.table_id].message,
                READ_AGAIN if doubts[export.table_id].heals else None,
                doubts[export.table_id].heals,
                doubts[export.table_id].doubtful,
            )
            for export in exports
            if export.table_id in doubts
        }

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        """Also whether tables are what they were, if they may not be."""
        notes = Notes()

        def stretch(shown: Snapshot, until: int) -> Notes:
            nonlocal notes
            self._stretch_end, notes = self._stretch(shown, min(position(end), until))
            return notes

        try:
            with bounded(self._control):
                looked = self._watch.look(self._control, exports, seen, stretch)
            if looked.early and self._comes(looked.until):
                with bounded(self._control):
                    looked = self._watch.look(self._control, exports, seen, stretch)
        except psycopg.Error as error:
            raise trouble(error) from error
        described = {relation.oid for relation in notes.relations}
        again = tuple(
            export
            for export in exports
            if export.pinned.reference["oid"] in described
            or export.table_id in looked.doubts
            or self._watch.reshaped(looked, export)
        )
        # What is altered cannot be read again as it was.
        doubts = {**looked.doubts, **(self._changed(again) if again else {})}
        self._watch.shapes = looked.shapes  # not before it is compared
        at = self._stretch_end
        return Looked(self._here.at(at), self._definite(exports, doubts, at), looked.kept)

    def _stretch(self, shown: Snapshot, until: int) -> tuple[int, Notes]:
        """Where the next tick ends, before what does not show; and what the stream says up to there."""
        if self._spool is None:
            return until, Notes()
        transactions, cut = self._spool.ahead(until)
        end = until if cut is None else cut
        hidden = np.flatnonzero(~shown.shows(np.array([one.xid for one in transactions], np.int64)))
        xid = None
        if len(hidden):
            end, xid = transactions[hidden[0]].lsn, transactions[hidden[0]].xid
            transactions = transactions[: hidden[0]]
        self.waiting = None
        if self._unshown.lasts(xid):
            self.waiting = f"postgres: transaction {xid} has committed and does not show yet", _HIDDEN
        return end, _notes(self._spool.remarks(), end, transactions)

    def _comes(self, until: int) -> bool:
        """Whether the stream goes on to a place that it has not come to yet, within a moment."""
        if self._end >= until:
            return False
        deadline_s = SYSTEM_CLOCK.monotonic_s() + STREAM_CATCH_UP_S_MAX
        while self._end < until and SYSTEM_CLOCK.monotonic_s() < deadline_s and self._failure is None:
            self._wake()
            SYSTEM_CLOCK.sleep(SNAPSHOT_SETTLE_CHECK_S)
        return True

    def acknowledge(self, frontier: Frontier) -> None:
        if self._spool is not None:
            self._spool.done()
        self._durable = max(self._durable, position(frontier))
        self._wake()

    def _wake(self) -> None:
        os.write(self._wake_out, b"!")

    def close(self) -> None:
        self._stopping = True
        if self._thread is not None:
            self._wake()
            self._thread.join()
        if self._spool is not None:
            self._spool.close()
        for connection in (self._stream, self._control):
            if connection is not None:
                connection.close()
        os.close(self._wake_in)
        os.close(self._wake_out)


def _notes(remarks: Iterable[Remark], end: int, transactions: Iterable[Transaction]) -> Notes:
    """Up to `end`; truncations also of what has arrived beyond."""
    relations: dict[bytes, RelationMessage] = {}
    truncations: set[tuple[int, int]] = set()
    written: defaultdict[int, dict[int, int]] = defaultdict(dict)
    parts: dict[tuple[int, int], int] = {}
    for remark in remarks:
        kind = remark.message[:1]
        if kind == b"T":
            truncations.add((remark.oid, remark.transaction.xid))
        elif remark.transaction.lsn >= end:
            continue
        elif not kind:
            written[remark.oid][remark.transaction.xid] = remark.rows
        else:
            relations.setdefault(remark.message, pgoutput.parse_relation(remark.message))
            if remark.root:
                parts.setdefault((remark.root, remark.oid), remark.transaction.xid)
    return Notes(
        tuple(relations.values()),
        frozenset(truncations),
        dict(written),
        parts,
        frozenset(transaction.xid for transaction in transactions),
    )
