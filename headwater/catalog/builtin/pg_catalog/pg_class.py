"""pg_catalog.pg_class: relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.objects import Listed, relations_of, session_objects, system_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns

_KINDS: Final = {"view": "v", "materialized-view": "m", "index": "i"}


def _rows(objects: Sequence[Listed]) -> Columns:
    relations = relations_of(objects)
    kinds = [_KINDS.get(o.type, "r") for o in relations]
    return {
        "oid": [o.oid for o in relations],
        "relname": [o.name for o in relations],
        "relnamespace": [o.schema.oid for o in relations],
        "reltype": 0,
        "reloftype": 0,
        "relowner": [o.owner_oid for o in relations],
        "relacl": [o.acl for o in relations],
        "relam": 0,
        "relfilenode": 0,
        "reltablespace": 0,
        "relpages": 0,
        "reltuples": -1.0,
        "relallvisible": 0,
        "reltoastrelid": 0,
        "relhasindex": False,
        "relisshared": False,
        "relpersistence": ["t" if o.temporary else "p" for o in relations],
        "relkind": kinds,
        "relnatts": [len(o.relation.columns) for o in relations],
        "relchecks": 0,
        "relhasrules": [kind == "v" for kind in kinds],
        "relhastriggers": False,
        "relhassubclass": False,
        "relrowsecurity": False,
        "relforcerowsecurity": False,
        "relispopulated": True,
        "relreplident": "d",
        "relispartition": False,
        "relrewrite": 0,
        "relfrozenxid": 0,
        "relminmxid": 0,
    }


RELATION = BuiltinTable(
    number=401,
    schema="pg_catalog",
    name="pg_class",
    description="Relations.",
    columns=shape(
        """
        oid oid
        relname name
        relnamespace oid
        reltype oid
        reloftype oid
        relowner oid
        relam oid
        relfilenode oid
        reltablespace oid
        relpages int4
        reltuples float4
        relallvisible int4
        reltoastrelid oid
        relhasindex bool
        relisshared bool
        relpersistence "char"
        relkind "char"
        relnatts int2
        relchecks int2
        relhasrules bool
        relhastriggers bool
        relhassubclass bool
        relrowsecurity bool
        relforcerowsecurity bool
        relispopulated bool
        relreplident "char"
        relispartition bool
        relrewrite oid
        relfrozenxid uint4
        relminmxid uint4
        relacl mz_aclitem[]?
        reloptions text[]?
        relpartbound text?
        """
    ),
    rows=lambda facts: _rows(session_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
    scope="database",
    postgres_oid=1259,
)
