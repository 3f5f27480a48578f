"""What every session of ours upstream is set to, whatever the server has for a default.

A snapshot reads values as texts that the server makes, in whichever zone, mode and character set the session
has; and a limit that somebody has set for all sessions must not cut what we read.

Servers do not know the same variables, and refuse who sets one that they do not know: those that not all have
are set where the server says that it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from headwater.core.limits import UPSTREAM_LOOK_LOCK_S_MAX

_LOCK_S: Final = str(int(UPSTREAM_LOOK_LOCK_S_MAX))

ALWAYS: Final[Mapping[str, str]] = {
    # What our statements mean, and how values are printed.
    "sql_mode": "''",
    "time_zone": "'+00:00'",
    "lc_time_names": "'en_US'",
    "sql_auto_is_null": "0",
    # All rows, however many.
    "sql_select_limit": "18446744073709551615",
    "sql_big_selects": "1",
    # Nobody waits for ever for a lock that somebody keeps, and somebody else behind us.
    "lock_wait_timeout": _LOCK_S,
    "innodb_lock_wait_timeout": _LOCK_S,
    # How long the server waits for us: a table may be read for hours, and a reader may be busy.
    "wait_timeout": "86400",
    "net_read_timeout": "600",
    "net_write_timeout": "600",
}

SOMETIMES: Final[Mapping[str, str]] = {
    "max_execution_time": "0",
    "max_statement_time": "0",
    "idle_transaction_timeout": "0",
    "idle_readonly_transaction_timeout": "0",
    "idle_write_transaction_timeout": "0",
    # Estimates of now, and primary keys that the server makes itself.
    "information_schema_stats_expiry": "0",
    "show_gipk_in_create_table_and_information_schema": "1",
}

TRANSACTIONS: Final = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"

ASKED: Final = "SHOW SESSION VARIABLES WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in SOMETIMES)
)
"""Which of the others the server has."""


def statement(settings: Mapping[str, str]) -> str:
    """Sets them; at least one."""
    return "SET " + ", ".join(f"SESSION {name} = {value}" for name, value in settings.items())


def settle(ask: Callable[[str], Iterable[tuple[str, str]]]) -> None:
    """Set a new session; those that all servers have first, or answers might be cut."""
    ask(statement(ALWAYS))
    ask(TRANSACTIONS)
    known = [name.lower() for name, _ in ask(ASKED)]
    if known:
        ask(statement({name: SOMETIMES[name] for name in known}))
