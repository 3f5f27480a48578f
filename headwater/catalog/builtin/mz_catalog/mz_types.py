"""mz_catalog.mz_types: the types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.objects import system_privileges
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES
from headwater.catalog.state import SYSTEM_ROLE_ID, SYSTEM_SCHEMA_IDS

_CATEGORIES: Final = {
    "A": "array",
    "B": "boolean",
    "D": "date-time",
    "N": "numeric",
    "P": "pseudo",
    "R": "range",
    "S": "string",
    "T": "timespan",
    "U": "user-defined",
    "X": "unknown",
    "Z": "string",
}


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "id": [t.id for t in TYPES],
        "oid": [t.oid for t in TYPES],
        "schema_id": [SYSTEM_SCHEMA_IDS[t.schema_name] for t in TYPES],
        "name": [t.name for t in TYPES],
        "category": [_CATEGORIES[t.category] for t in TYPES],
        "owner_id": SYSTEM_ROLE_ID,
        "privileges": system_privileges("type"),
    }


RELATION = BuiltinTable(
    number=129,
    schema="mz_catalog",
    name="mz_types",
    description="The types.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        category text
        owner_id text
        privileges mz_aclitem[]
        create_sql text?
        redacted_create_sql text?
        """
    ),
    fixed=_fixed,
)
