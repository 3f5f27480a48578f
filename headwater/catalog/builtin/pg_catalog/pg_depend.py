"""pg_catalog.pg_depend: which view reads which relation."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, session_objects
from headwater.catalog.builtin.oids import PG_CLASS_OID, PG_REWRITE_OID, rewrite_oid
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    items = facts.state.items
    links = [
        (rewrite_oid(o.oid), items[dependency].oid)
        for o in objects_of_type(session_objects(facts), "view")
        if o.item is not None
        for dependency in dict.fromkeys(o.item.dependencies)
        if dependency in items
    ]
    return {
        "classid": PG_REWRITE_OID,
        "objid": [rule for rule, _ in links],
        "objsubid": 0,
        "refclassid": PG_CLASS_OID,
        "refobjid": [relation for _, relation in links],
        "refobjsubid": 0,
        "deptype": "n",
    }


RELATION = BuiltinTable(
    number=417,
    schema="pg_catalog",
    name="pg_depend",
    description="Which view reads which relation.",
    columns=shape(
        """
        classid oid
        objid oid
        objsubid int4
        refclassid oid
        refobjid oid
        refobjsubid int4
        deptype "char"
        """
    ),
    rows=_rows,
    scope="database",
    postgres_oid=2608,
)
