"""COPY table [(column, ...)] FROM STDIN [WITH (options)]."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.copy_options import CopyOptions, parse_copy_options
from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import parse_column_list, render_column_list
from headwater.sql.statement import Statement

PHRASES = ("COPY ... FROM",)


@dataclass(frozen=True, slots=True)
class CopyFrom(Statement):
    """Rows that the client sends; no columns are all of them."""

    table: Name
    columns: tuple[str, ...] = ()
    options: CopyOptions = field(default_factory=CopyOptions)

    def render(self) -> str:
        columns = render_column_list(self.columns)
        return f"COPY {self.table}{columns} FROM STDIN {self.options.render()}"


def parse(cursor: Cursor) -> CopyFrom:
    """Parse the statement."""
    cursor.expect("COPY")
    table = cursor.name()
    columns = parse_column_list(cursor)
    cursor.expect("FROM", "STDIN")
    return CopyFrom(table, columns, parse_copy_options(cursor))
