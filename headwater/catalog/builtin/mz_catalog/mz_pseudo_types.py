"""mz_catalog.mz_pseudo_types: the types that no column can have."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {"id": [t.id for t in TYPES if t.pseudo]}


RELATION = BuiltinTable(
    number=132,
    schema="mz_catalog",
    name="mz_pseudo_types",
    description="The types that no column can have.",
    columns=shape(
        """
        id text
        """
    ),
    fixed=_fixed,
)
