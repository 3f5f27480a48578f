"""information_schema.character_sets: character sets."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    return {
        "character_set_name": ["UTF8"],
        "character_repertoire": "UCS",
        "form_of_use": "UTF8",
        "default_collate_schema": "pg_catalog",
        "default_collate_name": "default",
    }


RELATION = BuiltinTable(
    number=608,
    schema="information_schema",
    name="character_sets",
    description="Character sets.",
    columns=shape(
        """
        character_set_catalog text?
        character_set_schema text?
        character_set_name text?
        character_repertoire text?
        form_of_use text?
        default_collate_catalog text?
        default_collate_schema text?
        default_collate_name text?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=("default_collate_catalog",),
)
