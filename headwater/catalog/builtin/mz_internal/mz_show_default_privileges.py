"""mz_internal.mz_show_default_privileges: what SHOW DEFAULT PRIVILEGES lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import role_name
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    rows = [(g, name) for g in state.default_grants.values() for name in sorted(g.privileges)]
    return {
        "object_owner": [role_name(state, g.role_id) for g, _ in rows],
        "database": [state.databases[g.database_id].name if g.database_id else None for g, _ in rows],
        "schema": [state.schemas[g.schema_id].name if g.schema_id else None for g, _ in rows],
        "object_type": [g.object_kind for g, _ in rows],
        "grantee": [role_name(state, g.grantee_id) for g, _ in rows],
        "privilege_type": [name for _, name in rows],
    }


RELATION = BuiltinTable(
    number=257,
    schema="mz_internal",
    name="mz_show_default_privileges",
    description="What SHOW DEFAULT PRIVILEGES lists.",
    columns=shape(
        """
        object_owner text
        database text?
        schema text?
        object_type text
        grantee text
        privilege_type text
        """
    ),
    rows=_rows,
)
