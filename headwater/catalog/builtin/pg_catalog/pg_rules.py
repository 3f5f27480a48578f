"""pg_catalog.pg_rules: rules, with the names around them."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=460,
    schema="pg_catalog",
    name="pg_rules",
    description="Rules, with the names around them.",
    columns=shape(
        """
        schemaname name?
        tablename name?
        rulename name?
        definition text?
        """
    ),
)
