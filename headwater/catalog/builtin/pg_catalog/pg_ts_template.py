"""pg_catalog.pg_ts_template: text search templates."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=469,
    schema="pg_catalog",
    name="pg_ts_template",
    description="Text search templates.",
    columns=shape(
        """
        oid oid
        tmplname name
        tmplnamespace oid
        tmplinit regproc
        tmpllexize regproc
        """
    ),
    postgres_oid=3764,
)
