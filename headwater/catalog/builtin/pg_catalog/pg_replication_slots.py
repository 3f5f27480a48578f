"""pg_catalog.pg_replication_slots: replication slots."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=459,
    schema="pg_catalog",
    name="pg_replication_slots",
    description="Replication slots.",
    columns=shape(
        """
        slot_name name?
        plugin name?
        slot_type text?
        datoid oid?
        database name?
        temporary bool?
        active bool?
        active_pid int4?
        xmin uint4?
        catalog_xmin uint4?
        restart_lsn text?
        confirmed_flush_lsn text?
        wal_status text?
        safe_wal_size int8?
        two_phase bool?
        """
    ),
)
