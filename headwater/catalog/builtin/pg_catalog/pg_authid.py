"""pg_catalog.pg_authid: roles."""

from __future__ import annotations

from headwater.catalog.builtin.roles import role_rows
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=410,
    schema="pg_catalog",
    name="pg_authid",
    description="Roles.",
    columns=shape(
        """
        oid oid
        rolname name
        rolsuper bool
        rolinherit bool
        rolcreaterole bool
        rolcreatedb bool
        rolcanlogin bool
        rolreplication bool
        rolbypassrls bool
        rolconnlimit int4
        rolpassword text?
        rolvaliduntil timestamptz?
        """
    ),
    rows=role_rows,
    postgres_oid=1260,
)
