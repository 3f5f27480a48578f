"""Pieces of grammar that GRANT, REVOKE and ALTER DEFAULT PRIVILEGES share.

    privileges   ALL [PRIVILEGES] | SELECT, INSERT, ...
    grantees     [GROUP] role | PUBLIC, ...
    target       [TABLE] t, ... | SCHEMA s, ... | ALL TABLES IN SCHEMA s, ... | SYSTEM

Which privilege a kind of object has is not grammar (catalog/rights.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, quote_identifier

ALL: Final = ("ALL",)
PRIVILEGES: Final = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "USAGE", "CREATE"),
    *("CREATEROLE", "CREATEDB", "CREATECLUSTER"),
)
_PARTS_MAX: Final = {
    "TABLE": NAME_PARTS_MAX,
    "VIEW": NAME_PARTS_MAX,
    "SOURCE": NAME_PARTS_MAX,
    "TYPE": NAME_PARTS_MAX,
    "CONNECTION": NAME_PARTS_MAX,
    "SECRET": NAME_PARTS_MAX,
    "SCHEMA": 2,
    "DATABASE": 1,
    "CLUSTER": 1,
}
PLURALS: Final = {f"{kind}S": kind.lower() for kind in _PARTS_MAX}


@dataclass(frozen=True, slots=True)
class Target:
    """What privileges are on: objects by name, all of a kind, or the system."""

    kind: str  # `table`, also of views and sources; `system`
    names: tuple[Name, ...] = ()
    within_kind: str | None = None  # of all objects: `schema` or `database`, if only of some
    within: tuple[Name, ...] = ()

    def __str__(self) -> str:
        if self.kind == "system":
            return "SYSTEM"
        if self.names:
            return f"{self.kind.upper()} {', '.join(map(str, self.names))}"
        return f"ALL {self.kind.upper()}S{render_within(self.within_kind, self.within)}"


def parse_target(cursor: Cursor) -> Target:
    """What follows ON."""
    if cursor.accept("SYSTEM"):
        return Target("system")
    if cursor.accept("ALL"):
        kind = PLURALS[cursor.expect_any(*PLURALS)]
        return Target(kind, (), *parse_within(cursor))
    # A kind is also a name: GRANT SELECT ON source TO r.
    kind_follows = cursor.peek().keyword in _PARTS_MAX and cursor.at_identifier(1)
    word = cursor.expect_any(*_PARTS_MAX) if kind_follows else "TABLE"
    return Target(word.lower(), cursor.separated(lambda: cursor.name(_PARTS_MAX[word])))


def parse_within(cursor: Cursor) -> tuple[str | None, tuple[Name, ...]]:
    """`[IN SCHEMA s, ... | IN DATABASE d, ...]`."""
    if not cursor.accept("IN"):
        return None, ()
    word = cursor.expect_any("SCHEMA", "DATABASE")
    return word.lower(), cursor.separated(lambda: cursor.name(_PARTS_MAX[word]))


def render_within(kind: str | None, names: tuple[Name, ...]) -> str:
    """` IN SCHEMA s, t`, or nothing."""
    return "" if kind is None else f" IN {kind.upper()} {', '.join(map(str, names))}"


def parse_privileges(cursor: Cursor) -> tuple[str, ...]:
    """`ALL [PRIVILEGES]`, or a list."""
    if cursor.accept("ALL"):
        cursor.accept("PRIVILEGES")
        return ALL
    return cursor.separated(lambda: cursor.expect_any(*PRIVILEGES))


def render_privileges(privileges: tuple[str, ...]) -> str:
    """`SELECT, INSERT`."""
    return "ALL PRIVILEGES" if privileges == ALL else ", ".join(privileges)


def parse_roles(cursor: Cursor) -> tuple[str | None, ...]:
    """Roles, with None for PUBLIC."""

    def role() -> str | None:
        if cursor.accept("PUBLIC"):
            return None
        if cursor.at("GROUP") and cursor.at_identifier(1):
            cursor.take()
        return parse_role(cursor)

    return cursor.separated(role)


def parse_role(cursor: Cursor) -> str:
    """One role by its name; CURRENT_USER and its kin are whoever is connected."""
    word = cursor.accept_any(*MYSELF)
    return word if word is not None else cursor.identifier()


MYSELF: Final = ("CURRENT_USER", "CURRENT_ROLE", "SESSION_USER")
"""Instead of a role's name; in capitals, as a name is only when it is quoted."""


def render_roles(roles: tuple[str | None, ...]) -> str:
    """`a, PUBLIC`."""
    return ", ".join("PUBLIC" if role is None else render_role(role) for role in roles)


def render_role(role: str) -> str:
    """A role's name as it is read back."""
    return role if role in MYSELF else quote_identifier(role)


def refuse_grant_option(cursor: Cursor) -> None:
    """WITH GRANT OPTION: whoever owns an object grants privileges on it, and nobody else."""
    for words in (("WITH", "GRANT", "OPTION"), ("WITH", "ADMIN", "OPTION"), ("GRANTED", "BY")):
        if cursor.at(*words):
            raise cursor.refusal(f"{' '.join(words)} not yet supported", "0A000")


def refuse_option_for(cursor: Cursor) -> None:
    """REVOKE GRANT OPTION FOR: see above."""
    for words in (("GRANT", "OPTION", "FOR"), ("ADMIN", "OPTION", "FOR")):
        if cursor.at(*words):
            raise cursor.refusal(f"{' '.join(words)} not yet supported", "0A000")
