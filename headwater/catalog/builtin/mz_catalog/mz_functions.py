"""mz_catalog.mz_functions: the functions."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import type_id
from headwater.catalog.state import SYSTEM_ROLE_ID, SYSTEM_SCHEMA_IDS


def _rows(facts: SystemFacts) -> Columns:
    functions = facts.functions()
    return {
        "id": [f"s{100_000 + f.oid}" for f in functions],
        "oid": [f.oid for f in functions],
        "schema_id": [SYSTEM_SCHEMA_IDS[f.schema] for f in functions],
        "name": [f.name for f in functions],
        "argument_type_ids": [[type_id(oid) for oid in f.argument_type_oids] for f in functions],
        "return_type_id": [type_id(f.return_type_oid) for f in functions],
        "returns_set": [f.returns_set for f in functions],
        "owner_id": SYSTEM_ROLE_ID,
    }


RELATION = BuiltinTable(
    number=135,
    schema="mz_catalog",
    name="mz_functions",
    description="The functions.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        argument_type_ids text[]
        variadic_argument_type_id text?
        return_type_id text?
        returns_set bool
        owner_id text
        """
    ),
    rows=_rows,
    scope="moment",
)
