"""mz_catalog.mz_role_parameters: what sessions of a role begin with."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    rows = [(role.id, *pair) for role in facts.state.roles.values() for pair in sorted(role.settings.items())]
    return {
        "role_id": [role_id for role_id, _, _ in rows],
        "parameter_name": [name for _, name, _ in rows],
        "parameter_value": [value for _, _, value in rows],
    }


RELATION = BuiltinTable(
    number=126,
    schema="mz_catalog",
    name="mz_role_parameters",
    description="Settings that a role begins its sessions with.",
    columns=shape(
        """
        role_id text
        parameter_name text
        parameter_value text
        """
    ),
    rows=_rows,
)
