"""The log that a server keeps because our slot has not passed it.

It keeps it whether the source runs or not, up to `max_slot_wal_keep_size`; what the slot then still needs is
lost at the next checkpoint, and the slot with it.  `safe_wal_size` is what may be written until that may be.
"""

from __future__ import annotations

from typing import Final

import psycopg

from headwater.sources.contract import Options, Retained, Secrets
from headwater.sources.postgres.silence import bounded
from headwater.sources.postgres.slot import reach
from headwater.sources.postgres.trouble import trouble

MISSING: Final = "missing"
_LOST: Final = ("lost", MISSING)

_RETAINED: Final = """
    SELECT wal_status, safe_wal_size::int8,
        (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
            - restart_lsn)::int8,
        (SELECT nullif(setting::int8, -1) * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
    FROM pg_replication_slots WHERE slot_name = %s
"""


def retained(options: Options, secrets: Secrets) -> Retained:
    """See `SourceType.retained`."""
    with reach(options, secrets) as control:
        try:
            with bounded(control):
                row = control.execute(_RETAINED, (options["slot"],)).fetchone()
        except psycopg.Error as error:
            raise trouble(error) from error
    if row is None:
        return Retained(MISSING, None, lost=True, missing=True)
    state, left, held, limit = row
    return Retained(
        state or "reserved",
        None if held is None else max(held, 0),
        None if left is None else max(left, 0),
        limit,
        lost=state in _LOST,
    )
