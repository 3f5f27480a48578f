"""A query put together from pieces of a statement, whose errors point into the statement.

UPDATE and DELETE are planned as queries over their table.  A position in such a query
means nothing to the user, unless it lies in a piece that they wrote.
"""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.sql.cursor import SqlText


class Composed:
    """A text that remembers where its pieces came from."""

    def __init__(self, *pieces: str | SqlText) -> None:
        self.text = ""
        self._written: list[tuple[int, SqlText]] = []
        self.add(*pieces)

    def add(self, *pieces: str | SqlText) -> Composed:
        """More at the end."""
        for piece in pieces:
            if isinstance(piece, SqlText):
                self._written.append((len(self.text), piece))
            self.text += str(piece)
        return self

    def place(self, error: UserError) -> None:
        """Turn a position in this text into one in the statement; 0 when the user wrote nothing there."""
        position = error.position
        error.position = 0
        for start, piece in self._written:
            if start < position <= start + len(piece.text) + 1:
                error.position = position - start + piece.offset
