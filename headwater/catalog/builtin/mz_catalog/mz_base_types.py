"""mz_catalog.mz_base_types: the types that are not made of others."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {"id": [t.id for t in TYPES if not t.element_oid and not t.pseudo]}


RELATION = BuiltinTable(
    number=130,
    schema="mz_catalog",
    name="mz_base_types",
    description="The types that are not made of others.",
    columns=shape(
        """
        id text
        """
    ),
    fixed=_fixed,
)
