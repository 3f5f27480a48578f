"""Functions whose answer is a fact of the session or the moment: they become constants.

One table, name to answer.  A function is here when two sessions, or the same session at two
moments, may get different answers to it.

Not here: functions of their arguments (functions/).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.errors import UserError
from headwater.core.names import SessionFacts
from headwater.core.types import (
    BOOL,
    DATE,
    INT4,
    MZ_TIMESTAMP,
    NAME,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    array_of,
)
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.literals import canonical, timestamp_text
from headwater.sql.select.plan import Call, Constant, Expression
from headwater.sql.select.planning import Planning

_Answer = Callable[[SessionFacts], str | None]

MZ_NOW: Final = Function("mz_now", (), MZ_TIMESTAMP, None, None)
"""Its value is known when the query is generated; the generators put it in."""

_SYSTEM_SCHEMAS: Final = ("mz_catalog", "pg_catalog")


def _moment(type_: SqlType) -> _Answer:
    return lambda facts: timestamp_text(facts.now_us, type_)


def _version(facts: SessionFacts) -> str:
    return f"PostgreSQL {facts.server_version} on {facts.mz_version}"


def _version_number(facts: SessionFacts) -> str:
    """major * 100000 + minor * 100 + patch."""
    major, minor, patch = facts.mz_version.split()[0].lstrip("v").split(".")[:3]
    return str(int(major) * 100_000 + int(minor) * 100 + int(patch))


def _first_schema(facts: SessionFacts) -> str | None:
    return next((name for name in facts.search_path if name not in _SYSTEM_SCHEMAS), None)


_WITHOUT_ARGUMENTS: Final[dict[str, tuple[SqlType, _Answer]]] = {
    "now": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "current_timestamp": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "transaction_timestamp": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "statement_timestamp": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "clock_timestamp": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "localtimestamp": (TIMESTAMP, _moment(TIMESTAMP)),
    "current_date": (DATE, _moment(DATE)),
    "current_user": (NAME, lambda facts: facts.user),
    "current_role": (NAME, lambda facts: facts.user),
    "session_user": (NAME, lambda facts: facts.user),
    "user": (NAME, lambda facts: facts.user),
    "current_database": (NAME, lambda facts: facts.database),
    "current_catalog": (NAME, lambda facts: facts.database),
    "current_schema": (NAME, _first_schema),
    "current_cluster": (TEXT, lambda facts: facts.cluster),
    "version": (TEXT, _version),
    "mz_version": (TEXT, lambda facts: facts.mz_version),
    "mz_version_num": (INT4, _version_number),
    "mz_environment_id": (TEXT, lambda facts: facts.environment_id),
    "mz_is_superuser": (BOOL, lambda facts: "t" if facts.user == "mz_system" else "f"),
    "is_rbac_enabled": (BOOL, lambda facts: "f"),
    "pg_backend_pid": (INT4, lambda facts: str(facts.backend_pid)),
    "pg_is_in_recovery": (BOOL, lambda facts: "f"),
    "pg_my_temp_schema": (SqlType("oid"), lambda facts: "0"),
    "pg_postmaster_start_time": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "pg_conf_load_time": (TIMESTAMPTZ, _moment(TIMESTAMPTZ)),
    "inet_server_addr": (TEXT, lambda facts: None),
    "inet_client_addr": (TEXT, lambda facts: None),
}


def session_function(
    planning: Planning, name: str, arguments: tuple[Expression, ...], at: int
) -> Expression | None:
    """The answer to a session's function; None when the name is not one of those."""
    if name == "mz_now" and not arguments:
        planning.uses_mz_now = True
        return Call(MZ_NOW, (), MZ_TIMESTAMP)
    if name in ("current_timestamp", "localtimestamp") and len(arguments) == 1:
        return _rounded(planning, name, arguments[0])
    if name in _WITHOUT_ARGUMENTS and not arguments:
        type_, answer = _WITHOUT_ARGUMENTS[name]
        return Constant(answer(planning.facts), type_)
    if name == "current_schemas" and len(arguments) == 1:
        return _schemas(planning.facts, arguments[0], at)
    if name == "current_setting" and 1 <= len(arguments) <= 2:
        return _setting(planning.facts, arguments, at)
    return None


def _rounded(planning: Planning, name: str, precision: Expression) -> Expression | None:
    if not isinstance(precision, Constant) or precision.type != INT4 or precision.value is None:
        return None
    kind = "timestamptz" if name == "current_timestamp" else "timestamp"
    type_ = SqlType(kind, scale=min(int(precision.value), 6))
    return Constant(timestamp_text(planning.facts.now_us, type_), type_)


def _schemas(facts: SessionFacts, implicit: Expression, at: int) -> Expression:
    if not isinstance(implicit, Constant):
        raise UserError("current_schemas of a column not yet supported", "0A000", position=at + 1)
    schemas = list(facts.search_path)
    if implicit.value in ("t", "true"):
        schemas = [name for name in _SYSTEM_SCHEMAS if name not in schemas] + schemas
    quoted = ",".join('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in schemas)
    return Constant(canonical("{" + quoted + "}", array_of(NAME)), array_of(NAME))


def _setting(facts: SessionFacts, arguments: tuple[Expression, ...], at: int) -> Expression | None:
    name = arguments[0]
    if not isinstance(name, Constant) or name.value is None:
        return None  # a column: looked up in pg_settings
    settings = {key.lower(): value for key, value in facts.settings}
    settings.setdefault("timezone", facts.time_zone)
    settings.setdefault("server_version", facts.server_version)
    settings.setdefault("search_path", ", ".join(facts.search_path))
    settings.setdefault("database", facts.database)
    settings.setdefault("cluster", facts.cluster)
    value = settings.get(name.value.lower())
    missing_ok = len(arguments) == 2 and isinstance(arguments[1], Constant) and arguments[1].value == "t"
    if value is None and not missing_ok:
        raise UserError(f'unrecognized configuration parameter "{name.value}"', "42704", position=at + 1)
    return Constant(value, TEXT)
