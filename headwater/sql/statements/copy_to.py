"""COPY {table [(column, ...)] | (query) | (SUBSCRIBE ...)} TO STDOUT [WITH (options)]."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.copy_options import CopyOptions, parse_copy_options
from headwater.sql.cursor import QUERY_WORDS, Cursor, Name
from headwater.sql.parts import parse_column_list, render_column_list
from headwater.sql.statement import Statement

PHRASES = ("COPY ... TO",)


@dataclass(frozen=True, slots=True)
class CopyTo(Statement):
    """Rows for the client: of a table (no columns are all of them), or of a statement."""

    source: Name | Statement
    columns: tuple[str, ...] = ()
    options: CopyOptions = field(default_factory=CopyOptions)

    def render(self) -> str:
        source = f"({self.source.render()})" if isinstance(self.source, Statement) else str(self.source)
        columns = render_column_list(self.columns)
        return f"COPY {source}{columns} TO STDOUT {self.options.render()}"


def parse(cursor: Cursor) -> CopyTo:
    """Parse the statement."""
    cursor.expect("COPY")
    source: Name | Statement
    columns: tuple[str, ...] = ()
    if cursor.accept_symbol("("):
        source = cursor.nested(*QUERY_WORDS, "SUBSCRIBE")
        cursor.expect_symbol(")")
    else:
        source = cursor.name()
        columns = parse_column_list(cursor)
    cursor.expect("TO", "STDOUT")
    return CopyTo(source, columns, parse_copy_options(cursor))
