"""mz_internal.mz_show_tables: what SHOW TABLES lists."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import named_source_id
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    tables = [item for item in facts.state.items.values() if item.kind == "table"]
    return {
        "schema_id": [t.schema_id for t in tables],
        "name": [t.name for t in tables],
        "comment": [facts.state.comment_on("table", t.id) or "" for t in tables],
        "source_id": [named_source_id(facts.state, t) for t in tables],
    }


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "schema_id": [b.schema_id for b in builtins],
        "name": [b.name for b in builtins],
        "comment": [b.description for b in builtins],
    }


RELATION = BuiltinTable(
    number=241,
    schema="mz_internal",
    name="mz_show_tables",
    description="What SHOW TABLES lists.",
    columns=shape(
        """
        schema_id text
        name text
        comment text
        source_id text?
        """
    ),
    rows=_rows,
    fixed=_fixed,
)
