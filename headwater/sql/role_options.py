"""What CREATE ROLE and ALTER ROLE say of a role.

    LOGIN | NOLOGIN, SUPERUSER | NOSUPERUSER, INHERIT, CREATEROLE | NOCREATEROLE, CREATEDB | NOCREATEDB,
    CREATECLUSTER | NOCREATECLUSTER, PASSWORD 'text' | NULL, CONNECTION LIMIT n, IN ROLE r, ...

A password is kept out of everything that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.connection_options import HIDDEN
from headwater.sql.cursor import Cursor, quote_string
from headwater.sql.grants import parse_role, render_role

_FLAGS: Final = ("LOGIN", "SUPERUSER", "INHERIT", "CREATEROLE", "CREATEDB", "CREATECLUSTER")
SYSTEM_PRIVILEGES: Final = ("CREATEROLE", "CREATEDB", "CREATECLUSTER")
_REFUSED: Final = {
    "NOINHERIT": "roles that do not inherit",
    "BYPASSRLS": "BYPASSRLS",
    "NOBYPASSRLS": "NOBYPASSRLS",
    "REPLICATION": "REPLICATION",
    "NOREPLICATION": "NOREPLICATION",
    "VALID": "VALID UNTIL",
    "ENCRYPTED": "ENCRYPTED PASSWORD",
    "ROLE": "CREATE ROLE ... ROLE",
    "ADMIN": "CREATE ROLE ... ADMIN",
    "SYSID": "SYSID",
}


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """What was said; nothing is said of what is None."""

    flags: tuple[tuple[str, bool], ...] = ()  # `LOGIN` and whether
    password: str | None = field(default=None, repr=False)  # empty: none any more
    connection_limit: int | None = None
    in_roles: tuple[str, ...] = ()

    def flag(self, name: str) -> bool | None:
        return dict(self.flags).get(name)

    def render(self, hidden: bool = False) -> str:
        words = [name if value else f"NO{name}" for name, value in self.flags]
        if self.password is not None:
            shown = quote_string(HIDDEN if hidden else self.password)
            words.append(f"PASSWORD {shown if self.password else 'NULL'}")
        if self.connection_limit is not None:
            words.append(f"CONNECTION LIMIT {self.connection_limit}")
        if self.in_roles:
            words.append(f"IN ROLE {', '.join(map(render_role, self.in_roles))}")
        return "".join(f" {word}" for word in words)


def parse_role_options(cursor: Cursor, new: bool) -> RoleOptions:
    """All options up to the statement's end."""
    cursor.accept("WITH")
    flags: dict[str, bool] = {}
    password: str | None = None
    limit: int | None = None
    in_roles: tuple[str, ...] = ()
    while not cursor.at_end():
        word = cursor.peek().keyword
        positive = word.removeprefix("NO") if word not in _FLAGS else word
        if word in _REFUSED:
            raise cursor.refusal(f"{_REFUSED[word]} not yet supported", "0A000")
        if positive in _FLAGS:
            if positive in flags:
                raise cursor.refusal("conflicting or redundant options", "42601")
            cursor.take()
            flags[positive] = word == positive
        elif password is None and cursor.accept("PASSWORD"):
            password = _password(cursor)
        elif limit is None and cursor.accept("CONNECTION", "LIMIT"):
            limit = cursor.integer(negative=True)
        elif new and not in_roles and cursor.at("IN"):
            cursor.take()
            cursor.expect_any("ROLE", "GROUP")
            in_roles = cursor.separated(lambda: parse_role(cursor))
        else:
            raise cursor.error("a role option or end of statement")
    return RoleOptions(tuple(flags.items()), password, limit, in_roles)


def _password(cursor: Cursor) -> str:
    """Empty: none.  PostgreSQL takes an empty one for none as well."""
    if cursor.accept("NULL"):
        return ""
    try:
        return cursor.string()
    except UserError as error:
        error.message = "Expected a password as a literal string or NULL"
        raise
