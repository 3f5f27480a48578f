"""pg_catalog.pg_shdescription: comments on databases and roles."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.oids import PG_AUTHID_OID, PG_DATABASE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    rows = []
    for comment in state.comments.values():
        if comment.object_kind == "database":
            rows.append((state.databases[comment.object_id].oid, PG_DATABASE_OID, comment.text))
        elif comment.object_kind == "role":
            rows.append((state.roles[comment.object_id].oid, PG_AUTHID_OID, comment.text))
    return transposed(("objoid", "classoid", "description"), rows)


RELATION = BuiltinTable(
    number=416,
    schema="pg_catalog",
    name="pg_shdescription",
    description="Comments on databases and roles.",
    columns=shape(
        """
        objoid oid
        classoid oid
        description text
        """
    ),
    rows=_rows,
    postgres_oid=2396,
)
