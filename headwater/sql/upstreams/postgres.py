"""POSTGRES: the tables of a publication, followed by logical replication.

    POSTGRES CONNECTION connection (PUBLICATION [=] 'p' [, TEXT COLUMNS (..)] [, EXCLUDE COLUMNS (..)])

TEXT and EXCLUDE COLUMNS belong to statements that also create tables; they are read here
so that whoever writes them is told where they belong.

Not here: whether the publication exists (sources/postgres).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import (
    OptionReader,
    parse_options,
    qualified_names,
    refused,
    render_options,
    string,
)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "PUBLICATION": string,
    "TEXT COLUMNS": qualified_names,
    "EXCLUDE COLUMNS": qualified_names,
    "DETAILS": refused("CREATE SOURCE specifies DETAILS option"),
}
_RENDERED: Final = ("PUBLICATION", "TEXT COLUMNS", "EXCLUDE COLUMNS")


@dataclass(frozen=True, slots=True)
class Postgres:
    """A publication behind a connection; columns are named `[[database.]schema.]table.column`."""

    connection: Name
    publication: str | None = None
    text_columns: tuple[Name, ...] = ()
    exclude_columns: tuple[Name, ...] = ()

    def render(self) -> str:
        options = render_options(self, _RENDERED)
        return f"POSTGRES CONNECTION {self.connection}" + (f" ({options})" if options else "")


def parse(cursor: Cursor) -> Postgres:
    """What comes after POSTGRES."""
    cursor.expect("CONNECTION")
    connection = cursor.name()
    options = parse_options(cursor, _OPTIONS) if cursor.at_symbol("(") else {}
    return Postgres(connection, **options)
