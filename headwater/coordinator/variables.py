"""Session and system variables: one table of names, defaults and checks.

Values are kept as text, as SHOW prints them.  `reported` ones are told to the client
at startup and whenever they change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from headwater.coordinator.sizes import size, statement_memory
from headwater.core.calendar import HOUR_S, MIDNIGHT_2000_US, SECOND_US
from headwater.core.errors import UserError
from headwater.core.interval import parse_interval
from headwater.core.limits import IDLE_IN_TRANSACTION_S_DEFAULT, NAME_BYTES_MAX
from headwater.formats.zones import find_zone, zone_of_offset
from headwater.sources.dialects import DIALECTS

MZ_VERSION: Final = "v26.30.0 (headwater)"
SERVER_VERSION: Final = "15.0"
_DURATION_MS_MAX: Final = 2**31 - 1  # as PostgreSQL has it


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable; `check` returns the canonical text or raises ValueError."""

    name: str
    default: str
    description: str
    check: Callable[[str], str] = str
    kind: str = "string"
    reported: str | None = None  # the spelling in ParameterStatus
    changeable: bool = True
    system: bool = False  # set with ALTER SYSTEM
    of_roles: bool = False  # and with ALTER ROLE, but not by those whom it limits
    begins_as: str | None = None  # of one transaction: which variable's value it has at its beginning
    waived: Callable[[str], bool] | None = (
        None  # PostgreSQL takes it: a client that begins with it may come in
    )

    @property
    def unit(self) -> str | None:
        """In which its number is counted."""
        return "ms" if self.check is _duration else None


def _boolean(text: str) -> str:
    lowered = text.lower()
    if lowered in ("on", "true", "t", "yes", "1"):
        return "on"
    if lowered in ("off", "false", "f", "no", "0"):
        return "off"
    raise ValueError("a boolean")


