"""mz_internal.mz_show_types: what SHOW TYPES lists."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES
from headwater.catalog.state import SYSTEM_SCHEMA_IDS


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "schema_id": [SYSTEM_SCHEMA_IDS[t.schema_name] for t in TYPES],
        "name": [t.name for t in TYPES],
        "comment": "",
    }


RELATION = BuiltinTable(
    number=248,
    schema="mz_internal",
    name="mz_show_types",
    description="What SHOW TYPES lists.",
    columns=shape(
        """
        schema_id text
        name text
        comment text
        """
    ),
    fixed=_fixed,
)
