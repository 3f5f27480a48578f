"""mz_catalog.mz_role_members: which role is a member of which."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

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
)
