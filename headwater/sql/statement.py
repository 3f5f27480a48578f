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
