"""pg_catalog.pg_default_acl: privileges that new objects will have."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=437,
    schema="pg_catalog",
    name="pg_default_acl",
    description="Privileges that new objects will have.",
    columns=shape(
        """
        oid oid
        defaclrole oid
        defaclnamespace oid
        defaclobjtype "char"
        defaclacl mz_aclitem[]
        """
    ),
    postgres_oid=826,
)
