"""mz_internal.mz_show_schemas: what SHOW SCHEMAS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import SYSTEM_SCHEMAS, TEMPORARY_SCHEMA_ID


def _rows(facts: SystemFacts) -> Columns:
    schemas = [
        *(s for s in SYSTEM_SCHEMAS.values() if s.id != TEMPORARY_SCHEMA_ID),
        *facts.state.schemas.values(),
    ]
    return {
        "database_id": [s.database_id for s in schemas],
        "name": [s.name for s in schemas],
        "comment": [facts.state.comment_on("schema", s.id) or "" for s in schemas],
    }


RELATION = BuiltinTable(
    number=251,
    schema="mz_internal",
    name="mz_show_schemas",
    description="What SHOW SCHEMAS lists.",
    columns=shape(
        """
        database_id text?
        name text
        comment text
        """
    ),
    rows=_rows,
)
