"""mz_internal.mz_show_roles: what SHOW ROLES lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.ids import is_user_id


def _rows(facts: SystemFacts) -> Columns:
    roles = [role for role in facts.state.roles.values() if is_user_id(role.id)]
    return {
        "name": [r.name for r in roles],
        "comment": [facts.state.comment_on("role", r.id) or "" for r in roles],
    }


RELATION = BuiltinTable(
    number=253,
    schema="mz_internal",
    name="mz_show_roles",
    description="What SHOW ROLES lists.",
    columns=shape(
        """
        name text
        comment text
        """
    ),
    rows=_rows,
)
