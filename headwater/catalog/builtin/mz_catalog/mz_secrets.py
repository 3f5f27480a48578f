"""mz_catalog.mz_secrets: the secrets, without what they hide."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=114,
    schema="mz_catalog",
    name="mz_secrets",
    description="The secrets, without what they hide.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        owner_id text
        privileges mz_aclitem[]
        """
    ),
)
