"""mz_catalog.mz_list_types: the named list types."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=133,
    schema="mz_catalog",
    name="mz_list_types",
    description="The named list types.",
    columns=shape(
        """
        id text
        element_id text
        element_modifiers uint8 list?
        """
    ),
)
