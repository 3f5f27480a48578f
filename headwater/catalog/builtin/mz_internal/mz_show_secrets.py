"""mz_internal.mz_show_secrets: what SHOW SECRETS lists."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=246,
    schema="mz_internal",
    name="mz_show_secrets",
    description="What SHOW SECRETS lists.",
    columns=shape(
        """
        schema_id text
        name text
        comment text
        """
    ),
)
