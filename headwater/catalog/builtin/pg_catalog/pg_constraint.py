"""pg_catalog.pg_constraint: primary keys of tables."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.keys import keys_of
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    keys = keys_of(session_objects(facts))
    return {
        "oid": [k.oid for k in keys],
        "conname": [k.name for k in keys],
        "connamespace": [k.table.schema.oid for k in keys],
        "contype": "p",
        "condeferrable": False,
        "condeferred": False,
        "convalidated": True,
        "conrelid": [k.table.oid for k in keys],
        "contypid": 0,
        "conindid": [k.oid for k in keys],
        "conparentid": 0,
        "confrelid": 0,
        "confupdtype": " ",
        "confdeltype": " ",
        "confmatchtype": " ",
        "conislocal": True,
        "coninhcount": 0,
        "connoinherit": True,
        "conkey": [list(k.positions) for k in keys],
    }


RELATION = BuiltinTable(
    number=407,
    schema="pg_catalog",
    name="pg_constraint",
    description="Primary keys of tables.",
    columns=shape(
        """
        oid oid
        conname name
        connamespace oid
        contype "char"
        condeferrable bool
        condeferred bool
        convalidated bool
        conrelid oid
        contypid oid
        conindid oid
        conparentid oid
        confrelid oid
        confupdtype "char"
        confdeltype "char"
        confmatchtype "char"
        conislocal bool
        coninhcount int4
        connoinherit bool
        conkey int2[]?
        confkey int2[]?
        conpfeqop oid[]?
        conppeqop oid[]?
        conffeqop oid[]?
        confdelsetcols int2[]?
        conexclop oid[]?
        conbin text?
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2606,
)
