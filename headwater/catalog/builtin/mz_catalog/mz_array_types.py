"""mz_catalog.mz_array_types: the array types and what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES, type_id


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    arrays = [t for t in TYPES if t.element_oid]
    return {"id": [t.id for t in arrays], "element_id": [type_id(t.element_oid) for t in arrays]}


RELATION = BuiltinTable(
    number=131,
    schema="mz_catalog",
    name="mz_array_types",
    description="The array types and what is in them.",
    columns=shape(
        """
        id text
        element_id text
        """
    ),
    fixed=_fixed,
)
