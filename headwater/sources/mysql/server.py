"""Which server it is, what it is set to, and whether changes can be read from it.

    server_facts(session)     one look at its system variables
    check_place(session, place)   whether two sessions are in one server
    wrong(server)             what it must be set to and is not; each with the statement that sets it
    settings_error(server)    the same as an error of a statement
    configuration(server)     the same as an error of a source that runs

Variables are asked for by SHOW, which answers of those that a server has, and shortens long values: sets of
transactions are selected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pymysql.connections import Connection

from headwater.core.errors import TransientError, UserError
from headwater.sources.mysql.facts import Flavour, ServerFacts
from headwater.sources.mysql.trouble import NAMESPACE

METADATA: Final = "binlog_row_metadata"
FULL: Final = "FULL"
METADATA_VERSION_MIN: Final[Mapping[Flavour, tuple[int, int, int]]] = {
    "mysql": (8, 0, 1),
    "mariadb": (10, 5, 0),
}
"""The first that write the names of columns into their logs."""

_NAMES: Final = (
    "binlog_format",
    "binlog_row_image",
    METADATA,
    "enforce_gtid_consistency",
    "gtid_domain_id",
    "gtid_mode",
    "gtid_slave_pos",
    "hostname",
    "innodb_native_foreign_keys",
    "log_bin",
    "log_replica_updates",
    "log_slave_updates",
    "lower_case_table_names",
    "replica_parallel_workers",
    "replica_preserve_commit_order",
    "server_id",
    "server_uid",
    "server_uuid",
    "slave_parallel_workers",
    "slave_preserve_commit_order",
    "version",
)
_SETS: Final[Mapping[Flavour, tuple[str, ...]]] = {
    "mysql": ("gtid_executed", "gtid_purged"),
    "mariadb": ("gtid_binlog_pos", "gtid_binlog_state"),
}
_LOSING: Final = frozenset(("log_bin", "log_replica_updates", "log_slave_updates", "gtid_mode"))
_LOGGED_CASCADES_MIN: Final = (9, 6, 0)
_SETTINGS: Final = "Invalid MySQL system replication settings"
_GTID_STEPS: Final = (
    "SET PERSIST gtid_mode = OFF_PERMISSIVE, then ON_PERMISSIVE, then ON, each when the one before is done"
    " everywhere"
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A variable that must have another value; `fix` is a clause after "In the upstream: ".

    `loses`: there are changes meanwhile that the log has not, or not under a name that it could be asked for.
    """

    name: str
    expected: str
    found: str
    fix: str
    loses: bool = False

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}, got {self.found}"


def flavour_of(session: Connection[Any]) -> Flavour:
    """Which of both a server is; it says so before anybody has logged in."""
    return "mariadb" if "mariadb" in session.get_server_info().lower() else "mysql"


