"""SHOW {PRIVILEGES | GRANTS | DEFAULT PRIVILEGES} [ON kinds] [FOR role] | SHOW ROLE MEMBERSHIP [FOR role]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, SqlText, quote_identifier
from headwater.sql.grants import PLURALS
from headwater.sql.statement import Statement
from headwater.sql.words import tree

_KINDS: Final = ("PRIVILEGES", "GRANTS", "DEFAULT PRIVILEGES", "ROLE MEMBERSHIP")
_NAMES: Final = tree((kind, kind.lower()) for kind in _KINDS)

PHRASES = tuple(f"SHOW {kind}" for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class ShowPrivileges(Statement):
    """What roles may do (`privileges`, `default privileges`), or what they are members of."""

    what: str
    on: str | None = None  # a kind of objects: `table`, `system`
    role: str | None = None
    where: SqlText | None = None

    def render(self) -> str:
        kind = "" if self.on is None else f" ON {'SYSTEM' if self.on == 'system' else self.on.upper() + 'S'}"
        role = "" if self.role is None else f" FOR {quote_identifier(self.role)}"
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SHOW {self.what.upper()}{kind}{role}{where}"


def parse(cursor: Cursor) -> ShowPrivileges:
    """Parse the statement."""
    cursor.expect("SHOW")
    what = cursor.choose(_NAMES).replace("grants", "privileges")
    on: str | None = None
    if what != "role membership" and cursor.accept("ON"):
        on = "system" if cursor.accept("SYSTEM") else PLURALS[cursor.expect_any(*PLURALS, "SYSTEM")]
    role = cursor.identifier() if cursor.accept("FOR") else None
    return ShowPrivileges(what, on, role, cursor.span() if cursor.accept("WHERE") else None)
