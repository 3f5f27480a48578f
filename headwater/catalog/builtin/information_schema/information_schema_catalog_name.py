"""information_schema.information_schema_catalog_name: the database."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    return {"catalog_name": [facts.database]}


RELATION = BuiltinTable(
    number=609,
    schema="information_schema",
    name="information_schema_catalog_name",
    description="The database.",
    columns=shape(
        """
        catalog_name text?
        """
    ),
    rows=_rows,
    scope="database",
)
