"""information_schema.enabled_roles: roles this session has."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    return {"role_name": [facts.user]}


RELATION = BuiltinTable(
    number=610,
    schema="information_schema",
    name="enabled_roles",
    description="Roles this session has.",
    columns=shape(
        """
        role_name text?
        """
    ),
    rows=_rows,
    scope="moment",
)
