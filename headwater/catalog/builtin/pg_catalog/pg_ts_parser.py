"""pg_catalog.pg_ts_parser: text search parsers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=468,
    schema="pg_catalog",
    name="pg_ts_parser",
    description="Text search parsers.",
    columns=shape(
        """
        oid oid
        prsname name
        prsnamespace oid
        prsstart regproc
        prstoken regproc
        prsend regproc
        prsheadline regproc
        prslextype regproc
        """
    ),
    postgres_oid=3601,
)
