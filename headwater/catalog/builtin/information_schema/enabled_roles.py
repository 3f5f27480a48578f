"""information_schema.enabled_roles: roles this session has."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import memberships_of


def _rows(facts: SystemFacts) -> Columns:
    role = facts.state.role_named(facts.user)
    ids = frozenset[str]() if role is None else memberships_of(facts.state, role.id)
    return {"role_name": sorted({facts.user, *(facts.state.roles[id_].name for id_ in ids)})}


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
