"""mz_internal.mz_role_holdings: whose grants a role has."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import holder_ids
from headwater.catalog.state import PUBLIC_ID


def _rows(facts: SystemFacts) -> Columns:
    rows = [(0, "public", PUBLIC_ID)]
    for role in facts.state.roles.values():
        ids = [*sorted(holder_ids(facts.state, role.id)), *(["*"] if role.superuser else [])]
        rows += [(role.oid, role.name, id_) for id_ in ids]
    return {
        "role_oid": [oid for oid, _, _ in rows],
        "role_name": [name for _, name, _ in rows],
        "holder_id": [id_ for _, _, id_ in rows],
    }


RELATION = BuiltinTable(
    number=259,
    schema="mz_internal",
    name="mz_role_holdings",
    description="Whose grants a role has: its own, those of its roles, everybody's; * of superusers.",
    columns=shape(
        """
        role_oid oid
        role_name text
        holder_id text
        """
    ),
    rows=_rows,
)
