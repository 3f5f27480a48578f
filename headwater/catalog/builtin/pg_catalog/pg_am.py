"""pg_catalog.pg_am: access methods."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {"oid": [2, 403], "amname": ["heap", "btree"], "amhandler": 0, "amtype": ["t", "i"]}


RELATION = BuiltinTable(
    number=422,
    schema="pg_catalog",
    name="pg_am",
    description="Access methods.",
    columns=shape(
        """
        oid oid
        amname name
        amhandler regproc
        amtype "char"
        """
    ),
    fixed=_fixed,
    postgres_oid=2601,
)
