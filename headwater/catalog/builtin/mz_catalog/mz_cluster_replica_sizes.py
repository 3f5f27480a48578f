"""mz_catalog.mz_cluster_replica_sizes: the sizes clusters have."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=123,
    schema="mz_catalog",
    name="mz_cluster_replica_sizes",
    description="The sizes clusters have.",
    columns=shape(
        """
        size text
        processes uint8
        workers uint8
        cpu_nano_cores uint8
        memory_bytes uint8
        disk_bytes uint8?
        credits_per_hour numeric
        """
    ),
)
