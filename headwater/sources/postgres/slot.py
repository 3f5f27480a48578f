"""The replication slot of a source: made, found, taken over, dropped.

A slot is made once and kept.  Its name is in the catalog before it is there upstream, so that a drop finds
what to take away after any crash.

Not here: the stream that comes from it (reader.py).
"""

from __future__ import annotations

import select
from typing import Any, Final

import psycopg
import structlog
from psycopg import pq

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import REPLICATION_STATUS_S, SLOT_RELEASE_S_MAX, SNAPSHOT_SETTLE_CHECK_S
from headwater.sources.contract import Options, Secrets, Waits
from headwater.sources.postgres.connection import connect
from headwater.sources.postgres.facts import RESYNC
from headwater.sources.postgres.frontier import lsn_of, lsn_text, position
from headwater.sources.postgres.silence import bounded
from headwater.sources.postgres.trouble import AGAIN, named, said, trouble
from headwater.sources.postgres.visibility import Snapshot

log = structlog.get_logger("postgres")

NO_SLOT_LEFT: Final = b"53400"
MAKE_ROOM: Final = (
    "In the upstream: drop slots that nobody needs (see pg_replication_slots), or raise"
    " max_replication_slots and restart the server; the source then continues by itself."
)


class Slot:
    """A source's slot, asked about over the source's own connection."""

    def __init__(self, name: str, control: psycopg.Connection[Any], waits: Waits) -> None:
        self._name = name
        self._control = control
        self._waits = waits

    def ready(self, stream: psycopg.Connection[Any], stands_at: Frontier | None) -> int:
        """Make sure of the slot; the position from which on we read."""
        with bounded(self._control):
            row = self._control.execute(
                "SELECT active_pid, wal_status, confirmed_flush_lsn::text FROM pg_replication_slots"
                " WHERE slot_name = %s",
                (self._name,),
            ).fetchone()
        if row is None and stands_at is not None:
            raise _lost(stands_at, f'replication slot mysteriously missing: "{self._name}"')
        if row is None:
            made = self._create(stream.pgconn)
            self._wait_for_shown()
            return made
        active_pid, wal_status, confirmed = row
        if wal_status == "lost":
            what = "replication slot has been invalidated because it exceeded the maximum reserved size"
            raise _lost(stands_at, what)
        if active_pid is not None:
            with bounded(self._control):
                self._release(active_pid)
        if stands_at is None:
            self._wait_for_shown()
            return lsn_of(confirmed)
        wanted = position(stands_at)
        if lsn_of(confirmed) > wanted:
            raise _lost(
                stands_at,
                f"slot overcompacted. Requested LSN {lsn_text(wanted)} but only LSNs >= {confirmed}"
                " are available",
            )
        return lsn_of(confirmed)

    def _create(self, wire: pq.abc.PGconn) -> int:
        """Takes as long as the oldest transaction that is open upstream; may be given up."""
        wire.send_query(f'CREATE_REPLICATION_SLOT "{self._name}" LOGICAL pgoutput NOEXPORT_SNAPSHOT'.encode())
        while wire.is_busy():
            if ready({wire.socket: select.POLLIN}, REPLICATION_STATUS_S):
                wire.consume_input()
            elif self._unwanted():
                wire.get_cancel().cancel()
                raise self._not_wanted()
        made: int | None = None
        while (result := wire.get_result()) is not None:
            if result.status != pq.ExecStatus.TUPLES_OK:
                full = result.error_field(pq.DiagnosticField.SQLSTATE) == NO_SLOT_LEFT
                raise TransientError(
                    f"postgres: {spoken(result.error_message)}", MAKE_ROOM if full else AGAIN
                )
            made = lsn_of((result.get_value(0, 1) or b"").decode())
        if made is None:
            raise TransientError(f'postgres: replication slot "{self._name}" was not made')
        return made

    def _wait_for_shown(self) -> None:
        """Until every transaction that may have committed before the slot begins shows upstream.

        The stream will not have it, so snapshots must.  Those that were open when the slot was made have
        been waited for; one that began on the way may be in the log already, and wait for a standby.
        """
        with bounded(self._control):
            row = self._control.execute("SELECT pg_current_xact_id()::text::int8").fetchone()
        newest = 0 if row is None else row[0]
        told_s = SYSTEM_CLOCK.monotonic_s()
        while snapshot(self._control).xmin < newest:
            SYSTEM_CLOCK.sleep(SNAPSHOT_SETTLE_CHECK_S)
            if SYSTEM_CLOCK.monotonic_s() - told_s > REPLICATION_STATUS_S:
                told_s = SYSTEM_CLOCK.monotonic_s()
                if self._unwanted():
                    raise self._not_wanted()

    def _unwanted(self) -> bool:
        """Tell that others must end before the source can begin; whether nobody wants it any more."""
        return self._waits(
            f"postgres: a replication slot waits for open transactions{self._open_ones()}",
            "End them, or wait until they end: SELECT pg_terminate_backend(pid) ends a session there.",
        )

    def _not_wanted(self) -> TransientError:
        return TransientError(f'postgres: replication slot "{self._name}" is not wanted any more')

    def _open_ones(self) -> str:
        """The oldest transactions upstream that have written something."""
        with bounded(self._control):
            found = self._control.execute(
                "SELECT format('process %s since %s', pid, date_trunc('second', xact_start))"
                " FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
                " UNION ALL SELECT format('prepared transaction %L since %s', gid, prepared)"
                " FROM pg_prepared_xacts LIMIT 3"
            ).fetchall()
        return ": " + ", ".join(row[0] for row in found) if found else ""

    def _release(self, pid: int) -> None:
        """A process that was killed may have left its walsender behind; it is ended."""
        log.warning("taking over a replication slot", slot=self._name, walsender=pid)
        deadline_s = SYSTEM_CLOCK.monotonic_s() + SLOT_RELEASE_S_MAX
        while SYSTEM_CLOCK.monotonic_s() < deadline_s:
            row = self._control.execute(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
                " WHERE slot_name = %s AND active_pid IS NOT NULL",
                (self._name,),
            ).fetchone()
            if row is None:
                return
            SYSTEM_CLOCK.sleep(0.05)
        raise TransientError(
            f'postgres: replication slot "{self._name}" is in use by process {pid}',
            hint=f"SELECT pg_terminate_backend({pid}) upstream, as a user who may.",
        )


