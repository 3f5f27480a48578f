"""mz_catalog.mz_columns: the columns of all relations; a source has those of its progress."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import Listed, relations_of, system_objects, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import type_facts


def _rows(objects: Sequence[Listed]) -> Columns:
    columns = [
        (o.id, position, column)
        for o in relations_of(objects)
        for position, column in enumerate(o.relation.columns, start=1)
    ]
    types = [type_facts(column.type) for _, _, column in columns]
    return {
        "id": [object_id for object_id, _, _ in columns],
        "name": [column.name for _, _, column in columns],
        "position": [position for _, position, _ in columns],
        "nullable": [column.nullable for _, _, column in columns],
        "type": [t.name for t in types],
        "default": [column.default for _, _, column in columns],
        "type_oid": [t.oid for t in types],
        "type_mod": [t.modifier for t in types],
    }


RELATION = BuiltinTable(
    number=105,
    schema="mz_catalog",
    name="mz_columns",
    description="The columns of all relations; a source has those of its progress.",
    columns=shape(
        """
        id text
        name text
        position uint8
        nullable bool
        type text
        default text?
        type_oid oid
        type_mod int4
        """
    ),
    rows=lambda facts: _rows(user_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
)
