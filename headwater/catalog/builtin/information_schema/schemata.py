"""information_schema.schemata: schemas."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import SYSTEM_ROLE_NAME, session_schemas
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import SYSTEM_SCHEMAS


def _rows(facts: SystemFacts) -> Columns:
    roles = facts.state.roles
    schemas = [*SYSTEM_SCHEMAS.values(), *session_schemas(facts)]
    owners = [roles.get(s.owner_id) for s in schemas]
    return {
        "schema_name": [s.name for s in schemas],
        "schema_owner": [SYSTEM_ROLE_NAME if owner is None else owner.name for owner in owners],
    }


RELATION = BuiltinTable(
    number=601,
    schema="information_schema",
    name="schemata",
    description="Schemas.",
    columns=shape(
        """
        catalog_name text?
        schema_name text?
        schema_owner text?
        default_character_set_catalog text?
        default_character_set_schema text?
        default_character_set_name text?
        sql_path text?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=("catalog_name",),
)
