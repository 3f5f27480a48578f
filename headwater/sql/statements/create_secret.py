"""CREATE SECRET [IF NOT EXISTS] name AS expression."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.sql.cursor import Cursor, Name, SqlText
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.secret_values import HIDDEN_VALUE, parse_secret_value
from headwater.sql.statement import Statement

PHRASES = ("CREATE SECRET",)


@dataclass(frozen=True, slots=True)
class CreateSecret(Statement):
    """A new secret."""

    name: Name
    value: SqlText
    if_not_exists: bool = False

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        return f"CREATE SECRET {condition}{self.name} AS {self.value};"

    def shown(self, text: str) -> str:
        return replace(self, value=HIDDEN_VALUE).render()


def parse(cursor: Cursor) -> CreateSecret:
    """Parse the statement."""
    cursor.expect("CREATE", "SECRET")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    return CreateSecret(name, parse_secret_value(cursor), if_not_exists)
