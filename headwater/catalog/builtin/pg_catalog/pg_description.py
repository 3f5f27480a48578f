"""pg_catalog.pg_description: comments on relations, columns and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import session_objects, session_schemas
from headwater.catalog.builtin.oids import PG_CLASS_OID, PG_NAMESPACE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    oids = {o.id: o.oid for o in session_objects(facts)}
    schemas = {schema.id: schema for schema in session_schemas(facts)}
    rows = []
    for comment in state.comments.values():
        if comment.object_kind == "schema" and comment.object_id in schemas:
            rows.append((schemas[comment.object_id].oid, PG_NAMESPACE_OID, 0, comment.text))
        elif comment.object_kind not in _OTHERS and comment.object_id in oids:
            rows.append((oids[comment.object_id], PG_CLASS_OID, comment.sub_id or 0, comment.text))
    return transposed(("objoid", "classoid", "objsubid", "description"), rows)


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "objoid": [b.oid for b in builtins],
        "classoid": PG_CLASS_OID,
        "objsubid": 0,
        "description": [b.description for b in builtins],
    }


# Ids are unique among items; these kinds have counters of their own.
_OTHERS: Final = frozenset({"schema", "database", "cluster", "role"})


RELATION = BuiltinTable(
    number=415,
    schema="pg_catalog",
    name="pg_description",
    description="Comments on relations, columns and schemas.",
    columns=shape(
        """
        objoid oid
        classoid oid
        objsubid int4
        description text
        """
    ),
    rows=_rows,
    fixed=_fixed,
    scope="database",
    postgres_oid=2609,
)
