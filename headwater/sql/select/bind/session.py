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
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    SqlType,
    array_of,
)
from headwater.sql.select.bind.coerce import coerce
from headwater.sql.select.bind.operator import scalar
from headwater.sql.select.bind.planning import Planning
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.plan.literals import canonical, timestamp_text
from headwater.sql.select.plan.nodes import Call, Cast, Constant, Expression

_Answer = Callable[[SessionFacts], str | None]

MZ_NOW: Final = Function("mz_now", (), MZ_TIMESTAMP, None, None)
"""Its value is known when the query is generated; the generators put it in."""

_SYSTEM_SCHEMAS: Final = ("mz_catalog", "pg_catalog")


def _moment(type_: SqlType) -> _Answer:
    return lambda facts: timestamp_text(facts.now_us, type_, facts.zone)


def _started(facts: SessionFacts) -> str:
    return timestamp_text(facts.started_us, TIMESTAMPTZ, facts.zone)


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
    "localtime": (TIME, _moment(TIME)),
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
    "mz_is_superuser": (BOOL, lambda facts: "t" if facts.superuser else "f"),
    "is_rbac_enabled": (BOOL, lambda facts: "f"),
    "pg_backend_pid": (INT4, lambda facts: str(facts.backend_pid)),
    "pg_is_in_recovery": (BOOL, lambda facts: "f"),
    "pg_my_temp_schema": (SqlType("oid"), lambda facts: "0"),
    "pg_postmaster_start_time": (TIMESTAMPTZ, _started),
    "pg_conf_load_time": (TIMESTAMPTZ, _started),
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
    if name in _ROUNDED and len(arguments) == 1:
        return _rounded(planning, name, arguments[0])
    if name == "age" and len(arguments) == 1 and arguments[0].type.kind in _AGED:
        return _age(planning, arguments[0], at)
    if name in _WITHOUT_ARGUMENTS and not arguments:
        type_, answer = _WITHOUT_ARGUMENTS[name]
        return Constant(answer(planning.facts), type_)
    if name == "current_schemas" and len(arguments) == 1:
        return _schemas(planning.facts, arguments[0], at)
    if name == "mz_upstream_position" and len(arguments) == 2:
        return _position(planning.facts, arguments, at)
    if name == "current_setting" and 1 <= len(arguments) <= 2:
        return _setting(planning.facts, arguments, at)
    return None


_AGED: Final = ("unknown", "date", "timestamp", "timestamptz")
_ROUNDED: Final = {"current_timestamp": "timestamptz", "localtimestamp": "timestamp", "localtime": "time"}


def _rounded(planning: Planning, name: str, precision: Expression) -> Expression | None:
    if not isinstance(precision, Constant) or precision.type != INT4 or precision.value is None:
        return None
    type_ = SqlType(_ROUNDED[name], scale=min(int(precision.value), 6))
    return Constant(timestamp_text(planning.facts.now_us, type_, planning.facts.zone), type_)


def _age(planning: Planning, since: Expression, at: int) -> Expression:
    """Until the midnight that today begins with."""
    if since.type.kind == "unknown":  # there is an age() of transactions, too
        raise UserError(
            "function age(unknown) is not unique",
            "42725",
            hint="Could not choose a best candidate function. You might need to add explicit type casts.",
            position=at + 1,
        )
    type_ = TIMESTAMP if since.type.kind == "timestamp" else TIMESTAMPTZ
    today = Constant(timestamp_text(planning.facts.now_us, DATE, planning.facts.zone), UNKNOWN)
    given = (coerce(planning, today, type_, at), coerce(planning, since, type_, at))
    return scalar(planning, "age", given, at)


def _schemas(facts: SessionFacts, implicit: Expression, at: int) -> Expression:
    if not isinstance(implicit, Constant):
        raise UserError("current_schemas of a column not yet supported", "0A000", position=at + 1)
    schemas = list(facts.search_path)
    if implicit.value in ("t", "true"):
        schemas = [name for name in _SYSTEM_SCHEMAS if name not in schemas] + schemas
    quoted = ",".join('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in schemas)
    return Constant(canonical("{" + quoted + "}", array_of(NAME)), array_of(NAME))


def _position(facts: SessionFacts, arguments: tuple[Expression, ...], at: int) -> Expression:
    """How far a source had been read at a timestamp; bindings are many, so none but the one is looked up."""
    given = [argument.input if isinstance(argument, Cast) else argument for argument in arguments]
    values = [argument.value if isinstance(argument, Constant) else "" for argument in given]
    source, ts = values
    if source is None or ts is None:
        return Constant(None, TEXT)
    if not source or not (ts.isascii() and ts.isdigit()) or int(ts) >= 2**63:
        raise UserError(
            "mz_upstream_position takes a source's name and a timestamp, both constants",
            "0A000",
            hint="Of the timestamp of a read the source's own relation shows it: SELECT * FROM source.",
            position=at + 1,
        )
    return Constant(None if facts.position is None else facts.position(source, int(ts)), TEXT)


def _setting(facts: SessionFacts, arguments: tuple[Expression, ...], at: int) -> Expression | None:
    name = arguments[0]
    if not isinstance(name, Constant) or name.value is None:
        return None  # a column: looked up in pg_settings
    settings = {key.lower(): value for key, value in facts.settings}
    settings.setdefault("timezone", facts.zone or "UTC")
    settings.setdefault("server_version", facts.server_version)
    settings.setdefault("search_path", ", ".join(facts.search_path))
    settings.setdefault("database", facts.database)
    settings.setdefault("cluster", facts.cluster)
    value = settings.get(name.value.lower())
    missing_ok = len(arguments) == 2 and isinstance(arguments[1], Constant) and arguments[1].value == "t"
    if value is None and not missing_ok:
        raise UserError(f'unrecognized configuration parameter "{name.value}"', "42704", position=at + 1)
    return Constant(value, TEXT)
