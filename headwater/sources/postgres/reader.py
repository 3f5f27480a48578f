"""The one reader of a PostgreSQL source: a replication slot and the stream that comes from it.

    open      the history is the one we know -> the slot is there and has what we need -> START_REPLICATION
    thread    receives messages into the spool, answers keepalives, tells the server what is durable
    ticks     take whole transactions from the spool

The thread never waits for a tick: keepalives are answered while a tick takes minutes.
If too much is waiting it stops reading the socket, and the server waits.

A server that does not answer any more is hung up on, also when nobody says that the
connection is gone: after some silence the stream asks for an answer, and questions have a bound.

The position told to the server is that of the newest durable binding.  A source that
starts again takes the stream from where the slot is, which may be before its binding: what
it has read it leaves out, and what it has read last must be there (spool.py).  A slot that
no longer has the binding's position is an error and never a gap.

A tick also asks which of its transactions show upstream already, and keeps the others with
its frontier: no snapshot may be taken without them.

Not here: decoding (decode.py), snapshots (snapshot.py).
"""

from __future__ import annotations

import os
import select
import struct
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
import structlog
from psycopg import pq

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    REPLICATION_STATUS_S,
    REPLICATION_WAITING_BYTES_MAX,
    UPSTREAM_SILENCE_S_MAX,
)
from headwater.sources.contract import Export, Options, ReadPart, Secrets, Waits
from headwater.sources.postgres import pgoutput
from headwater.sources.postgres.connection import bounded
from headwater.sources.postgres.decode import Shown
from headwater.sources.postgres.facts import Facts, changed, missing_publication, moved, went_back
from headwater.sources.postgres.frontier import LsnFrontier, lsn_of, lsn_text, position
from headwater.sources.postgres.inspect import inspect
from headwater.sources.postgres.pgoutput import RelationMessage
from headwater.sources.postgres.publication import Look, Published, Stored, has_older_rows, look
from headwater.sources.postgres.session_settings import UNCHECKED_TEXT
from headwater.sources.postgres.slot import Slot, reach, ready, snapshot, spoken
from headwater.sources.postgres.spool import Overlap, Spool, Taken
from headwater.sources.postgres.trouble import AGAIN, first_line, named, trouble
from headwater.sources.postgres.watch import Notes, Watch

log = structlog.get_logger("postgres")

