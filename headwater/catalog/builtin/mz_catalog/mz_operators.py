"""mz_catalog.mz_operators: the operators."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import type_id


def _rows(facts: SystemFacts) -> Columns:
    operators = facts.operators()
    return {
        "oid": [o.oid for o in operators],
        "name": [o.name for o in operators],
        "argument_type_ids": [[type_id(oid) for oid in o.argument_type_oids] for o in operators],
        "return_type_id": [type_id(o.return_type_oid) for o in operators],
    }


RELATION = BuiltinTable(
    number=136,
    schema="mz_catalog",
    name="mz_operators",
    description="The operators.",
    columns=shape(
        """
        oid oid
        name text
        argument_type_ids text[]
        return_type_id text?
        """
    ),
    rows=_rows,
    scope="moment",
)
