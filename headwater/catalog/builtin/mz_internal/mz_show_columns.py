"""mz_internal.mz_show_columns: what SHOW COLUMNS lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import comment_of, relations_of, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import type_facts
from headwater.catalog.builtin.values import transposed

_NAMES: Final = ("id", "name", "nullable", "type", "position", "comment")


def _rows(facts: SystemFacts) -> Columns:
    return transposed(
        _NAMES,
        [
            (
                o.id,
                column.name,
                column.nullable,
                type_facts(column.type).name,
                position,
                comment_of(facts, o, position),
            )
            for o in relations_of(user_objects(facts))
            for position, column in enumerate(o.relation.columns, start=1)
        ],
    )


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return transposed(
        _NAMES,
        [
            (b.id, column.name, column.nullable, type_facts(column.type).name, position, "")
            for b in builtins
            for position, column in enumerate(b.columns, start=1)
        ],
    )


RELATION = BuiltinTable(
    number=242,
    schema="mz_internal",
    name="mz_show_columns",
    description="What SHOW COLUMNS lists.",
    columns=shape(
        """
        id text
        name text
        nullable bool
        type text
        position uint8
        comment text
        """
    ),
    rows=_rows,
    fixed=_fixed,
)
