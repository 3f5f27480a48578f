"""information_schema.referential_constraints: foreign keys."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=614,
    schema="information_schema",
    name="referential_constraints",
    description="Foreign keys.",
    columns=shape(
        """
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        unique_constraint_catalog text?
        unique_constraint_schema text?
        unique_constraint_name text?
        match_option text?
        update_rule text?
        delete_rule text?
        """
    ),
)
