"""pg_catalog.pg_locks: locks that are held or waited for."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=447,
    schema="pg_catalog",
    name="pg_locks",
    description="Locks that are held or waited for.",
    columns=shape(
        """
        locktype text?
        database oid?
        relation oid?
        page int4?
        tuple int2?
        virtualxid text?
        transactionid uint4?
        classid oid?
        objid oid?
        objsubid int2?
        virtualtransaction text?
        pid int4?
        mode text?
        granted bool?
        fastpath bool?
        waitstart timestamptz?
        """
    ),
)
