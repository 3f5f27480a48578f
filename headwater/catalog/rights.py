"""Who may do what: pure questions about one state of the catalog.

    a role's holdings     itself, the roles that it is a member of, at any distance, and everybody
    grants on an object   as they were given; where nobody has given or taken any, the owner has all there is
    a need                a privilege on an object, to own it, to be a member of a role, to be a superuser

What the product has itself (system relations and their schemas) may be read by everybody.

Not here: which statement needs what (coordinator/rights.py), how grants change (coordinator/sequence/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headwater.catalog.state import (
    PUBLIC_ID,
    SYSTEM_ROLE_ID,
    CatalogState,
    Cluster,
    Database,
    Grant,
    Item,
    ObjectKey,
    Schema,
)
from headwater.core.errors import UserError
from headwater.core.quoting import quoted

SYSTEM: Final[ObjectKey] = ("system", "")
READ: Final = frozenset({"SELECT"})
USE: Final = frozenset({"USAGE"})
PRIVILEGES: Final[Mapping[str, frozenset[str]]] = {
    "table": frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"}),
    "source": READ,
    "view": READ,
    "materialized view": READ,
    "connection": USE,
    "secret": USE,
    "type": USE,
    "schema": USE | {"CREATE"},
    "database": USE | {"CREATE"},
    "cluster": USE | {"CREATE"},
    "system": frozenset({"CREATEROLE", "CREATEDB", "CREATECLUSTER"}),
}
"""By kind of object: what can be granted on it."""

_LETTERS: Final = {
    **{"INSERT": "a", "SELECT": "r", "UPDATE": "w", "DELETE": "d", "USAGE": "U", "CREATE": "C"},
    **{"CREATEROLE": "R", "CREATEDB": "B", "CREATECLUSTER": "N"},
}


@dataclass(frozen=True, slots=True)
class Who:
    """On whose behalf something is asked."""

    role_id: str
    name: str
    superuser: bool


@dataclass(eq=False)
class Denied(UserError):
    """A right is missing on an object, which it names."""

    object: str | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """One right.  `what` is a privilege, `OWNER`, `MEMBER` (the object is a role) or `SUPERUSER`."""

    what: str
    object: ObjectKey = SYSTEM
    action: str = ""  # what only superusers may do, for the message


def letters(privileges: Iterable[str]) -> str:
    """As an ACL item writes them: `arwd`."""
    wanted = frozenset(privileges)
    return "".join(letter for name, letter in _LETTERS.items() if name in wanted)


def memberships_of(state: CatalogState, role_id: str) -> frozenset[str]:
    """The role and all roles that it is a member of."""
    key = ("memberships", role_id)
    if key not in state.derived:
        found, left = {role_id}, [role_id]
        while left:
            member_id = left.pop()
            new = {role for role, member in state.memberships if member == member_id} - found
            found |= new
            left += new
        state.derived[key] = frozenset(found)
    known: frozenset[str] = state.derived[key]
    return known


def holder_ids(state: CatalogState, role_id: str) -> frozenset[str]:
    """Whose grants a role has: its own, its roles', everybody's."""
    return memberships_of(state, role_id) | {PUBLIC_ID}


def object_of(state: CatalogState, key: ObjectKey) -> Database | Schema | Cluster | Item | None:
    """What users made under this key; None of the system, of what is its own, and of what has gone."""
    kind, id_ = key
    match kind:
        case "item":
            return state.items.get(id_)
        case "schema":
            return state.schemas.get(id_)
        case "database":
            return state.databases.get(id_)
        case "cluster":
            return state.clusters.get(id_)
    return None


def kind_of(state: CatalogState, key: ObjectKey) -> str:
    """`table`, `schema`, ...: what it is by its privileges."""
    if key[0] != "item":
        return key[0]
    item = state.items.get(key[1])
    return "view" if item is None else item.kind


def owner_id_of(state: CatalogState, key: ObjectKey) -> str:
    """The owner's id; the product's own role of what is not the users'."""
    found = object_of(state, key)
    return SYSTEM_ROLE_ID if found is None else found.owner_id


def grants_on(state: CatalogState, key: ObjectKey) -> tuple[Grant, ...]:
    """All that is granted on an object."""
    known = state.grants.get(key)
    if known is not None:
        return known
    if key == SYSTEM:
        return ()
    found = object_of(state, key)
    if found is None:
        public = USE if key[0] == "schema" else READ
        return (Grant(PUBLIC_ID, SYSTEM_ROLE_ID, public),)
    return first_grants(kind_of(state, key), found.owner_id)


def first_grants(kind: str, owner_id: str) -> tuple[Grant, ...]:
    """What an owner has of a new object: everything."""
    return (Grant(owner_id, owner_id, PRIVILEGES.get(kind, frozenset())),)


def new_grants(
    state: CatalogState, kind: str, owner_id: str, schema_id: str | None, database_id: str | None
) -> tuple[Grant, ...] | None:
    """What is granted on a new object by default privileges; None: its owner has everything, nobody else."""
    found: dict[str, frozenset[str]] = {}
    for default in state.default_grants.values():
        if (
            default.object_kind == _default_kind(kind)
            and default.role_id in (owner_id, PUBLIC_ID)
            and default.schema_id in (None, schema_id)
            and default.database_id in (None, database_id)
        ):
            found[default.grantee_id] = found.get(default.grantee_id, frozenset()) | default.privileges
    possible = PRIVILEGES.get(kind, frozenset())
    given = {who: names & possible for who, names in found.items() if names & possible}
    if not given:
        return None
    return (
        *first_grants(kind, owner_id),
        *(Grant(who, owner_id, names) for who, names in given.items() if who != owner_id),
    )


