"""pg_catalog.pg_user: roles that may log in."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    roles = [role for role in facts.state.roles.values() if role.login]
    return {
        "usename": [r.name for r in roles],
        "usesysid": [r.oid for r in roles],
        "usecreatedb": True,
        "usesuper": [r.superuser for r in roles],
        "userepl": False,
        "usebypassrls": [r.superuser for r in roles],
        "passwd": "********",
    }


RELATION = BuiltinTable(
    number=411,
    schema="pg_catalog",
    name="pg_user",
    description="Roles that may log in.",
    columns=shape(
        """
        usename name?
        usesysid oid?
        usecreatedb bool?
        usesuper bool?
        userepl bool?
        usebypassrls bool?
        passwd text?
        valuntil timestamptz?
        useconfig text[]?
        """
    ),
    rows=_rows,
)
