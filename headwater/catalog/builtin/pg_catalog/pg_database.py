"""pg_catalog.pg_database: databases."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import SYSTEM_ROLE_OID, acl_of
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    databases = facts.state.databases.values()
    owners = [facts.state.roles.get(d.owner_id) for d in databases]
    return {
        "oid": [d.oid for d in databases],
        "datname": [d.name for d in databases],
        "datacl": [acl_of(facts.state, ("database", d.id)) for d in databases],
        "datdba": [SYSTEM_ROLE_OID if owner is None else owner.oid for owner in owners],
        "encoding": 6,
        "datlocprovider": "c",
        "datistemplate": False,
        "datallowconn": True,
        "datconnlimit": -1,
        "datfrozenxid": 0,
        "datminmxid": 0,
        "dattablespace": 1663,
        "datcollate": "C",
        "datctype": "C",
    }


RELATION = BuiltinTable(
    number=408,
    schema="pg_catalog",
    name="pg_database",
    description="Databases.",
    columns=shape(
        """
        oid oid
        datname name
        datdba oid
        encoding int4
        datlocprovider "char"
        datistemplate bool
        datallowconn bool
        datconnlimit int4
        datfrozenxid uint4
        datminmxid uint4
        dattablespace oid
        datcollate text
        datctype text
        daticulocale text?
        datcollversion text?
        datacl mz_aclitem[]?
        """
    ),
    rows=_rows,
    postgres_oid=1262,
)
