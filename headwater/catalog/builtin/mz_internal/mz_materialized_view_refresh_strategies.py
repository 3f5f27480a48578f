"""mz_internal.mz_materialized_view_refresh_strategies: when materialized views are brought up to date."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=234,
    schema="mz_internal",
    name="mz_materialized_view_refresh_strategies",
    description="When materialized views are brought up to date.",
    columns=shape(
        """
        materialized_view_id text
        type text
        interval interval?
        aligned_to timestamptz?
        at timestamptz?
        """
    ),
)
