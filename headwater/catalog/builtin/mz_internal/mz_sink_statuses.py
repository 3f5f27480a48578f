"""mz_internal.mz_sink_statuses: how each sink is doing."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=213,
    schema="mz_internal",
    name="mz_sink_statuses",
    description="How each sink is doing.",
    columns=shape(
        """
        id text
        name text
        type text
        last_status_change_at timestamptz?
        status text
        error text?
        details jsonb?
        """
    ),
)
