"""information_schema.applicable_roles: roles whose privileges this session may use."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import memberships_of


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    role = state.role_named(facts.user)
    mine = frozenset() if role is None else memberships_of(state, role.id)
    members = [(group, member) for group, member in state.memberships if member in mine]
    return {
        "grantee": [state.roles[member].name for _, member in members],
        "role_name": [state.roles[group].name for group, _ in members],
        "is_grantable": "NO",
    }


RELATION = BuiltinTable(
    number=613,
    schema="information_schema",
    name="applicable_roles",
    description="Roles whose privileges this session may use.",
    columns=shape(
        """
        grantee text?
        role_name text?
        is_grantable text?
        """
    ),
    rows=_rows,
    scope="moment",
)
