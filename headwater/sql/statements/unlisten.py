"""UNLISTEN {channel | *}: accepted, because connection pools send it; there is nothing to listen to."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("UNLISTEN",)


@dataclass(frozen=True, slots=True)
class Unlisten(Statement):
    """A channel not to be told of any more; None is all of them."""

    channel: str | None

    def render(self) -> str:
        return f"UNLISTEN {'*' if self.channel is None else quote_identifier(self.channel)}"


def parse(cursor: Cursor) -> Unlisten:
    """Parse the statement."""
    cursor.expect("UNLISTEN")
    return Unlisten(None if cursor.accept_symbol("*") else cursor.identifier())
