"""mz_internal.mz_object_dependencies: which object was made from which."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed


def _rows(facts: SystemFacts) -> Columns:
    links = [
        (item.id, dependency)
        for item in facts.state.items.values()
        for dependency in dict.fromkeys(item.dependencies)
    ]
    return transposed(("object_id", "referenced_object_id"), links)


RELATION = BuiltinTable(
    number=227,
    schema="mz_internal",
    name="mz_object_dependencies",
    description="Which object was made from which.",
    columns=shape(
        """
        object_id text
        referenced_object_id text
        """
    ),
    rows=_rows,
)
