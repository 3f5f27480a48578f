"""pg_catalog.pg_locks: advisory locks that are held or waited for; there are no others."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    locks = facts.locks()
    databases = {d.name: d.oid for d in facts.state.databases.values()}
    return {
        "locktype": "advisory",
        "database": [databases.get(lock.database) for lock in locks],
        "classid": [lock.key[0] for lock in locks],
        "objid": [lock.key[1] for lock in locks],
        "objsubid": [lock.key[2] for lock in locks],
        "pid": [lock.backend_pid for lock in locks],
        "mode": ["ExclusiveLock" if lock.exclusive else "ShareLock" for lock in locks],
        "granted": [lock.granted for lock in locks],
        "fastpath": False,
    }


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
    rows=_rows,
    scope="moment",
)
