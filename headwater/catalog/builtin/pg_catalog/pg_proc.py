"""pg_catalog.pg_proc: functions."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import SYSTEM_SCHEMAS


def _rows(facts: SystemFacts) -> Columns:
    functions = facts.functions()
    schema_oids = {schema.name: schema.oid for schema in SYSTEM_SCHEMAS.values()}
    return {
        "oid": [f.oid for f in functions],
        "proname": [f.name for f in functions],
        "pronamespace": [schema_oids[f.schema] for f in functions],
        "proowner": SYSTEM_ROLE_OID,
        "prolang": 12,
        "procost": 1.0,
        "prorows": [1000.0 if f.returns_set else 0.0 for f in functions],
        "provariadic": 0,
        "prosupport": 0,
        "prokind": [f.kind for f in functions],
        "prosecdef": False,
        "proleakproof": False,
        "proisstrict": [f.strict for f in functions],
        "proretset": [f.returns_set for f in functions],
        "provolatile": [f.volatility for f in functions],
        "proparallel": "s",
        "pronargs": [len(f.argument_type_oids) for f in functions],
        "pronargdefaults": 0,
        "prorettype": [f.return_type_oid for f in functions],
        "proargtypes": [list(f.argument_type_oids) for f in functions],
        "prosrc": [f.name for f in functions],
    }


RELATION = BuiltinTable(
    number=419,
    schema="pg_catalog",
    name="pg_proc",
    description="Functions.",
    columns=shape(
        """
        oid oid
        proname name
        pronamespace oid
        proowner oid
        prolang oid
        procost float4
        prorows float4
        provariadic oid
        prosupport regproc
        prokind "char"
        prosecdef bool
        proleakproof bool
        proisstrict bool
        proretset bool
        provolatile "char"
        proparallel "char"
        pronargs int2
        pronargdefaults int2
        prorettype oid
        proargtypes oid[]
        proallargtypes oid[]?
        proargmodes "char"[]?
        proargnames text[]?
        proargdefaults text?
        protrftypes oid[]?
        prosrc text
        probin text?
        prosqlbody text?
        proconfig text[]?
        proacl mz_aclitem[]?
        """
    ),
    rows=_rows,
    scope="moment",
    postgres_oid=1255,
)
