"""mz_catalog.mz_role_parameters: settings that a role begins its sessions with."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

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
)
