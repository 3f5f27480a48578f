"""POSTGRES in SQL: the tables of a publication, followed by logical replication.

    POSTGRES CONNECTION connection (PUBLICATION [=] 'p' [, TEXT COLUMNS (..)] [, EXCLUDE COLUMNS (..)])

Columns are named `[[database.]schema.]table.column`.
"""

from __future__ import annotations

from typing import Final

from headwater.sql.options import refused, string
from headwater.sql.upstream import COLUMN_OPTIONS, Grammar

PUBLICATION: Final = "PUBLICATION"

GRAMMAR: Final = Grammar(
    "POSTGRES",
    {
        PUBLICATION: string,
        **COLUMN_OPTIONS,
        "DETAILS": refused("CREATE SOURCE specifies DETAILS option"),
    },
    connected=True,
    unwritten=("DETAILS",),
)
