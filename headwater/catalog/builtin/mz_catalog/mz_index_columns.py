"""mz_catalog.mz_index_columns: the columns and expressions of indexes."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=112,
    schema="mz_catalog",
    name="mz_index_columns",
    description="The columns and expressions of indexes.",
    columns=shape(
        """
        index_id text
        index_position uint8
        on_position uint8?
        on_expression text?
        nullable bool
        """
    ),
)
