"""pg_catalog.pg_collation: collations."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.oids import PG_CATALOG_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "oid": [100, 950, 951],
        "collname": ["default", "C", "POSIX"],
        "collnamespace": PG_CATALOG_OID,
        "collowner": SYSTEM_ROLE_OID,
        "collprovider": ["d", "c", "c"],
        "collisdeterministic": True,
        "collencoding": -1,
        "collcollate": [None, "C", "POSIX"],
        "collctype": [None, "C", "POSIX"],
    }


RELATION = BuiltinTable(
    number=423,
    schema="pg_catalog",
    name="pg_collation",
    description="Collations.",
    columns=shape(
        """
        oid oid
        collname name
        collnamespace oid
        collowner oid
        collprovider "char"
        collisdeterministic bool
        collencoding int4
        collcollate text?
        collctype text?
        colliculocale text?
        collversion text?
        """
    ),
    fixed=_fixed,
    postgres_oid=3456,
)
