"""What all statements are.

A statement is a frozen value that knows how to write itself as canonical SQL;
parsing that text gives an equal value.  `statements/` has one file for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class Statement(ABC):
    """One parsed statement."""

    __slots__ = ()

    @abstractmethod
    def render(self) -> str:
        """Canonical SQL, one clause per line; a CREATE ends with a semicolon."""

    def shown(self, text: str) -> str:
        """What others may see of a statement that was written as `text`: all of it, unless it has secrets."""
        return text


def shown_text(statement: object, text: str) -> str:
    """What others may see of `text`, which was parsed as `statement`; nothing is None."""
    return statement.shown(text) if isinstance(statement, Statement) else text
