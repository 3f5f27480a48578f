"""pg_catalog.pg_namespace: schemas."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID, acl_of, session_schemas
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import SYSTEM_SCHEMAS


def _rows(facts: SystemFacts) -> Columns:
    roles = facts.state.roles
    schemas = [*SYSTEM_SCHEMAS.values(), *session_schemas(facts)]
    owners = [roles.get(s.owner_id) for s in schemas]
    return {
        "oid": [s.oid for s in schemas],
        "nspname": [s.name for s in schemas],
        "nspacl": [acl_of(facts.state, ("schema", s.id)) if s.database_id else None for s in schemas],
        "nspowner": [SYSTEM_ROLE_OID if owner is None else owner.oid for owner in owners],
    }


RELATION = BuiltinTable(
    number=404,
    schema="pg_catalog",
    name="pg_namespace",
    description="Schemas.",
    columns=shape(
        """
        oid oid
        nspname name
        nspowner oid
        nspacl mz_aclitem[]?
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2615,
)
