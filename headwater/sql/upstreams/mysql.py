"""MYSQL: the tables of a server, followed by its binary log.

    MYSQL CONNECTION connection [(TEXT COLUMNS (..) [, EXCLUDE COLUMNS (..)])]

IGNORE COLUMNS is another word for EXCLUDE COLUMNS.  Both options belong to statements that
also create tables; they are read here so that whoever writes them is told where they belong.

Not here: which tables there are (sources/mysql).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import (
    OptionReader,
    exclude_or_ignore,
    parse_options,
    qualified_names,
    refused,
    render_options,
)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "TEXT COLUMNS": qualified_names,
    "EXCLUDE COLUMNS": qualified_names,
    "IGNORE COLUMNS": qualified_names,
    "DETAILS": refused("CREATE SOURCE specifies DETAILS option"),
}
_RENDERED: Final = ("TEXT COLUMNS", "EXCLUDE COLUMNS")


@dataclass(frozen=True, slots=True)
class MySql:
    """A server behind a connection; columns are named `[schema.]table.column`."""

    connection: Name
    text_columns: tuple[Name, ...] = ()
    exclude_columns: tuple[Name, ...] = ()

    def render(self) -> str:
        options = render_options(self, _RENDERED)
        return f"MYSQL CONNECTION {self.connection}" + (f" ({options})" if options else "")


def parse(cursor: Cursor) -> MySql:
    """What comes after MYSQL."""
    cursor.expect("CONNECTION")
    connection = cursor.name()
    position = cursor.error_position()
    options = parse_options(cursor, _OPTIONS) if cursor.at_symbol("(") else {}
    exclude_or_ignore(options, position)
    return MySql(connection, **options)
