"""pg_catalog.pg_roles: roles."""

from __future__ import annotations

from headwater.catalog.builtin.roles import role_rows, role_settings
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=409,
    schema="pg_catalog",
    name="pg_roles",
    description="Roles.",
    columns=shape(
        """
        rolname name?
        rolsuper bool?
        rolinherit bool?
        rolcreaterole bool?
        rolcreatedb bool?
        rolcanlogin bool?
        rolreplication bool?
        rolconnlimit int4?
        rolpassword text?
        rolvaliduntil timestamptz?
        rolbypassrls bool?
        rolconfig text[]?
        oid oid?
        """
    ),
    rows=lambda facts: {
        **role_rows(facts),
        "rolpassword": "********",
        "rolconfig": role_settings(facts),
    },
)
