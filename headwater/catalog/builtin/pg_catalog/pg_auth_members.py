"""pg_catalog.pg_auth_members: which role is a member of which."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    members, roles = facts.state.memberships, facts.state.roles
    return {
        "roleid": [roles[role_id].oid for role_id, _ in members],
        "member": [roles[member_id].oid for _, member_id in members],
        "grantor": [roles[by].oid if by in roles else 0 for by in members.values()],
        "admin_option": False,
    }


RELATION = BuiltinTable(
    number=413,
    schema="pg_catalog",
    name="pg_auth_members",
    description="Which role is a member of which.",
    columns=shape(
        """
        roleid oid
        member oid
        grantor oid
        admin_option bool
        """
    ),
    rows=_rows,
    postgres_oid=1261,
)
