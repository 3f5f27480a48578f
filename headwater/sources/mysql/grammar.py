"""MYSQL in SQL: the tables of a server, followed by its binary log.

    MYSQL CONNECTION connection [(TEXT COLUMNS (..) [, EXCLUDE COLUMNS (..)])]

IGNORE COLUMNS is another word for EXCLUDE COLUMNS.  Columns are named `[schema.]table.column`.
"""

from __future__ import annotations

from typing import Final

from headwater.sql.options import qualified_names, refused
from headwater.sql.upstream import COLUMN_OPTIONS, Grammar

GRAMMAR: Final = Grammar(
    "MYSQL",
    {
        **COLUMN_OPTIONS,
        "IGNORE COLUMNS": qualified_names,
        "DETAILS": refused("CREATE SOURCE specifies DETAILS option"),
    },
    connected=True,
    unwritten=("IGNORE COLUMNS", "DETAILS"),
)
