"""pg_catalog.pg_attribute: columns of relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.objects import Listed, relations_of, session_objects, system_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES_BY_OID, type_facts
from headwater.core.types import FACTS


def _rows(objects: Sequence[Listed]) -> Columns:
    columns = [
        (o.oid, number, column)
        for o in relations_of(objects)
        for number, column in enumerate(o.relation.columns, start=1)
    ]
    facts = [type_facts(column.type) for _, _, column in columns]
    types = [TYPES_BY_OID.get(f.oid, _OPAQUE) for f in facts]
    return {
        "attrelid": [oid for oid, _, _ in columns],
        "attname": [column.name for _, _, column in columns],
        "atttypid": [f.oid for f in facts],
        "attstattarget": -1,
        "attlen": [t.size for t in types],
        "attnum": [number for _, number, _ in columns],
        "attndims": [int(column.type.kind == "array") for _, _, column in columns],
        "attcacheoff": -1,
        "atttypmod": [f.modifier for f in facts],
        "attbyval": [t.by_value for t in types],
        "attalign": [t.alignment for t in types],
        "attstorage": [t.storage for t in types],
        "attcompression": "",
        "attnotnull": [not column.nullable for _, _, column in columns],
        "atthasdef": [column.default is not None for _, _, column in columns],
        "atthasmissing": False,
        "attidentity": "",
        "attgenerated": "",
        "attisdropped": False,
        "attislocal": True,
        "attinhcount": 0,
        "attcollation": [t.collation_oid for t in types],
    }


# Types of lists and maps are not all in the list of types.
_OPAQUE: Final = TYPES_BY_OID[FACTS["list"].oid]


RELATION = BuiltinTable(
    number=402,
    schema="pg_catalog",
    name="pg_attribute",
    description="Columns of relations.",
    columns=shape(
        """
        attrelid oid
        attname name
        atttypid oid
        attstattarget int4
        attlen int2
        attnum int2
        attndims int4
        attcacheoff int4
        atttypmod int4
        attbyval bool
        attalign "char"
        attstorage "char"
        attcompression "char"
        attnotnull bool
        atthasdef bool
        atthasmissing bool
        attidentity "char"
        attgenerated "char"
        attisdropped bool
        attislocal bool
        attinhcount int4
        attcollation oid
        attacl mz_aclitem[]?
        attoptions text[]?
        attfdwoptions text[]?
        attmissingval text[]?
        """
    ),
    rows=lambda facts: _rows(session_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
    scope="database",
    postgres_oid=1249,
)
