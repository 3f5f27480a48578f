"""pg_catalog.pg_tablespace: tablespaces."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {"oid": [1663, 1664], "spcname": ["pg_default", "pg_global"], "spcowner": SYSTEM_ROLE_OID}


RELATION = BuiltinTable(
    number=425,
    schema="pg_catalog",
    name="pg_tablespace",
    description="Tablespaces.",
    columns=shape(
        """
        oid oid
        spcname name
        spcowner oid
        spcacl mz_aclitem[]?
        spcoptions text[]?
        """
    ),
    fixed=_fixed,
    postgres_oid=1213,
)
