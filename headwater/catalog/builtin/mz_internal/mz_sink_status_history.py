"""mz_internal.mz_sink_status_history: how sinks were doing."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=214,
    schema="mz_internal",
    name="mz_sink_status_history",
    description="How sinks were doing.",
    columns=shape(
        """
        occurred_at timestamptz
        sink_id text
        status text
        error text?
        details jsonb?
        replica_id text?
        """
    ),
)
