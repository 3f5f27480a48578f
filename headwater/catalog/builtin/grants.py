"""What roles may do with relations, as the SQL standard lists it: an owner, what its kind allows."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.table import Columns

_PRIVILEGES: Final = {
    "table": ("INSERT", "SELECT", "UPDATE", "DELETE"),
    "source": ("SELECT",),
    "view": ("SELECT",),
    "materialized-view": ("SELECT",),
}


def grant_rows(facts: SystemFacts) -> Columns:
    """One row for each relation and privilege."""
    granted = [(o, privilege) for o in session_objects(facts) for privilege in _PRIVILEGES.get(o.type, ())]
    return {
        "grantor": [o.owner_name for o, _ in granted],
        "grantee": [o.owner_name for o, _ in granted],
        "table_schema": [o.schema.name for o, _ in granted],
        "table_name": [o.name for o, _ in granted],
        "privilege_type": [privilege for _, privilege in granted],
        "is_grantable": "YES",
        "with_hierarchy": ["YES" if privilege == "SELECT" else "NO" for _, privilege in granted],
    }
