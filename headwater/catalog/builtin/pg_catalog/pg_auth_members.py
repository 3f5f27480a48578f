"""pg_catalog.pg_auth_members: which role is a member of which."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

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
    postgres_oid=1261,
)
