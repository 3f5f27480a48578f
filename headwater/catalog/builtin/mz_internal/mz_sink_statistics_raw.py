"""mz_internal.mz_sink_statistics_raw: the counters of sinks as they are kept."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=216,
    schema="mz_internal",
    name="mz_sink_statistics_raw",
    description="The counters of sinks as they are kept.",
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
