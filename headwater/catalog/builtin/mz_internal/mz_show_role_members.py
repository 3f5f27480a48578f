"""mz_internal.mz_show_role_members: what SHOW ROLE MEMBERSHIP lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import role_name
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    return {
        "role": [role_name(state, role_id) for role_id, _ in state.memberships],
        "member": [role_name(state, member_id) for _, member_id in state.memberships],
        "grantor": [role_name(state, id_) for id_ in state.memberships.values()],
    }


RELATION = BuiltinTable(
    number=256,
    schema="mz_internal",
    name="mz_show_role_members",
    description="What SHOW ROLE MEMBERSHIP lists.",
    columns=shape(
        """
        role text
        member text
        grantor text
        """
    ),
    rows=_rows,
)
