"""mz_internal.mz_sink_statistics: what sinks have written."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=215,
    schema="mz_internal",
    name="mz_sink_statistics",
    description="What sinks have written.",
    columns=shape(
        """
        id text
        replica_id text?
        messages_staged uint8
        messages_committed uint8
        bytes_staged uint8
        bytes_committed uint8
        """
    ),
)
