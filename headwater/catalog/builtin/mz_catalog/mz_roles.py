"""mz_catalog.mz_roles: the roles."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    roles = facts.state.roles.values()
    return {
        "id": [r.id for r in roles],
        "oid": [r.oid for r in roles],
        "name": [r.name for r in roles],
        "inherit": [r.inherit for r in roles],
        "rolcanlogin": [r.login for r in roles],
        "rolsuper": [r.superuser for r in roles],
    }


RELATION = BuiltinTable(
    number=124,
    schema="mz_catalog",
    name="mz_roles",
    description="The roles.",
    columns=shape(
        """
        id text
        oid oid
        name text
        inherit bool
        rolcanlogin bool?
        rolsuper bool?
        """
    ),
    rows=_rows,
)
