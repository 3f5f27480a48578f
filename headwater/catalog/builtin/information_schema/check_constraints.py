"""information_schema.check_constraints: check constraints."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=615,
    schema="information_schema",
    name="check_constraints",
    description="Check constraints.",
    columns=shape(
        """
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        check_clause text?
        """
    ),
)