def _lost(stands_at: Frontier | None, message: str) -> DefiniteError:
    """What was read cannot be continued."""
    return DefiniteError("", "" if stands_at is None else str(stands_at), message, RESYNC)


def drop_slot(options: Options, secrets: Secrets) -> None:
    """Leave nothing upstream."""
    slot = options["slot"]
    try:
        control = reach(options, secrets)
    except TransientError as error:
        if isinstance(error.__cause__, psycopg.OperationalError) and _no_database(error.__cause__):
            return  # a slot belongs to its database, and is gone with it
        raise
    with control, bounded(control):
        deadline_s = SYSTEM_CLOCK.monotonic_s() + SLOT_RELEASE_S_MAX
        while True:
            try:
                control.execute(
                    "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
                    " WHERE slot_name = %s AND active_pid IS NOT NULL",
                    (slot,),
                )
                control.execute(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                    " WHERE slot_name = %s",
                    (slot,),
                )
                return
            except psycopg.errors.ObjectInUse as error:
                if SYSTEM_CLOCK.monotonic_s() > deadline_s:
                    raise trouble(error) from error
                SYSTEM_CLOCK.sleep(0.05)
            except psycopg.Error as error:
                raise trouble(error) from error


def reach(options: Options, secrets: Secrets, replication: bool = False) -> psycopg.Connection[Any]:
    """A connection to a source's upstream; trouble on the way says whose it is."""
    try:
        return connect(options["connection"], secrets, replication=replication)
    except TransientError as error:
        raise named(error) from error.__cause__


def snapshot(control: psycopg.Connection[Any]) -> Snapshot:
    """What shows upstream now."""
    with bounded(control):
        row = control.execute("SELECT pg_current_snapshot()::text").fetchone()
    if row is None:
        raise TransientError("postgres: the server gave no snapshot", AGAIN)
    return Snapshot.from_text(row[0])


def ready(sockets: dict[int, int], seconds: float) -> set[int]:
    """Those of the sockets on which something has happened; their numbers may be as high as they like."""
    poll = select.poll()
    for number, events in sockets.items():
        poll.register(number, events)
    return {number for number, _ in poll.poll(seconds * 1000)}


def spoken(text: bytes) -> str:
    """What a server said, in a line."""
    return said(text.decode(errors="replace"))


def _no_database(error: psycopg.OperationalError) -> bool:
    """Whether a server that was reached has no such database; libpq says that in words only."""
    return 'database "' in str(error) and '" does not exist' in str(error)
