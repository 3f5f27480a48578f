"""Where the server is: a place in its log before which all lies that is committed by now.

That is where the next record would be written (the insert position), and not how far the log is on disk:
with synchronous_commit = off a transaction is committed, and shows, before it is there.  A transaction
whose commit waits for a standby lies before it as well, and nothing from there on is read before it
shows; so to wait for the position may be to wait for a standby.

What is not on disk is not sent, and a server on which nobody commits may leave the last records in memory
for many seconds.  A commit of our own, of a transaction that has done nothing, makes it write them soon.

The stream comes to the position also on a server where nothing happens that concerns us: it is asked
for an answer at each tick, and the answer says how far it has looked (reader.py).
"""

from __future__ import annotations

import re
from typing import Final

import psycopg

from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier
from headwater.sources.contract import Options, Secrets
from headwater.sources.postgres.frontier import LsnFrontier, last_end, lsn_of
from headwater.sources.postgres.silence import bounded
from headwater.sources.postgres.slot import reach
from headwater.sources.postgres.trouble import AGAIN, trouble

# The timeline is taken from where inspect.py takes it.
_POSITION: Final = """
    SELECT system_identifier::text,
        CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
             ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END,
        (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
              ELSE pg_current_wal_insert_lsn() END)::text,
        (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
              ELSE pg_current_wal_flush_lsn() END)::text
    FROM pg_control_system()
"""
_ANY_HISTORY: Final = ("", 0)
_LSN: Final = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")


def position(options: Options, secrets: Secrets, now_ms: int) -> Frontier:
    """See `SourceType.position`."""
    with reach(options, secrets) as control:
        try:
            with bounded(control):
                row = control.execute(_POSITION).fetchone()
                if row is None:
                    raise TransientError("postgres: the server does not say where it is", AGAIN)
                system_id, timeline, inserted, flushed = row
                end = last_end(lsn_of(inserted))
                if lsn_of(flushed) < end:
                    control.execute("SELECT pg_current_xact_id()")
        except psycopg.Error as error:
            raise trouble(error) from error
    return LsnFrontier(end, system_id, timeline)


def position_from_text(text: str) -> Frontier:
    """`16/B374D848`, or the same as a number, of whatever history the source has."""
    if _LSN.fullmatch(text):
        return LsnFrontier(last_end(lsn_of(text)), *_ANY_HISTORY)
    if text.isascii() and text.isdigit() and int(text) < 2**64:
        return LsnFrontier(last_end(int(text)), *_ANY_HISTORY)
    raise ValueError("a place in the log, as pg_current_wal_insert_lsn() returns it upstream: '16/B374D848'")


def reached(frontier: Frontier, wanted: Frontier) -> bool:
    """Places of different histories say nothing about each other."""
    if not isinstance(frontier, LsnFrontier) or not isinstance(wanted, LsnFrontier):
        raise TypeError(f"a PostgreSQL source was given the frontiers {frontier} and {wanted}")
    history = (wanted.system_id, wanted.timeline)
    return history in (_ANY_HISTORY, (frontier.system_id, frontier.timeline)) and wanted <= frontier
