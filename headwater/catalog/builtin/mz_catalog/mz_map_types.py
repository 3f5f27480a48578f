"""mz_catalog.mz_map_types: the named map types."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=134,
    schema="mz_catalog",
    name="mz_map_types",
    description="The named map types.",
    columns=shape(
        """
        id text
        key_id text
        value_id text
        key_modifiers uint8 list?
        value_modifiers uint8 list?
        """
    ),
)
