"""mz_internal.mz_show_all_objects: what SHOW OBJECTS lists."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import comment_of, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    objects = user_objects(facts)
    return {
        "schema_id": [o.schema.id for o in objects],
        "name": [o.name for o in objects],
        "type": [o.type for o in objects],
        "comment": [comment_of(facts, o) for o in objects],
    }


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "schema_id": [b.schema_id for b in builtins],
        "name": [b.name for b in builtins],
        "type": "table",
        "comment": [b.description for b in builtins],
    }


RELATION = BuiltinTable(
    number=250,
    schema="mz_internal",
    name="mz_show_all_objects",
    description="What SHOW OBJECTS lists.",
    columns=shape(
        """
        schema_id text
        name text
        type text
        comment text
        """
    ),
    rows=_rows,
    fixed=_fixed,
)
