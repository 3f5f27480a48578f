"""What every session of ours upstream is set to, whatever the role or the database has for a default.

    ALTER ROLE ... SET, ALTER DATABASE ... SET, postgresql.conf     what the upstream's people want for theirs
      < startup_options()     in force from the first moment, for all versions
      = settings_query()      said again, since a pooler may drop options; and what not all versions know

That is so for queries, for snapshots and for the sender of the stream alike: values are printed by output
functions in all of them, and a value that a snapshot and the stream print differently is two values.

`row_security` is off, which does not let us see more: PostgreSQL refuses to answer where a policy would hide
rows, instead of hiding them.

Not here: what only a superuser may set (lc_messages, session_replication_role); none of it changes rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SETTINGS: Final[Mapping[str, str]] = {
    # Who reads, and all of it.
    "role": "none",
    "row_security": "off",
    # What names and texts in our statements, and in a publication's row filters, mean.
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "gin_fuzzy_search_limit": "0",
    # How values are printed.
    "datestyle": "ISO,MDY",
    "intervalstyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "timezone": "UTC",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "quote_all_identifiers": "off",
    "xmlbinary": "base64",
    "xmloption": "content",
    "array_nulls": "on",
    # Compiling costs more than our questions do.
    "jit": "off",
    # How transactions begin, and that they end when we end them.
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "exit_on_error": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # How long the sender of the stream waits for a word of ours: PostgreSQL's own default.
    "wal_sender_timeout": "1min",
    # That the server notices when we are gone without a word, and lets go of what the session holds.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}

_NOT_ALWAYS: Final = ("idle_session_timeout", "transaction_timeout")
"""Of PostgreSQL 14 and 17 and later; a server that does not know a setting refuses who asks for it."""
_SPACE: Final = "\\ "

UNCHECKED_TEXT: Final = (
    "pg_catalog.set_config('client_encoding', CASE pg_catalog.current_setting('server_encoding')"
    " WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END, false)"
)
"""For sessions that read values.  In a database of SQL_ASCII a value may be anything, and one that is not
UTF-8 would end the session, and with it the stream of all tables; we look for ourselves instead."""


def startup_options(**more: str) -> str:
    """For libpq's `options`; `more` are further settings, or other values of these."""
    settings = {**SETTINGS, **more}
    return " ".join(f"-c {name}={value.replace(' ', _SPACE)}" for name, value in settings.items())


def settings_query(*expressions: str, **more: str) -> str:
    """A query that sets all of them for the session, and does whatever else is to be done first in it."""
    settings = {**SETTINGS, **more}
    values = [f"pg_catalog.set_config('{name}', '{value}', false)" for name, value in settings.items()]
    names = ", ".join(f"'{name}'" for name in _NOT_ALWAYS)
    rest = (
        "(SELECT pg_catalog.count(pg_catalog.set_config(name, '0', false))"
        f" FROM pg_catalog.pg_settings WHERE name IN ({names}))"
    )
    return f"SELECT {', '.join((*values, rest, *expressions))}"
