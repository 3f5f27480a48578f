"""pg_catalog.pg_range: range types."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.types import RANGES, SqlType, oid_of


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "rngtypid": [oid_of(SqlType(kind)) for kind in RANGES],
        "rngsubtype": [oid_of(bound) for bound in RANGES.values()],
        "rngmultitypid": 0,
        "rngcollation": 0,
        "rngsubopc": 0,
        "rngcanonical": 0,
        "rngsubdiff": 0,
    }


RELATION = BuiltinTable(
    number=458,
    schema="pg_catalog",
    name="pg_range",
    description="Range types.",
    columns=shape(
        """
        rngtypid oid
        rngsubtype oid
        rngmultitypid oid
        rngcollation oid
        rngsubopc oid
        rngcanonical regproc
        rngsubdiff regproc
        """
    ),
    postgres_oid=3541,
    fixed=_fixed,
)
