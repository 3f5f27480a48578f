"""information_schema.applicable_roles: roles whose privileges this session may use."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

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
)