SOURCE_TYPE: Final = "postgres"
_REMADE: Final = (
    "If it was dropped and created again: drop the source and create it again, because the log of"
    " the time between cannot be read any more."
)
_NOT_UTF8: Final = (
    "A value upstream cannot be converted to UTF-8, and the stream cannot pass it: mend the value, then drop"
    " the source and create it again."
)
_DATA_HEADER_BYTES: Final = 25
_STATUS: Final = struct.Struct(">cQQQQ?")
_EPOCH_2000_US: Final = 946_684_800_000_000


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
        self._slot: str = options["slot"]
        self._control = reach(options, secrets)
        self._stream: psycopg.Connection[Any] | None = None
        self._wake_in, self._wake_out = os.pipe()
        self._stopping = False
        self._failure: HeadwaterError | None = None
        self._heard_s = 0.0  # when the server last said anything
        self._spool: Spool | None = None
        self._notes = Notes()  # of the stretch that was planned last
        self._watch = Watch()
        self._thread: threading.Thread | None = None
        try:
            self._stream = reach(options, secrets, replication=True)
            with bounded(self._stream):
                history = self._history(self._stream)
            self._check_history(history, stands_at)
            begin = Slot(self._slot, self._control, waits).ready(self._stream, stands_at)
            self.start: Frontier = history.at(begin)
            self._here = history
            before = stands_at if isinstance(stands_at, LsnFrontier) else history
            self._published = Published(options["publication"], before.looked, before.recent)
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
        return LsnFrontier(lsn_of(row[2]), str(row[0]), int(row[1]))

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
            raise DefiniteError("", "" if stands_at is None else str(stands_at), message)

    def _facts(self, oids: Collection[int], since: int | None = None) -> Facts:
        try:
            with bounded(self._control):
                return inspect(self._control, self._options["publication"], oids, since=since)
        except TransientError as error:
            raise named(error) from error

    def _begin_stream(self, wire: pq.abc.PGconn, begin: int) -> None:
        result = wire.exec_(f"SELECT {UNCHECKED_TEXT}".encode())
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise TransientError(f"postgres: {spoken(result.error_message)}", AGAIN)
        publication = '"' + self._options["publication"].replace('"', '""') + '"'
        quoted = publication.replace("'", "''")
        result = wire.exec_(
            f'START_REPLICATION SLOT "{self._slot}" LOGICAL {lsn_text(begin)}'
            f" (proto_version '1', publication_names '{quoted}')".encode()
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
            what = f"stream ended prematurely: {first_line(error)}"
            self._failure = TransientError(f"postgres: {what}", self._way_out(what))
        except BaseException as error:
            log.exception("receiving failed", slot=self._slot)
            what = f"postgres: stream ended prematurely: internal: {type(error).__name__}: {error}"
            self._failure = TransientError(what, "It is tried again; the cluster's log says more.")

    def _receive(self, wire: pq.abc.PGconn, spool: Spool) -> None:
        wire.nonblocking = 1
        told_s = 0.0
        self._heard_s = SYSTEM_CLOCK.monotonic_s()
        while not self._stopping:
            now_s = SYSTEM_CLOCK.monotonic_s()
            if now_s - told_s >= REPLICATION_STATUS_S:
                # A server that hears from us has no reason of its own to say anything.
                self._tell(wire, wants_answer=now_s - self._heard_s > UPSTREAM_SILENCE_S_MAX / 3)
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
            self._check_heard()

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

    def _check_heard(self) -> None:
        """A server that was asked for an answer again and again and gives none is not there."""
        if SYSTEM_CLOCK.monotonic_s() - self._heard_s > UPSTREAM_SILENCE_S_MAX:
            raise psycopg.OperationalError(f"the server has been silent for {UPSTREAM_SILENCE_S_MAX:.0f} s")

    def _sleep(self, sockets: dict[int, int], seconds: float) -> set[int]:
        woken = ready({**sockets, self._wake_in: select.POLLIN}, seconds)
        if self._wake_in in woken:
            os.read(self._wake_in, 4096)
        return woken

    def _tell(self, wire: pq.abc.PGconn, wants_answer: bool) -> None:
        """A standby status update: everything up to the newest durable binding is ours."""
        durable = self._durable
        now_us = SYSTEM_CLOCK.now_ms() * 1000 - _EPOCH_2000_US
        wire.put_copy_data(
            _STATUS.pack(b"r", max(durable, self._end), durable, durable, now_us, wants_answer)
        )
        while wire.flush() and not self._stopping:
            ready({wire.socket: select.POLLOUT}, REPLICATION_STATUS_S)
            self._check_heard()

    # Ticks

    def probe(self, now_ms: int) -> Frontier:
        end = self._end
        if self._failure is not None:
            raise self._failure
        if self._thread is None or not self._thread.is_alive():
            raise TransientError("postgres: nobody receives the stream", AGAIN)
        self._wake()
        return self._here.at(end)

    def _way_out(self, failure: str) -> str:
        """What to do about a stream that has ended; some ends are the same at every try."""
        if missing_publication(self._options["publication"]) in failure:
            return _REMADE
        return _NOT_UTF8 if "has no equivalent in encoding" in failure else AGAIN

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
        snapshots = {table_id: Shown.by(point) for table_id, point in points.items()}
        taken = self._spool.take(position(end), snapshots)
        self._notes = _notes(self._spool.noted(position(end) if taken.reached is None else taken.reached))
        parts: list[ReadPart] = []
        for segment, tables in taken.segments:
            mine = tuple(export for export in exports if export.details["oid"] in tables)
            if mine:
                parts.append(ReadPart(SOURCE_TYPE, {}, None, None, mine, len(parts), segment))
        return self._reached(start, position(end), taken), tuple(parts)

    def _reached(self, start: LsnFrontier, end: int, taken: Taken) -> LsnFrontier:
        """Where the source stands after a tick, with those of its transactions that do not show yet."""
        read = [*start.unshown, *(transaction.xid for transaction in taken.transactions)]
        unshown: tuple[int, ...] = ()
        if read:
            xids = np.array(read, np.int64)
            try:
                unshown = tuple(xids[~snapshot(self._control).shows(xids)].tolist())
            except psycopg.Error as error:
                raise trouble(error) from error
        last = taken.transactions[-1] if taken.transactions else start.last
        reached = end if taken.reached is None else taken.reached
        return self._here.at(reached, last, unshown, self._published.since, self._published.recent)

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        received = self._end
        found, now = self._changed(exports)
        others = tuple(export for export in exports if export.table_id not in found)
        if now is not None:
            found |= self._judge(others, now, received)
        return self._definite(exports, found)

    def _changed(self, exports: tuple[Export, ...]) -> tuple[dict[str, str], Look | None]:
        """By table id: why it is not what was pinned; and how the tables are published."""
        facts = self._facts({export.details["oid"] for export in exports}, self._published.since)
        message = moved(self._options["identity"], facts)
        if message is None and facts.publication is None:
            message = missing_publication(facts.publication_name)
        if message is not None:
            raise DefiniteError("", lsn_text(self._end), message)
        found = {export.table_id: why for export in exports if (why := changed(export.details, facts))}
        return found, facts.look

    def confirm(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        received, oids = self._end, {export.details["oid"] for export in exports}
        try:
            with bounded(self._control):
                now = look(self._control, self._options["publication"], oids, self._published.since)
        except psycopg.Error as error:
            raise trouble(error) from error
        found = self._judge(exports, now, received)
        if found:  # perhaps there is more to say of them
            facts = self._facts(oids)
            found |= {
                export.table_id: message
                for export in exports
                if export.table_id in found and (message := changed(export.details, facts))
            }
        return self._definite(exports, found)

    def _judge(self, exports: tuple[Export, ...], now: Look, received: int) -> dict[str, str]:
        """Of all tables, those of which something may not have been published, by a look later than what was
        received."""
        truncated = {} if self._spool is None else dict(self._spool.truncated)
        return self._published.judge(exports, now, received, truncated, self._has_older_rows)

    def _has_older_rows(self, stored: Stored, since: int) -> bool:
        try:
            with bounded(self._control):
                return has_older_rows(self._control, stored, since)
        except psycopg.Error as error:
            raise trouble(error) from error

    def _definite(
        self, exports: tuple[Export, ...], messages: Mapping[str, str]
    ) -> Mapping[str, DefiniteError]:
        return {
            export.table_id: DefiniteError(
                ".".join(export.reference), lsn_text(self._end), messages[export.table_id]
            )
            for export in exports
            if export.table_id in messages
        }

    def look(
        self, exports: tuple[Export, ...], seen: Mapping[str, Any], reached: Frontier
    ) -> tuple[Mapping[str, DefiniteError], Mapping[str, Any]]:
        """Also whether tables are what they were, if the stream has described them anew."""
        notes, at = self._notes, position(reached)
        described = {relation.oid for relation in notes.relations}
        again = tuple(export for export in exports if export.details["oid"] in described)
        # Not judged by how they are published: that is done for all tables at once, or not at all.
        errors = dict(self._definite(again, self._changed(again)[0])) if again else {}
        try:
            with bounded(self._control):
                found, kept = self._watch.look(self._control, exports, seen, notes, at)
        except psycopg.Error as error:
            raise trouble(error) from error
        references = {export.table_id: ".".join(export.reference) for export in exports}
        for id_, message in found.items():
            errors.setdefault(id_, DefiniteError(references[id_], lsn_text(at), message))
        return errors, kept

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


def _notes(messages: Iterable[tuple[int, bytes]]) -> Notes:
    relations: dict[bytes, RelationMessage] = {}
    truncations: list[tuple[int, int]] = []
    for xid, message in messages:
        if message[0] == pgoutput.TRUNCATE:
            truncations += [(oid, xid) for oid in pgoutput.parse_truncate(message)]
        elif message not in relations:
            relations[message] = pgoutput.parse_relation(message)
    return Notes(tuple(relations.values()), tuple(truncations))
