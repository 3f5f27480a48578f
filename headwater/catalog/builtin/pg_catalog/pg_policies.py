"""pg_catalog.pg_policies: row security, with the names around it."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=452,
    schema="pg_catalog",
    name="pg_policies",
    description="Row security, with the names around it.",
    columns=shape(
        """
        schemaname name?
        tablename name?
        policyname name?
        permissive text?
        roles name[]?
        cmd text?
        qual text?
        with_check text?
        """
    ),
)
