"""mz_internal.mz_object_grants: what is granted on what PostgreSQL's clients ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import PRIVILEGES, grants_on, kind_of
from headwater.catalog.state import PUBLIC_ID, SYSTEM_SCHEMAS, CatalogState, ObjectKey

_Row = tuple[str, int, str, str | None, str, str]
_POSTGRES: frozenset[str] = frozenset({"CONNECT", "TEMP", "TEMPORARY"})
"""Of databases; everybody connects to all of them, and has a place for temporary objects."""


def _of(state: CatalogState, key: ObjectKey, kind: str) -> Iterator[tuple[str, str]]:
    for grant in grants_on(state, key):
        yield from ((grant.grantee_id, name) for name in grant.privileges)
    yield from (("*", name) for name in PRIVILEGES[kind])


def _listed(facts: SystemFacts) -> Iterator[_Row]:
    state = facts.state
    for item in state.items.values():
        kind = kind_of(state, ("item", item.id))
        if "SELECT" in PRIVILEGES.get(kind, ()):
            for who, name in _of(state, ("item", item.id), kind):
                yield ("relation", item.oid, item.name, None, who, name)
    for schema in state.schemas.values():
        database = state.databases[schema.database_id or ""].name
        for who, name in _of(state, ("schema", schema.id), "schema"):
            yield ("schema", schema.oid, schema.name, database, who, name)
    for schema in SYSTEM_SCHEMAS.values():
        yield ("schema", schema.oid, schema.name, None, PUBLIC_ID, "USAGE")
    for each in state.databases.values():
        for who, name in _of(state, ("database", each.id), "database"):
            yield ("database", each.oid, each.name, None, who, name)
        yield from (("database", each.oid, each.name, None, PUBLIC_ID, name) for name in sorted(_POSTGRES))
    for role in state.roles.values():
        for who in (role.id, "*"):
            yield from (("role", role.oid, role.name, None, who, name) for name in ("MEMBER", "USAGE"))


def _system(builtins: Sequence[BuiltinTable]) -> Columns:
    return _columns(("relation", one.oid, one.name, None, PUBLIC_ID, "SELECT") for one in builtins)


def _columns(rows: Iterable[_Row]) -> Columns:
    names = ("kind", "oid", "name", "database_name", "grantee_id", "privilege")
    listed = list(rows)
    return {name: [row[place] for row in listed] for place, name in enumerate(names)}


RELATION = BuiltinTable(
    number=260,
    schema="mz_internal",
    name="mz_object_grants",
    description="What is granted on relations, schemas, databases and roles, a row for each privilege.",
    columns=shape(
        """
        kind text
        oid oid
        name text
        database_name text?
        grantee_id text
        privilege text
        """
    ),
    rows=lambda facts: _columns(_listed(facts)),
    fixed=_system,
)
