"""mz_internal.mz_webhook_sources: where webhook sources listen."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=207,
    schema="mz_internal",
    name="mz_webhook_sources",
    description="Where webhook sources listen.",
    columns=shape(
        """
        id text
        name text
        url text
        """
    ),
)
