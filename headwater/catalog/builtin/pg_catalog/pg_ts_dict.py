"""pg_catalog.pg_ts_dict: text search dictionaries."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=467,
    schema="pg_catalog",
    name="pg_ts_dict",
    description="Text search dictionaries.",
    columns=shape(
        """
        oid oid
        dictname name
        dictnamespace oid
        dictowner oid
        dicttemplate oid
        dictinitoption text?
        """
    ),
    postgres_oid=3600,
)
