"""mz_internal.mz_object_transitive_dependencies: which object was made from which, at any distance."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed


def _rows(facts: SystemFacts) -> Columns:
    items = facts.state.items
    closures: dict[str, dict[str, None]] = {}

    def closure(item_id: str) -> dict[str, None]:
        """In order of discovery; a stack of our own, because chains may be long."""
        reached: dict[str, None] = {}
        waiting = list(items[item_id].dependencies)
        while waiting:
            current = waiting.pop()
            if current in reached:
                continue
            reached[current] = None
            if current in closures:
                reached.update(closures[current])
            elif current in items:
                waiting.extend(items[current].dependencies)
        return reached

    for item_id in items:
        closures[item_id] = closure(item_id)
    links = [(item_id, reached) for item_id, all_reached in closures.items() for reached in all_reached]
    return transposed(("object_id", "referenced_object_id"), links)


RELATION = BuiltinTable(
    number=228,
    schema="mz_internal",
    name="mz_object_transitive_dependencies",
    description="Which object was made from which, at any distance.",
    columns=shape(
        """
        object_id text
        referenced_object_id text
        """
    ),
    rows=_rows,
)