def server_facts(session: Connection[Any]) -> ServerFacts:
    """What the server says of itself now; errors are the driver's."""
    flavour = flavour_of(session)
    with session.cursor() as cursor:
        names = ", ".join(f"'{name}'" for name in _NAMES)
        cursor.execute(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        variables = {name.lower(): value for name, value in cursor.fetchall()}
        sets = _SETS[flavour]
        cursor.execute("SELECT CURRENT_USER(), " + ", ".join(f"@@GLOBAL.{name}" for name in sets))
        [(user, *values)] = cursor.fetchall()
    variables |= {name: value or "" for name, value in zip(sets, values, strict=True)}
    return ServerFacts(flavour, _version(variables["version"]), int(variables["server_id"]), variables, user)


def place_of(session: Connection[Any]) -> str:
    """Which server a session is in: behind one name there may be several."""
    with session.cursor() as cursor:
        cursor.execute("SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id)")
        [(place,)] = cursor.fetchall()
    return str(place)


def check_place(session: Connection[Any], place: str) -> None:
    """TransientError unless a session is in the same server as another: what one shows another may lack."""
    other = place_of(session)
    if other != place:
        what = f"{NAMESPACE}: the connection leads to several servers: {place}; {other}"
        raise TransientError(what, "HOST must be the name of one server. It is tried again.")


def _version(text: str) -> tuple[int, int, int]:
    # Older MariaDBs say what they are behind the version of a MySQL.
    numbers = re.findall(r"(\d+)\.(\d+)(?:\.(\d+))?", text.removeprefix("5.5.5-"))
    major, minor, patch = numbers[0] if numbers else ("0", "0", "0")
    return int(major), int(minor), int(patch or 0)


def wrong(server: ServerFacts) -> tuple[Wrong, ...]:
    """What keeps it from telling of all changes."""
    found = [
        _unless(server, "log_bin", "1", "start the server with log_bin = binlog in its option file"),
        _unless(server, "binlog_format", "ROW", _set(server, "binlog_format", "ROW")),
        _unless(server, "binlog_row_image", FULL, _set(server, "binlog_row_image", FULL)),
    ]
    if server.flavour == "mysql":
        found += [
            _unless(
                server,
                "enforce_gtid_consistency",
                "ON",
                _set(server, "enforce_gtid_consistency", "ON"),
            ),
            _unless(server, "gtid_mode", "ON", _GTID_STEPS),
        ]
        name = "log_replica_updates" if "log_replica_updates" in server.variables else "log_slave_updates"
        found.append(_unless(server, name, "1", f"start the server without {name} = OFF in its option file"))
        for role in ("replica", "slave"):
            if int(server.variables.get(f"{role}_parallel_workers", "0")) > 1:
                name = f"{role}_preserve_commit_order"
                found.append(_unless(server, name, "1", f"SET PERSIST {name} = ON, with the {role} stopped"))
                break
    elif server.variables.get("gtid_slave_pos"):
        fix = "start the server with log_slave_updates in its option file, as it is a replica of another"
        found.append(_unless(server, "log_slave_updates", "1", fix))
    return tuple(one for one in found if one is not None)


def settings_error(server: ServerFacts) -> UserError | None:
    """What a statement says of that; None: nothing is wrong."""
    found = wrong(server)
    if not found:
        return None
    fixes = "; ".join(one.fix for one in found)
    return UserError(
        _SETTINGS,
        "58000",
        detail=f"{_SETTINGS}: {'; '.join(map(str, found))}",
        hint=f"In the upstream: {fixes}. Sessions keep what they began with: let them connect again.",
    )


def configuration(server: ServerFacts) -> str | None:
    """What a source says of that; None: nothing is wrong."""
    found = wrong(server)
    return f"mysql server configuration: {'; '.join(map(str, found))}" if found else None


def unlogged(server: ServerFacts) -> str | None:
    """What a source says that has begun, and cannot go on when all is set right again."""
    found = [str(one) for one in wrong(server) if one.loses]
    return (
        f"mysql server does not log changes so that they can be followed: {'; '.join(found)}"
        if found
        else None
    )


def logs_cascades(server: ServerFacts) -> bool:
    """Whether what foreign keys do to rows is logged: MySQL may do it itself, otherwise InnoDB does."""
    if server.flavour == "mariadb" or server.version < _LOGGED_CASCADES_MIN:
        return False
    return server.variables.get("innodb_native_foreign_keys", "OFF") == "OFF"


def names_columns(server: ServerFacts) -> bool:
    """Whether the log has the names of columns, so that these may come and go."""
    return server.variables.get(METADATA) == FULL


def _unless(server: ServerFacts, name: str, expected: str, fix: str) -> Wrong | None:
    """None also if there is no such variable: it could not be otherwise."""
    value = server.variables.get(name)
    if value is None:
        return None
    if expected == "1":
        value = {"ON": "1", "OFF": "0"}.get(value.upper(), value)
    loses = name in _LOSING and value.upper() != "ON_PERMISSIVE"
    return None if value.upper() == expected else Wrong(name, expected, value, fix, loses)


def _set(server: ServerFacts, name: str, value: str) -> str:
    if server.flavour == "mysql":
        return f"SET PERSIST {name} = '{value}'"
    return f"SET GLOBAL {name} = '{value}', and the same in its option file"
