"""pg_catalog.pg_group: roles that have members."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=412,
    schema="pg_catalog",
    name="pg_group",
    description="Roles that have members.",
    columns=shape(
        """
        groname name?
        grosysid oid?
        grolist oid[]?
        """
    ),
)
