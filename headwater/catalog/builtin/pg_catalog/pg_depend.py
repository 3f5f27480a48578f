"""pg_catalog.pg_depend: which view reads which relation, and what of the system PostgreSQL does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, session_objects
from headwater.catalog.builtin.oids import (
    EXTENSION_OID,
    PG_CLASS_OID,
    PG_EXTENSION_OID,
    PG_NAMESPACE_OID,
    PG_REWRITE_OID,
    PG_TYPE_OID,
    rewrite_oid,
)
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES
from headwater.catalog.state import SYSTEM_SCHEMAS


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


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    """What is in schemas that PostgreSQL does not have, as members of an extension."""
    schemas = [schema for schema in SYSTEM_SCHEMAS.values() if schema.name not in _OF_POSTGRES]
    members = [(PG_NAMESPACE_OID, schema.oid) for schema in schemas]
    members += [(PG_CLASS_OID, builtin.oid) for builtin in builtins if builtin.schema not in _OF_POSTGRES]
    members += [(PG_TYPE_OID, type_.oid) for type_ in TYPES if type_.schema_name not in _OF_POSTGRES]
    return {
        "classid": [class_oid for class_oid, _ in members],
        "objid": [oid for _, oid in members],
        "objsubid": 0,
        "refclassid": PG_EXTENSION_OID,
        "refobjid": EXTENSION_OID,
        "refobjsubid": 0,
        "deptype": "e",
    }


_OF_POSTGRES: Final = ("pg_catalog", "information_schema")

RELATION = BuiltinTable(
    number=417,
    schema="pg_catalog",
    name="pg_depend",
    description="Which view reads which relation, and what of the system PostgreSQL does not have.",
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
    fixed=_fixed,
    scope="database",
    postgres_oid=2608,
)