def _one_of(*words: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(" or ".join(repr(word) for word in words))
        return text.lower()

    return check


def _program(text: str) -> str:
    """As PostgreSQL keeps it, since others read it, and a terminal may obey it: plain, and not long."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:NAME_BYTES_MAX])


def _integer(text: str) -> str:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) is None:
        raise ValueError("an integer")
    return str(int(text))


def _duration(text: str) -> str:
    """Milliseconds when a bare number, otherwise an interval; kept as milliseconds with a unit."""
    wanted = "milliseconds or a duration such as '30s', from 0 to 24 days"
    try:
        millis = int(_integer(text))
    except ValueError:
        try:
            millis = parse_interval(text).total_microseconds() // 1000
        except UserError as error:
            raise ValueError(wanted) from error
    if not 0 <= millis <= _DURATION_MS_MAX:
        raise ValueError(wanted)
    return f"{millis} ms" if millis % 1000 else f"{millis // 1000} s"


def duration_s(text: str) -> float:
    """Seconds of a duration's canonical text."""
    number, _, unit = text.partition(" ")
    return int(number) / 1000 if unit == "ms" else float(number)


def in_unit(variable: Variable, text: str) -> str:
    """A value as a bare number of the variable's unit, if it has one."""
    return text if variable.unit is None else str(round(duration_s(text) * 1000))


def _isolation(text: str) -> str:
    lowered = " ".join(text.lower().split())
    if lowered in ("strict serializable", "serializable"):
        return lowered
    if lowered in ("read uncommitted", "read committed", "repeatable read"):
        return "serializable"
    raise ValueError("'strict serializable' or 'serializable'")


_HOURS: Final = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_OFFSET: Final = re.compile(r"interval\s*'([^']*)'\s*", re.IGNORECASE)


def _zone(text: str) -> str:
    """A zone's name as the tz database spells it, or a POSIX specification; hours become one."""
    if (written := _OFFSET.fullmatch(text)) is not None:
        length = parse_interval(written[1])
        if length.months or length.days:
            part = "months" if length.months else "days"
            raise _no_zone(text, f"Cannot specify {part} in time zone interval.")
        found = zone_of_offset(int(length.microseconds / SECOND_US))
    elif _HOURS.fullmatch(text) is not None:
        hours = float(text)
        found = zone_of_offset(int(hours * HOUR_S)) if abs(hours) < _DURATION_MS_MAX else None
    else:
        found = find_zone(text)
        if found is None:
            raise _no_zone(text)
        if int(found.offsets_at(np.array([MIDNIGHT_2000_US]))[0]) % 60:
            detail = "PostgreSQL does not support leap seconds."
            raise UserError(f'time zone "{text}" appears to use leap seconds', "22023", detail=detail)
    if found is None:
        raise _no_zone(text, "UTC timezone offset is out of range.")
    return found.name


def _no_zone(text: str, detail: str | None = None) -> UserError:
    return UserError(
        f'invalid value for parameter "TimeZone": "{text}"',
        "22023",
        detail=detail,
        hint=None if detail else "SELECT name FROM pg_timezone_names lists the zones that have names.",
    )


_STYLES: Final = re.compile(r"iso|sql|postgres.*|german.*")
_ORDERS: Final = re.compile(r"ymd|dmy|euro.*|mdy|us|noneuro.*")


def _date_words(text: str) -> list[str]:
    """The words of a style, as PostgreSQL reads them, in any order."""
    return [word.strip().lower().strip("'\"") for word in text.strip("'\"").split(",")]


def _style(text: str) -> str:
    orders = {"mdy", "us", "default"}
    if not all(word in orders | {"iso"} or word.startswith("noneuro") for word in _date_words(text)):
        raise ValueError("'ISO, MDY'")
    return "ISO, MDY"


def _is_style(text: str) -> bool:
    words = _date_words(text)
    chosen = [sum(map(bool, map(kind.fullmatch, words))) for kind in (_STYLES, _ORDERS)]
    return max(chosen) <= 1 and sum(chosen) == len(words)


_ENCODINGS: Final = re.compile(
    "latin([1-9]|10)|iso8859([1-9]|1[0-6])|win(dows)?(125[0-8]|8[67]4|866|9(32|36|49|50))|koi8[ru]?|gb(k|18030)"
    "|euc(cn|jp|jis2004|kr|tw)|s(hift)?jis(2004)?|mskanji|big5|johab|uhc|muleinternal|tcvn(5712)?|vscii|abc|alt"
)


def _encoding_word(text: str) -> str:
    """As PostgreSQL reads it: only letters and digits count (asyncpg sends quotes along)."""
    return "".join(filter(str.isalnum, text)).lower()


def _encoding(text: str) -> str:
    word = _encoding_word(text)
    if word not in ("utf8", "unicode", "sqlascii"):
        raise ValueError("'UTF8' or 'SQL_ASCII', which are the same bytes")
    # psql asks for SQL_ASCII in a terminal without a locale: nothing is converted, here as in PostgreSQL.
    return "SQL_ASCII" if word == "sqlascii" else "UTF8"


def _is_encoding(text: str) -> bool:
    return _ENCODINGS.fullmatch(_encoding_word(text)) is not None


def _is_interval_style(text: str) -> bool:
    return text.lower() in ("sql_standard", "postgres_verbose", "iso_8601")


SEVERITIES: Final = (
    *("debug5", "debug4", "debug3", "debug2", "debug1", "debug"),
    *("log", "info", "notice", "warning", "error"),
)

_VARIABLES: Final = (
    Variable("application_name", "", "Name of the client's program", _program, reported="application_name"),
    Variable(
        "client_encoding",
        "UTF8",
        "Encoding of texts",
        _encoding,
        reported="client_encoding",
        waived=_is_encoding,
    ),
    Variable("client_min_messages", "notice", "Least severity of messages sent", _one_of(*SEVERITIES)),
    Variable("cluster", "quickstart", "Cluster of new objects and reads", reported="cluster"),
    Variable("cluster_replica", "", "Replica that reads go to", reported="cluster_replica"),
    Variable("database", "materialize", "Current database", reported="database"),
    Variable("datestyle", "ISO, MDY", "How dates are shown", _style, reported="DateStyle", waived=_is_style),
    Variable("extra_float_digits", "3", "Accepted for clients that set it", _integer, "integer"),
    Variable(
        "idle_in_transaction_session_timeout",
        f"{IDLE_IN_TRANSACTION_S_DEFAULT} s",
        "Longest time that an open transaction waits for its client, 0 is none",
        _duration,
    ),
    Variable(
        "integer_datetimes", "on", "Timestamps are integers", _boolean, "bool", "integer_datetimes", False
    ),
    Variable(
        "intervalstyle",
        "postgres",
        "How intervals are shown",
        _one_of("postgres"),
        reported="IntervalStyle",
        waived=_is_interval_style,
    ),
    Variable(
        "is_superuser", "off", "Whether the user may do everything", _boolean, "bool", "is_superuser", False
    ),
    Variable("session_authorization", "materialize", "The user of this session", changeable=False),
    Variable("mz_version", MZ_VERSION, "The version of the dialect", reported="mz_version", changeable=False),
    Variable(
        "read_engine", "auto", "Engine of reads: auto, spark or duckdb", _one_of("auto", "spark", "duckdb")
    ),
    Variable("search_path", "public", "Schemas that names are looked up in", reported="search_path"),
    Variable(
        "server_version",
        SERVER_VERSION,
        "Version of PostgreSQL that is spoken",
        str,
        "string",
        "server_version",
        False,
    ),
    Variable("server_version_num", "150000", "The same as a number", _integer, "integer", None, False),
    Variable(
        "standard_conforming_strings",
        "on",
        "Backslashes are ordinary",
        _one_of("on"),
        "bool",
        "standard_conforming_strings",
    ),
    Variable("statement_timeout", "0 s", "Longest time of a statement, 0 is none", _duration),
    Variable("timezone", "UTC", "Time zone in which moments are shown and read", _zone, reported="TimeZone"),
    Variable(
        "transaction_isolation",
        "strict serializable",
        "Isolation of reads",
        _isolation,
        begins_as="default_transaction_isolation",
    ),
    Variable(
        "transaction_read_only",
        "off",
        "Whether the transaction's writes are refused",
        _boolean,
        "bool",
        begins_as="default_transaction_read_only",
    ),
    Variable(
        "default_table_access_method", "heap", "Asked for by clients", str, "string", None, changeable=False
    ),
    Variable("default_tablespace", "", "Asked for by clients", str, "string", None, changeable=False),
    Variable(
        "default_transaction_isolation", "strict serializable", "Isolation of new transactions", _isolation
    ),
    Variable(
        "default_transaction_read_only", "off", "Whether new transactions refuse writes", _boolean, "bool"
    ),
    Variable(
        "auto_route_catalog_queries", "on", "System queries run in process in any case", _boolean, "bool"
    ),
    Variable("welcome_message", "on", "Whether the server greets", _boolean, "bool"),
    Variable("current_object_missing_warnings", "on", "Notices about missing names in SET", _boolean, "bool"),
    Variable("emit_timestamp_notice", "off", "A notice with each read's timestamp", _boolean, "bool"),
    Variable("emit_plan_insights_notice", "off", "Accepted, nothing is emitted", _boolean, "bool"),
    Variable("emit_introspection_query_notice", "off", "Accepted, nothing is emitted", _boolean, "bool"),
    Variable("emit_trace_id_notice", "off", "Accepted, nothing is emitted", _boolean, "bool"),
    Variable("max_query_result_size", "1GB", "Accepted, results are sent as they come", size),
    Variable(
        "real_time_recency",
        "off",
        "Reads wait until their sources have what their upstreams had committed when the read began",
        _boolean,
        "bool",
    ),
    Variable(
        "real_time_recency_timeout",
        "10 s",
        "Longest time a read waits for an upstream's position, 0 is any time",
        _duration,
    ),
    Variable(
        "default_cluster_replication_factor",
        "1",
        "Replicas of a new cluster",
        _integer,
        "integer",
        "default_cluster_replication_factor",
        changeable=False,
    ),
    Variable("lock_timeout", "0 s", "Longest time to wait for an advisory lock, 0 is any time", _duration),
    Variable("row_security", "on", "Accepted, there are no row policies", _boolean, "bool"),
    Variable("synchronize_seqscans", "on", "Accepted for clients that set it", _boolean, "bool"),
    Variable("standby_mode", "off", "Accepted for clients that ask", _boolean, "bool", None, False),
    Variable("in_hot_standby", "off", "Never", _boolean, "bool", "in_hot_standby", False),
    Variable(
        "enable_create_table_from_source", "on", "CREATE TABLE ... FROM SOURCE", _boolean, "bool", system=True
    ),
    Variable(
        "force_source_table_syntax",
        "off",
        "Clauses of the legacy syntax are refused, and at the next start legacy sources become tables",
        _boolean,
        "bool",
        system=True,
    ),
    Variable(
        "storage_enforce_external_addresses",
        "off",
        "Connections go to addresses of the open network only, and to none of the operator's own",
        _boolean,
        "bool",
        system=True,
    ),
    Variable(
        "enable_unix_socket_connections",
        "off",
        "Connections whose HOST is a Unix socket: upstreams may take them for the server's own user",
        _boolean,
        "bool",
        system=True,
    ),
    *(
        Variable(
            variable,
            "on",
            f"Sources FROM {dialect.grammar.words} {variant} may be created",
            _boolean,
            "bool",
            system=True,
        )
        for dialect in DIALECTS.values()
        for variant, variable in dialect.switches.items()
    ),
    Variable(
        "webhook_concurrent_request_limit",
        "500",
        "Requests for webhooks that may be in flight; others are told to come later",
        _integer,
        "integer",
        system=True,
    ),
    Variable(
        "max_statement_time",
        "0 s",
        "Longest time of a statement, whatever statement_timeout says, 0 is none",
        _duration,
        system=True,
        of_roles=True,
    ),
    Variable(
        "max_statement_memory",
        "0B",
        "Most memory of all statements that a role runs at a time, 0 is what there is",
        statement_memory,
        system=True,
        of_roles=True,
    ),
    Variable("max_connections", "500", "Most clients at once", _integer, "integer", None, False),
)

VARIABLES: Final[Mapping[str, Variable]] = {variable.name: variable for variable in _VARIABLES}
_MODES: Final = tuple(variable for variable in _VARIABLES if variable.begins_as is not None)
_ALIASES: Final = {"schema": "search_path", "time zone": "timezone"}


def find(name: str) -> Variable:
    """A variable by name, in any case."""
    lowered = name.lower()
    variable = VARIABLES.get(_ALIASES.get(lowered, lowered))
    if variable is None:
        raise _unknown(name)
    return variable


def _unknown(name: str) -> UserError:
    return UserError(
        f'unrecognized configuration parameter "{name.lower()}"',
        "42704",
        hint="SHOW ALL lists the parameters.",
    )


def _of_sessions(name: str) -> Variable:
    variable = find(name)
    if variable.system:
        hint = f"ALTER SYSTEM SET {variable.name} = ... changes it for the server"
        raise UserError(
            f'parameter "{variable.name}" cannot be changed by a session',
            "55P02",
            hint=f"{hint}, ALTER ROLE for a role." if variable.of_roles else f"{hint}.",
        )
    return variable


def of_roles(name: str) -> Variable:
    """What sessions of a role may begin with, or be limited to."""
    variable = find(name)
    return variable if variable.of_roles else _of_sessions(name)


def beginnings_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of a role's settings that its sessions begin with, and may change."""
    return {name: value for name, value in settings.items() if not VARIABLES[name].of_roles}


def limits_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of a role's settings that its sessions cannot change."""
    return {name: value for name, value in settings.items() if VARIABLES[name].of_roles}


def flag(system: Mapping[str, str], name: str) -> bool:
    """Whether a system variable is on."""
    return system.get(name, find(name).default) == "on"


def checked(variable: Variable, text: str) -> str:
    """The canonical text of a value."""
    try:
        return variable.check(text)
    except ValueError as error:
        raise UserError(
            f'parameter "{variable.name}" cannot have value "{text}"', "22023", hint=f"It takes {error}."
        ) from None


def _of_beginnings(values: Mapping[str, str]) -> dict[str, str]:
    """Where there is no transaction, a mode is what transactions begin with."""
    return {find(name).begins_as or name: value for name, value in values.items()} | {
        name: value for name, value in values.items() if find(name).begins_as is None
    }


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """What a session had set at some moment, for going back to it."""

    session: Mapping[str, str]
    local: Mapping[str, str]


class Settings:
    """A session's values, from below: defaults, the server's, what the client asked for when it
    connected, what it has set since, what the transaction has set for itself alone.

    Modes of a transaction are among the last, and fixed when it begins; outside of one they show what
    the next will begin with."""

    def __init__(self, system: Mapping[str, str]) -> None:
        self._system = _of_beginnings(system)
        self._startup: dict[str, str] = {}
        self._session: dict[str, str] = {}
        self._local: dict[str, str] = {}
        self._before_block: KeptSettings | None = None

    def get(self, name: str) -> str:
        variable = find(name)
        for layer in (self._local, self._session):
            if variable.name in layer:
                return layer[variable.name]
        return self._reset_value(variable)

    def _reset_value(self, variable: Variable) -> str:
        """What RESET goes back to."""
        if variable.begins_as is not None:
            return self.get(variable.begins_as)
        for layer in (self._startup, self._system):
            if variable.name in layer:
                return layer[variable.name]
        return variable.default

    def start(self, name: str, text: str) -> UserError | None:
        """A value that came with the connection; or why it does not have it, if it can do without."""
        if name.lower() not in VARIABLES:
            return _unknown(name)
        variable = _of_sessions(name)
        if not variable.changeable:
            raise UserError(f'parameter "{variable.name}" cannot be changed', "55P02")
        try:
            self._startup |= _of_beginnings({variable.name: checked(variable, text)})
        except UserError as error:
            if variable.waived is None or not variable.waived(text):
                raise
            return error
        return None

    def identify(self, user: str, superuser: bool) -> None:
        """Whose session it is."""
        self._startup |= {"session_authorization": user, "is_superuser": "on" if superuser else "off"}

    def set(self, name: str, text: str | None, local: bool = False) -> None:
        """Set, or with None back to what RESET goes back to; `local` ends with the transaction."""
        variable = _of_sessions(name)
        if not variable.changeable:
            raise UserError(f'parameter "{variable.name}" cannot be changed', "55P02")
        value = None if text is None else checked(variable, text)
        if variable.begins_as is not None:
            self._set_mode(variable, variable.begins_as, value, local)
            return
        if local:
            self._local[variable.name] = self._reset_value(variable) if value is None else value
            return
        self._local.pop(variable.name, None)  # the later one counts
        if value is None:
            self._session.pop(variable.name, None)
        else:
            self._session[variable.name] = value

    def _set_mode(self, variable: Variable, begins_as: str, value: str | None, local: bool) -> None:
        """The transaction's own; but an isolation is the session's too, unless it is set as local."""
        if begins_as == "default_transaction_isolation" and not local:
            self.set(begins_as, value)
        if local or self._before_block is not None:
            self._local[variable.name] = self._reset_value(variable) if value is None else value

    def reset_all(self) -> None:
        modes = {name: value for name, value in self._local.items() if find(name) in _MODES}
        self._session.clear()
        self._local = modes

    def begin(self) -> None:
        """A transaction: what it sets goes with a rollback."""
        if self._before_block is None:
            self._before_block = self.keep()
            self._local |= {mode.name: self._reset_value(mode) for mode in _MODES}

    def end(self, committed: bool) -> None:
        if not committed:
            self.undo()
        self._local.clear()
        self._before_block = None

    def keep(self) -> KeptSettings:
        """As they are now."""
        return KeptSettings(dict(self._session), dict(self._local))

    def go_back(self, kept: KeptSettings) -> None:
        """As they were then."""
        self._session, self._local = dict(kept.session), dict(kept.local)

    def undo(self) -> None:
        """As before the transaction that is under way."""
        if self._before_block is not None:
            self.go_back(self._before_block)

    def refresh_system(self, system: Mapping[str, str]) -> None:
        self._system = _of_beginnings(system)

    def reported(self) -> dict[str, str]:
        """Values the client is told of, by the spelling it expects."""
        return {
            variable.reported: self.get(variable.name)
            for variable in VARIABLES.values()
            if variable.reported is not None
        }

    def all(self) -> list[tuple[Variable, str]]:
        return [(variable, self.get(variable.name)) for variable in VARIABLES.values()]
