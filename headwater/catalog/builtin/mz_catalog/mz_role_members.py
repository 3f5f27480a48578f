"""mz_catalog.mz_role_members: which role is a member of which."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    members = facts.state.memberships
    return {
        "role_id": [role_id for role_id, _ in members],
        "member": [member_id for _, member_id in members],
        "grantor": list(members.values()),
    }


RELATION = BuiltinTable(
    number=125,
    schema="mz_catalog",
    name="mz_role_members",
    description="Which role is a member of which.",
    columns=shape(
        """
        role_id text
        member text
        grantor text
        """
    ),
    rows=_rows,
)
