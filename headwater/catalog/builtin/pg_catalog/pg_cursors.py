"""pg_catalog.pg_cursors: open cursors of this session."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    cursors = facts.cursors()
    return {
        "name": [c.name for c in cursors],
        "statement": [c.statement for c in cursors],
        "is_holdable": [c.holdable for c in cursors],
        "is_binary": False,
        "is_scrollable": False,
        "creation_time": [moment(c.created_at_ms) for c in cursors],
    }


RELATION = BuiltinTable(
    number=430,
    schema="pg_catalog",
    name="pg_cursors",
    description="Open cursors of this session.",
    columns=shape(
        """
        name text?
        statement text?
        is_holdable bool?
        is_binary bool?
        is_scrollable bool?
        creation_time timestamptz?
        """
    ),
    rows=_rows,
    scope="moment",
)
