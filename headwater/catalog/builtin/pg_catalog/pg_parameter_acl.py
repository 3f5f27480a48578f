"""pg_catalog.pg_parameter_acl: privileges on variables."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=474,
    schema="pg_catalog",
    name="pg_parameter_acl",
    description="Privileges on variables.",
    columns=shape(
        """
        oid oid
        parname text
        paracl mz_aclitem[]
        """
    ),
    postgres_oid=6243,
)
