"""Objects as system relations list them: what users made and what the system has, in one form.

    user_objects(facts)       everything users made, temporary objects of all sessions included
    session_objects(facts)    what a PostgreSQL client of this session may see: its database, its
                              own temporary objects
    system_objects(builtins)  the system relations themselves

Also here: privileges as text, and SQL text with its literals hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import PRIVILEGES, acl_items, letters
from headwater.catalog.state import (
    PUBLIC_ID,
    SYSTEM_ROLE_ID,
    SYSTEM_SCHEMAS,
    TEMPORARY_SCHEMA_ID,
    CatalogState,
    Grant,
    Item,
    ObjectKey,
    Schema,
)
from headwater.core.relation import Relation

SYSTEM_ROLE_OID: Final = 16_704
SYSTEM_ROLE_NAME: Final = "mz_system"

RELATION_TYPES: Final = frozenset({"table", "source", "view", "materialized-view"})

_LITERAL: Final = re.compile(r"""("(?:[^"]|"")*")|'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b""")


@dataclass(frozen=True, slots=True)
class Listed:
    """An object with the names around it.  `type` is spelled as mz_objects has it."""

    id: str
    oid: int
    schema: Schema
    database_name: str | None
    name: str
    type: str
    relation: Relation
    owner_id: str
    owner_oid: int
    owner_name: str
    cluster_id: str | None = None
    create_sql: str | None = None
    definition: str | None = None
    description: str | None = None
    temporary: bool = False
    item: Item | None = None
    source_id: str | None = None  # of the source that a table was made from
    privileges: tuple[str, ...] = ()  # as Materialize writes them, with ids
    acl: tuple[str, ...] | None = None  # as PostgreSQL does, with names; None: as at first


def system_privileges(type_: str) -> tuple[str, ...]:
    """On what is the product's own: everybody may read it."""
    held = letters(PRIVILEGES[type_])
    public = "r" if "r" in held else "U"
    return (f"={public}/{SYSTEM_ROLE_ID}", f"{SYSTEM_ROLE_ID}={held}/{SYSTEM_ROLE_ID}")


def acl_of(state: CatalogState, key: ObjectKey) -> tuple[str, ...] | None:
    """Grants as PostgreSQL lists them, by names; None as long as nobody has granted or revoked any."""
    if key not in state.grants:
        return None
    return tuple(_acl_text(state, grant) for grant in state.grants[key] if grant.privileges)


def _acl_text(state: CatalogState, grant: Grant) -> str:
    grantee = "" if grant.grantee_id == PUBLIC_ID else role_name(state, grant.grantee_id)
    return f"{grantee}={letters(grant.privileges)}/{role_name(state, grant.grantor_id)}"


def role_name(state: CatalogState, role_id: str) -> str:
    """Also of a role that has gone, and of everybody."""
    role = state.roles.get(role_id)
    if role_id == PUBLIC_ID:
        return "PUBLIC"
    return f"unknown (OID={role_id})" if role is None else role.name


def redacted(sql: str | None) -> str | None:
    """The text with its literals hidden; quoted identifiers are kept."""
    if sql is None:
        return None
    return _LITERAL.sub(lambda match: match.group(1) or "'<REDACTED>'", sql)


def user_objects(facts: SystemFacts) -> Sequence[Listed]:
    """Everything users made, in order of creation."""
    state = facts.state
    if "user objects" not in state.derived:
        state.derived["user objects"] = [_listed(state, item) for item in state.items.values()]
    return cast(Sequence[Listed], state.derived["user objects"])


def session_objects(facts: SystemFacts) -> Sequence[Listed]:
    """The part of it that PostgreSQL's clients may see."""
    return [
        listed
        for listed in user_objects(facts)
        if (
            listed.database_name == facts.database
            if listed.item is None or listed.item.temporary_pid is None
            else listed.item.temporary_pid == facts.backend_pid
        )
    ]


def system_objects(builtins: Iterable[BuiltinTable]) -> Sequence[Listed]:
    """The system relations."""
    return [
        Listed(
            id=builtin.id,
            oid=builtin.oid,
            schema=SYSTEM_SCHEMAS[builtin.schema_id],
            database_name=None,
            name=builtin.name,
            type="table",
            relation=builtin.relation,
            owner_id=SYSTEM_ROLE_ID,
            owner_oid=SYSTEM_ROLE_OID,
            owner_name=SYSTEM_ROLE_NAME,
            description=builtin.description,
            privileges=system_privileges("table"),
        )
        for builtin in builtins
    ]


def writable(listed: Listed) -> bool:
    """Only a table that nothing else feeds can be written."""
    return listed.type == "table" and listed.item is not None and listed.item.source_id is None


def named_source_id(state: CatalogState, item: Item) -> str | None:
    """The source that a table was made from."""
    return None if item.source_id is None else state.named_source(item.source_id).id


def object_rows(objects: Sequence[Listed]) -> Columns:
    """The columns that mz_objects and mz_relations share."""
    return {
        "id": [o.id for o in objects],
        "oid": [o.oid for o in objects],
        "schema_id": [o.schema.id for o in objects],
        "name": [o.name for o in objects],
        "type": [o.type for o in objects],
        "owner_id": [o.owner_id for o in objects],
        "cluster_id": [o.cluster_id for o in objects],
        "privileges": [o.privileges for o in objects],
    }


def relations_of(objects: Iterable[Listed]) -> Sequence[Listed]:
    """Those that have rows."""
    return [listed for listed in objects if listed.type in RELATION_TYPES]


def objects_of_type(objects: Iterable[Listed], *types: str) -> Sequence[Listed]:
    """Those of these types."""
    return [listed for listed in objects if listed.type in types]


def connection_type(listed: Listed) -> str:
    """Which kind of upstream a connection is to: `postgres`."""
    return "" if listed.item is None else listed.item.connection.connection_type


def session_schemas(facts: SystemFacts) -> Sequence[Schema]:
    """The schemas of the session's database."""
    database = facts.state.database_named(facts.database)
    return () if database is None else facts.state.schemas_of(database.id)


def comment_of(facts: SystemFacts, listed: Listed, sub_id: int | None = None) -> str:
    """A comment, or nothing."""
    return facts.state.comment_on(listed.type.replace("-", " "), listed.id, sub_id) or ""


def _listed(state: CatalogState, item: Item) -> Listed:
    database = state.database_of(item)
    owner = state.roles.get(item.owner_id)
    return Listed(
        id=item.id,
        oid=item.oid,
        schema=state.schema(item.schema_id),
        database_name=None if database is None else database.name,
        name=item.name,
        type=item.kind.replace(" ", "-"),
        relation=item.relation,
        owner_id=item.owner_id,
        owner_oid=0 if owner is None else owner.oid,
        owner_name=role_name(state, item.owner_id),
        cluster_id=item.cluster_id,
        create_sql=item.create_sql,
        definition=None if item.definition is None else item.definition.rstrip("; \n") + ";",
        temporary=item.schema_id == TEMPORARY_SCHEMA_ID,
        item=item,
        source_id=named_source_id(state, item),
        privileges=tuple(acl_items(state, ("item", item.id))),
        acl=acl_of(state, ("item", item.id)),
    )