def _default_kind(kind: str) -> str:
    """Default privileges on tables are those of all that can be read."""
    return "table" if "SELECT" in PRIVILEGES.get(kind, ()) else kind


def acl_items(state: CatalogState, key: ObjectKey) -> list[str]:
    """The grants on an object in text: `u1=arwd/u1`; everybody is left out before the equals sign."""
    return [acl_item(grant) for grant in grants_on(state, key) if grant.privileges]


def acl_item(grant: Grant) -> str:
    """One of them."""
    grantee = "" if grant.grantee_id == PUBLIC_ID else grant.grantee_id
    return f"{grantee}={letters(grant.privileges)}/{grant.grantor_id}"


def privileges_of(state: CatalogState, role_id: str, key: ObjectKey) -> frozenset[str]:
    """What a role may do with an object, superuser or not."""
    holders = holder_ids(state, role_id)
    given = [grant.privileges for grant in grants_on(state, key) if grant.grantee_id in holders]
    return frozenset().union(*given)


def has(state: CatalogState, who: Who, need: Need) -> bool:
    """Whether somebody has a right."""
    if who.superuser:
        return True
    match need.what:
        case "SUPERUSER":
            return False
        case "OWNER":
            return owner_id_of(state, need.object) in memberships_of(state, who.role_id)
        case "MEMBER":
            return need.object[1] in memberships_of(state, who.role_id)
    return need.what in privileges_of(state, who.role_id, need.object)


def check(state: CatalogState, who: Who, needs: Iterable[Need]) -> None:
    """The first right that is missing is an error."""
    for need in needs:
        if not has(state, who, need):
            raise denied(state, who, need)


def denied(state: CatalogState, who: Who, need: Need) -> UserError:
    """What is told to somebody who may not."""
    if who.role_id not in state.roles:
        return UserError(
            f'role "{who.name}" was dropped', "42501", hint="Connect again with a role that exists."
        )
    match need.what:
        case "SUPERUSER":
            return UserError(
                f"permission denied to {need.action}", "42501", detail="You must be a superuser."
            )
        case "OWNER":
            owned = named(state, need.object, quote=False)
            return Denied(f"must be owner of {owned}", "42501", object=owned)
        case "MEMBER":
            role = state.roles.get(need.object[1])
            name = need.object[1] if role is None else role.name
            return Denied(f"must be a member of {quoted(name)}", "42501", object=f"ROLE {name}")
    text = named(state, need.object)
    return Denied(
        f"permission denied for {text}",
        "42501",
        detail=f"The '{who.name}' role needs {need.what} privileges on {text}",
        object=named(state, need.object, quote=False),
    )


def named(state: CatalogState, key: ObjectKey, quote: bool = True) -> str:
    """`TABLE "materialize.public.t"`, for messages."""
    kind = kind_of(state, key).upper()
    found = object_of(state, key)
    if found is None:
        return kind
    parts = [found.name]
    if isinstance(found, Item):
        schema = state.schema(found.schema_id)
        parts = [*_schema_parts(state, schema), found.name]
    elif isinstance(found, Schema):
        parts = _schema_parts(state, found)
    text = ".".join(parts)
    return f"{kind} {quoted(text)}" if quote else f"{kind} {text}"


def _schema_parts(state: CatalogState, schema: Schema) -> list[str]:
    if schema.database_id is None:
        return [schema.name]
    return [state.databases[schema.database_id].name, schema.name]


# What reading takes


def to_reach(state: CatalogState, schema_id: str) -> list[Need]:
    """To use the names in a schema."""
    schema = state.schemas.get(schema_id)
    if schema is None:
        return []
    database = Need("USAGE", ("database", schema.database_id or ""))
    return [database, Need("USAGE", ("schema", schema_id))]


def to_create(state: CatalogState, schema_id: str) -> list[Need]:
    """To make something in a schema."""
    return [*to_reach(state, schema_id)[:1], Need("CREATE", ("schema", schema_id))]


def check_reads(state: CatalogState, who: Who, item_ids: Iterable[str]) -> None:
    """Whether somebody may read these relations, which a query names itself.

    A view reads with its owner's rights, whoever reads the view.
    """
    owners: dict[str, Who] = {}
    seen: set[tuple[str, str]] = set()
    left = [(who, id_) for id_ in sorted(item_ids)]
    while left:
        reader, item_id = left.pop(0)
        item = state.items.get(item_id)
        if item is None or (reader.role_id, item_id) in seen:
            continue
        seen.add((reader.role_id, item_id))
        check(state, reader, [*to_reach(state, item.schema_id), Need("SELECT", ("item", item_id))])
        if item.kind == "view":
            owner = owners.setdefault(item.owner_id, role_as(state, item.owner_id))
            left += [(owner, id_) for id_ in item.dependencies]


def role_as(state: CatalogState, role_id: str) -> Who:
    """Somebody as a role of the catalog has it."""
    role = state.roles.get(role_id)
    if role is None:
        return Who(role_id, role_id, role_id == SYSTEM_ROLE_ID)
    return Who(role_id, role.name, role.superuser)
