"""mz_catalog.mz_default_privileges: privileges that new objects will have."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=127,
    schema="mz_catalog",
    name="mz_default_privileges",
    description="Privileges that new objects will have.",
    columns=shape(
        """
        role_id text
        database_id text?
        schema_id text?
        object_type text
        grantee text
        privileges mz_aclitem
        """
    ),
)
