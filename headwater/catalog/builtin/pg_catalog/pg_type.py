"""pg_catalog.pg_type: types."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES
from headwater.catalog.state import SYSTEM_SCHEMAS


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    schema_oids = {schema.name: schema.oid for schema in SYSTEM_SCHEMAS.values()}
    return {
        "oid": [t.oid for t in TYPES],
        "typname": [t.name for t in TYPES],
        "typnamespace": [schema_oids[t.schema_name] for t in TYPES],
        "typowner": SYSTEM_ROLE_OID,
        "typlen": [t.size for t in TYPES],
        "typbyval": [t.by_value for t in TYPES],
        "typtype": ["p" if t.pseudo else "r" if t.category == "R" else "b" for t in TYPES],
        "typcategory": [t.category for t in TYPES],
        "typispreferred": [t.preferred for t in TYPES],
        "typisdefined": True,
        "typdelim": ",",
        "typrelid": 0,
        "typsubscript": 0,
        "typelem": [t.element_oid for t in TYPES],
        "typarray": [t.array_oid for t in TYPES],
        "typinput": 0,
        "typoutput": 0,
        "typreceive": 0,
        "typsend": 0,
        "typmodin": 0,
        "typmodout": 0,
        "typanalyze": 0,
        "typalign": [t.alignment for t in TYPES],
        "typstorage": [t.storage for t in TYPES],
        "typnotnull": False,
        "typbasetype": 0,
        "typtypmod": -1,
        "typndims": 0,
        "typcollation": [t.collation_oid for t in TYPES],
    }


RELATION = BuiltinTable(
    number=405,
    schema="pg_catalog",
    name="pg_type",
    description="Types.",
    columns=shape(
        """
        oid oid
        typname name
        typnamespace oid
        typowner oid
        typlen int2
        typbyval bool
        typtype "char"
        typcategory "char"
        typispreferred bool
        typisdefined bool
        typdelim "char"
        typrelid oid
        typsubscript regproc
        typelem oid
        typarray oid
        typinput regproc
        typoutput regproc
        typreceive regproc
        typsend regproc
        typmodin regproc
        typmodout regproc
        typanalyze regproc
        typalign "char"
        typstorage "char"
        typnotnull bool
        typbasetype oid
        typtypmod int4
        typndims int4
        typcollation oid
        typdefaultbin text?
        typdefault text?
        typacl mz_aclitem[]?
        """
    ),
    fixed=_fixed,
    postgres_oid=1247,
)
