"""pg_catalog.pg_extension: the one that what PostgreSQL does not have belongs to.

Its members (pg_depend.py) are no objects of users, which is what pg_dump asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.oids import EXTENSION_OID, PG_CATALOG_OID, PG_EXTENSION_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "oid": [EXTENSION_OID],
        "extname": "headwater",
        "extowner": SYSTEM_ROLE_OID,
        "extnamespace": PG_CATALOG_OID,
        "extrelocatable": False,
        "extversion": "1.0",
    }


RELATION = BuiltinTable(
    number=440,
    schema="pg_catalog",
    name="pg_extension",
    description="Installed extensions.",
    columns=shape(
        """
        oid oid
        extname name
        extowner oid
        extnamespace oid
        extrelocatable bool
        extversion text
        extconfig oid[]?
        extcondition text[]?
        """
    ),
    fixed=_fixed,
    postgres_oid=PG_EXTENSION_OID,
)
