"""mz_internal.mz_materialization_dependencies: what materializations read."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=226,
    schema="mz_internal",
    name="mz_materialization_dependencies",
    description="What materializations read.",
    columns=shape(
        """
        object_id text
        dependency_id text
        """
    ),
)
