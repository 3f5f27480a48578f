"""What each kind of statement takes: the one table of it.

    RIGHTS    kind of statement -> (names and catalog of the moment, statement) -> needs

The dispatcher asks here before a statement is carried out.  What queries read is not known before they are
planned, and they may be planned again while they wait, so that is asked where every read passes
(`SqlSession.allow`, called by `Reads.prepare`); in the table such statements say `reads`.

A name that means nothing needs nothing: whoever carries the statement out says that it does not exist.

Not here: what it is to have a right (catalog/rights.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from headwater.catalog.rights import SYSTEM, Need, Who, check, memberships_of, to_create, to_reach
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item, ObjectKey
from headwater.coordinator.variables import find, limits_of
from headwater.core.errors import UserError
from headwater.sql.cursor import Name
from headwater.sql.grants import MYSELF, Target
from headwater.sql.select import relations_of
from headwater.sql.statements.alter_cluster import AlterCluster
from headwater.sql.statements.alter_connection import AlterConnection
from headwater.sql.statements.alter_default_privileges import AlterDefaultPrivileges
from headwater.sql.statements.alter_owner import AlterOwner
from headwater.sql.statements.alter_rename import AlterRename
from headwater.sql.statements.alter_role import AlterRole
from headwater.sql.statements.alter_secret import AlterSecret
from headwater.sql.statements.alter_source import AlterSource
from headwater.sql.statements.alter_source_add import AlterSourceAdd
from headwater.sql.statements.alter_source_drop import AlterSourceDrop
from headwater.sql.statements.alter_swap import AlterSwap
from headwater.sql.statements.alter_system import AlterSystem
from headwater.sql.statements.alter_table import AlterTable
from headwater.sql.statements.alter_table_add_column import AlterTableAddColumn
from headwater.sql.statements.begin import Begin
from headwater.sql.statements.close import Close
from headwater.sql.statements.comment_on import CommentOn
from headwater.sql.statements.commit import Commit
from headwater.sql.statements.copy_from import CopyFrom
from headwater.sql.statements.copy_to import CopyTo
from headwater.sql.statements.create_cluster import CreateCluster
from headwater.sql.statements.create_connection import CreateConnection
from headwater.sql.statements.create_database import CreateDatabase
from headwater.sql.statements.create_role import CreateRole
from headwater.sql.statements.create_schema import CreateSchema
from headwater.sql.statements.create_secret import CreateSecret
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_table_from_webhook import CreateTableFromWebhook
from headwater.sql.statements.create_view import CreateView
from headwater.sql.statements.deallocate import Deallocate
from headwater.sql.statements.declare import Declare
from headwater.sql.statements.delete import Delete
from headwater.sql.statements.discard import Discard
from headwater.sql.statements.drop import Drop
from headwater.sql.statements.drop_owned import DropOwned
from headwater.sql.statements.execute import Execute
from headwater.sql.statements.explain import Explain
from headwater.sql.statements.explain_migration import ExplainMigration
from headwater.sql.statements.fetch import Fetch
from headwater.sql.statements.grant_privileges import GrantPrivileges
from headwater.sql.statements.grant_role import GrantRole
from headwater.sql.statements.insert import Insert
from headwater.sql.statements.lock_table import LockTable
from headwater.sql.statements.prepare import Prepare
from headwater.sql.statements.reassign_owned import ReassignOwned
from headwater.sql.statements.release_savepoint import ReleaseSavepoint
from headwater.sql.statements.reset import Reset
from headwater.sql.statements.revoke_privileges import RevokePrivileges
from headwater.sql.statements.revoke_role import RevokeRole
from headwater.sql.statements.rollback import Rollback
from headwater.sql.statements.rollback_to import RollbackTo
from headwater.sql.statements.savepoint import Savepoint
from headwater.sql.statements.select import Select
from headwater.sql.statements.set_transaction import SetTransaction
from headwater.sql.statements.set_variable import SetVariable
from headwater.sql.statements.show_columns import ShowColumns
from headwater.sql.statements.show_create import ShowCreate
from headwater.sql.statements.show_objects import ShowObjects
from headwater.sql.statements.show_privileges import ShowPrivileges
from headwater.sql.statements.show_variable import ShowVariable
from headwater.sql.statements.subscribe import Subscribe
from headwater.sql.statements.unlisten import Unlisten
from headwater.sql.statements.update import Update
from headwater.sql.statements.validate_connection import ValidateConnection
from headwater.sql.statements.verify_table import VerifyTable

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


@dataclass(frozen=True, slots=True)
class Asked:
    """What a statement's needs are a function of, beside the statement."""

    state: CatalogState
    names: SessionNames
    who: Who
    cluster: str  # that the session uses

    def item(self, name: Name) -> Item | None:
        """What users made under a name, unless that has gone since a block has read."""
        found = self.names.find_item(name.parts)
        return None if found is None else self.state.items.get(found.id)

    def object(self, kind: str, name: Name) -> ObjectKey | None:
        """What a statement about a kind of object means by a name."""
        match kind:
            case "database":
                database = self.state.database_named(name.item)
                return None if database is None else ("database", database.id)
            case "schema":
                schema = self.names.find_schema(name.parts)
                return None if schema is None else ("schema", schema.id)
            case "cluster":
                cluster = self.state.cluster_named(name.item)
                return None if cluster is None else ("cluster", cluster.id)
        item = self.item(name)
        return None if item is None else ("item", item.id)

    def role_id(self, name: str) -> str | None:
        """The id of a role by name, or of whoever asks."""
        if name in MYSELF:
            return self.who.role_id
        role = self.state.role_named(name)
        return None if role is None else role.id


Needs = Callable[[Asked, Any], Iterable[Need]]


def check_statement(session: SqlSession, statement: object) -> None:
    """UserError 42501 if the session may not do this."""
    who = session.who
    if not who.superuser:
        names = session.names()
        asked = Asked(session.authority, names, who, session.settings.get("cluster"))
        check(session.authority, who, RIGHTS[type(statement)](asked, statement))


def nothing(asked: Asked, statement: object) -> Iterable[Need]:
    """Everybody may, because it concerns the session alone, or what everybody may know."""
    return ()


def reads(asked: Asked, statement: object) -> Iterable[Need]:
    """What its queries read, which is asked when they are."""
    return ()


# Objects


def _place(asked: Asked, name: Name) -> list[Need]:
    """To make something under a name."""
    schema, _ = asked.names.place(name.parts)
    return to_create(asked.state, schema.id)


def _on(asked: Asked, what: str, kind: str, name: Name) -> list[Need]:
    """A right on what a name means, and to reach it."""
    key = asked.object(kind, name)
    if key is None:
        return []
    reached: list[Need] = []
    if key[0] == "item":
        reached = to_reach(asked.state, asked.state.items[key[1]].schema_id)
    return [*reached, Need(what, key)]


def _owner(kind: str | None = None) -> Needs:
    """To own what the statement is about."""

    def needs(asked: Asked, statement: Any) -> Iterable[Need]:
        of = kind or statement.kind
        name = statement.name if isinstance(statement.name, Name) else Name((statement.name,))
        return _on(asked, "OWNER", of, name)

    return needs


def _uses(asked: Asked, statement: object) -> Iterator[Need]:
    """To use connections and secrets that the statement names, wherever it does."""
    for name in _names_in(statement):
        item = asked.item(name)
        if item is not None and item.kind in ("connection", "secret"):
            yield from _on(asked, "USAGE", item.kind, name)


def _names_in(value: object) -> Iterator[Name]:
    if isinstance(value, Name):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _names_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _names_in(getattr(value, field.name))


def _created(asked: Asked, statement: Any) -> Iterable[Need]:
    return [*_place(asked, statement.name), *_uses(asked, statement)]


def _table(asked: Asked, statement: CreateTable) -> Iterable[Need]:
    return [] if statement.temporary else _place(asked, statement.name)


def _view(asked: Asked, statement: CreateView) -> Iterable[Need]:
    """The view reads with its owner's rights, so that making it takes no more than to know the names."""
    needs: list[Need] = []
    if not statement.temporary:
        needs += _place(asked, statement.name)
        # Where it will be made: the name alone may mean another one, which comes first in the path.
        schema, name = asked.names.place(statement.name.parts)
        existing = asked.state.item_named(schema.id, name) if statement.replace else None
        needs += [] if existing is None else [Need("OWNER", ("item", existing.id))]
    for parts in relations_of(statement.query.text):
        item = asked.names.find_item(parts)
        if item is not None:
            needs += to_reach(asked.state, item.schema_id)
    return needs


def _source(asked: Asked, statement: CreateSource | CreateTableFromWebhook) -> Iterable[Need]:
    cluster = asked.state.cluster_named(statement.cluster or asked.cluster)
    on_cluster = [] if cluster is None else [Need("CREATE", ("cluster", cluster.id))]
    return [*_created(asked, statement), *on_cluster]


def _webhook(asked: Asked, statement: CreateTableFromWebhook) -> Iterable[Need]:
    """With the secrets that its CHECK names; a source belongs to a cluster."""
    return _source(asked, statement) if statement.legacy else _created(asked, statement)


def _from_source(asked: Asked, statement: CreateTableFromSource) -> Iterable[Need]:
    """To read what the source reads takes the right to read it, and to use the way there."""
    needs = [*_created(asked, statement), *_on(asked, "SELECT", "source", statement.source)]
    source = asked.item(statement.source)
    if source is not None and source.kind == "source":
        for id_ in asked.state.ingestion_of(source).dependencies:
            item = asked.state.items.get(id_)
            if item is not None and item.kind == "connection":
                needs.append(Need("USAGE", ("item", id_)))
    return needs


def _schema(asked: Asked, statement: CreateSchema) -> Iterable[Need]:
    parts = statement.name.parts
    name = parts[0] if len(parts) == 2 else asked.names.database
    database = asked.state.database_named(name)
    return [] if database is None else [Need("CREATE", ("database", database.id))]


def _system(privilege: str) -> Needs:
    return lambda asked, statement: [Need(privilege)]


def _superuser(action: str) -> Needs:
    return lambda asked, statement: [Need("SUPERUSER", action=action)]


def _drop(asked: Asked, statement: Drop) -> Iterable[Need]:
    if statement.kind == "role":
        return _roles(asked, [name.item for name in statement.names], "drop superusers")
    return [need for name in statement.names for need in _on(asked, "OWNER", statement.kind, name)]


def _container(asked: Asked, kind: str, name: Name) -> list[Need]:
    """To make something where an object is."""
    key = asked.object(kind, name)
    if key is None or key[0] in ("cluster", "database"):
        return []
    if key[0] == "schema":
        schema = asked.state.schemas.get(key[1])
        return [] if schema is None else [Need("CREATE", ("database", schema.database_id or ""))]
    schema_id = asked.state.items[key[1]].schema_id
    return [Need("CREATE", ("schema", schema_id))] if schema_id in asked.state.schemas else []


def _rename(asked: Asked, statement: AlterRename) -> Iterable[Need]:
    return [
        *_on(asked, "OWNER", statement.kind, statement.name),
        *_container(asked, statement.kind, statement.name),
    ]


def _swap(asked: Asked, statement: AlterSwap) -> Iterable[Need]:
    both = (statement.name, Name((*statement.name.parts[:-1], statement.other)))
    owned = [need for name in both for need in _on(asked, "OWNER", statement.kind, name)]
    return [*owned, *(need for name in both for need in _container(asked, statement.kind, name))]


def _add_subsource(asked: Asked, statement: AlterSourceAdd) -> Iterable[Need]:
    return [
        *_on(asked, "OWNER", "source", statement.name),
        *_container(asked, "source", statement.name),
    ]


def _drop_subsource(asked: Asked, statement: AlterSourceDrop) -> Iterable[Need]:
    return [
        *_on(asked, "OWNER", "source", statement.name),
        *(need for name in statement.subsources for need in _on(asked, "OWNER", "source", name)),
    ]


def _alter_connection(asked: Asked, statement: AlterConnection) -> Iterable[Need]:
    return [*_on(asked, "OWNER", "connection", statement.name), *_uses(asked, statement.set)]


def _comment(asked: Asked, statement: CommentOn) -> Iterable[Need]:
    if statement.kind == "role":
        return _roles(asked, [statement.name.item], "comment on superusers")
    return _on(asked, "OWNER", statement.kind, statement.name)


# Rows


def _written(privilege: str) -> Needs:
    """To write a table; what is read for it besides is asked when it is."""

    def needs(asked: Asked, statement: Any) -> Iterable[Need]:
        found = _on(asked, privilege, "table", statement.table)
        if isinstance(statement, Insert) and statement.returning is not None:
            found += _on(asked, "SELECT", "table", statement.table)
        return found

    return needs


def _locked(asked: Asked, statement: LockTable) -> Iterable[Need]:
    return [need for name in statement.names for need in _on(asked, "SELECT", "table", name)]


# Roles


def _roles(asked: Asked, names: Iterable[str], action: str) -> list[Need]:
    """To change roles; superusers are changed by superusers, and so are members of theirs."""
    needs = [Need("CREATEROLE")]
    for name in names:
        held = memberships_of(asked.state, asked.role_id(name) or "")
        if any(asked.state.roles[id_].superuser for id_ in held & asked.state.roles.keys()):
            needs.append(Need("SUPERUSER", action=action))
    return needs


def _flags(statement: CreateRole | AlterRole) -> list[Need]:
    """Nobody gives others what they do not have."""
    needs = []
    for name, value in statement.options.flags:
        if name == "SUPERUSER" and (value or isinstance(statement, AlterRole)):
            needs.append(Need("SUPERUSER", action="alter the SUPERUSER attribute"))
        elif name.startswith("CREATE"):
            needs.append(Need(name))
    return needs


def _create_role(asked: Asked, statement: CreateRole) -> Iterable[Need]:
    return [*_roles(asked, statement.options.in_roles, "add members to superusers"), *_flags(statement)]


def _alter_role(asked: Asked, statement: AlterRole) -> Iterable[Need]:
    options = statement.options
    own = asked.role_id(statement.name) == asked.who.role_id
    if own and not options.flags and options.connection_limit is None and not _limiting(asked, statement):
        return []  # a password, or what one's sessions begin with
    return [*_roles(asked, [statement.name], "alter superusers"), *_flags(statement)]


def _limiting(asked: Asked, statement: AlterRole) -> bool:
    """Whether it changes what limits the role."""
    if statement.action == "reset" and statement.variable is None:
        role = asked.state.roles.get(asked.who.role_id)
        return role is not None and bool(limits_of(role.settings))
    return statement.variable is not None and find(statement.variable).of_roles


def _membership(asked: Asked, statement: GrantRole | RevokeRole) -> Iterable[Need]:
    return _roles(asked, statement.roles, "change the members of superusers")


def _members(asked: Asked, names: Sequence[str | None]) -> list[Need]:
    """To be a member of these roles; None is everybody."""
    needs = []
    for name in names:
        if name is None:
            needs.append(Need("SUPERUSER", action="alter default privileges for all roles"))
        elif (role_id := asked.role_id(name)) is not None:
            needs.append(Need("MEMBER", ("role", role_id)))
    return needs


def _alter_owner(asked: Asked, statement: AlterOwner) -> Iterable[Need]:
    return [
        *_on(asked, "OWNER", statement.kind, statement.name),
        *_members(asked, [statement.owner]),
        *_container(asked, statement.kind, statement.name),
    ]


def _granted(asked: Asked, statement: GrantPrivileges | RevokePrivileges) -> Iterable[Need]:
    """To own what privileges are on; the system's are for superusers to give."""
    if statement.target.kind == "system":
        return [Need("SUPERUSER", action="grant or revoke privileges on the system")]
    return [Need("OWNER", key) for key in targets(asked.state, asked.names, statement.target)]


def targets(state: CatalogState, names: SessionNames, target: Target) -> list[ObjectKey]:
    """The objects that privileges are on; UserError if there is none of a name."""
    if target.kind == "system":
        return [SYSTEM]
    if target.names:
        return [_named(names, target.kind, name) for name in target.names]
    schema_ids = _schemas_within(state, names, target)
    match target.kind:
        case "cluster":
            return [("cluster", id_) for id_ in state.clusters]
        case "database":
            return [("database", id_) for id_ in state.databases]
        case "schema":
            return [("schema", id_) for id_ in schema_ids]
    kinds = ("table", "view", "source") if target.kind == "table" else (target.kind,)
    return [
        ("item", item.id)
        for item in state.items.values()
        if item.kind in kinds and item.schema_id in schema_ids
    ]


def _named(names: SessionNames, kind: str, name: Name) -> ObjectKey:
    match kind:
        case "cluster":
            return "cluster", names.resolve_cluster(name.item).id
        case "database":
            return "database", names.resolve_database(name.item).id
        case "schema":
            schema = names.resolve_schema(name.parts)
            if schema.database_id is None:
                raise UserError(f"system schema '{schema.name}' cannot be modified", "42501")
            return "schema", schema.id
    kinds = ("table", "view", "source") if kind == "table" else (kind,)
    return "item", names.resolve_item(name.parts, *kinds).id


def _schemas_within(state: CatalogState, names: SessionNames, target: Target) -> list[str]:
    if target.within_kind is None:
        return list(state.schemas)
    if target.within_kind == "schema":
        return [_named(names, "schema", name)[1] for name in target.within]
    databases = [names.resolve_database(name.item).id for name in target.within]
    return [schema.id for id_ in databases for schema in state.schemas_of(id_)]


def _default_privileges(asked: Asked, statement: AlterDefaultPrivileges) -> Iterable[Need]:
    return _members(asked, statement.owners)


def _owned(asked: Asked, statement: DropOwned | ReassignOwned) -> Iterable[Need]:
    owner = (statement.owner,) if isinstance(statement, ReassignOwned) else ()
    return _members(asked, [*statement.roles, *owner])


RIGHTS: Final[Mapping[type, Needs]] = {
    CreateDatabase: _system("CREATEDB"),
    CreateSchema: _schema,
    CreateCluster: _system("CREATECLUSTER"),
    CreateSecret: _created,
    CreateConnection: _created,
    CreateSource: _source,
    CreateSubsource: nothing,  # refused, whoever asks
    CreateTable: _table,
    CreateTableFromSource: _from_source,
    CreateTableFromWebhook: _webhook,
    CreateView: _view,
    Drop: _drop,
    AlterRename: _rename,
    AlterSwap: _swap,
    AlterCluster: _owner("cluster"),
    AlterSecret: _owner("secret"),
    AlterConnection: _alter_connection,
    AlterSource: _owner("source"),
    AlterSourceAdd: _add_subsource,
    AlterSourceDrop: _drop_subsource,
    AlterTable: _owner("table"),
    AlterTableAddColumn: _owner("table"),
    AlterSystem: nothing,  # the operator's, by the address (operator.py)
    CommentOn: _comment,
    ValidateConnection: lambda asked, statement: _on(asked, "USAGE", "connection", statement.name),
    VerifyTable: lambda asked, statement: _on(asked, "SELECT", "table", statement.name),
    CreateRole: _create_role,
    AlterRole: _alter_role,
    GrantRole: _membership,
    RevokeRole: _membership,
    GrantPrivileges: _granted,
    RevokePrivileges: _granted,
    AlterOwner: _alter_owner,
    AlterDefaultPrivileges: _default_privileges,
    DropOwned: _owned,
    ReassignOwned: _owned,
    Insert: _written("INSERT"),
    Update: _written("UPDATE"),
    Delete: _written("DELETE"),
    CopyFrom: _written("INSERT"),
    LockTable: _locked,
    Select: reads,
    Subscribe: reads,
    CopyTo: reads,
    Declare: reads,
    Execute: reads,  # as the statement that was prepared
    Explain: reads,
    Fetch: nothing,
    Close: nothing,
    Prepare: nothing,  # asked when it is executed
    Deallocate: nothing,
    ExplainMigration: nothing,
    ShowObjects: nothing,  # the catalog is public
    ShowColumns: nothing,
    ShowCreate: nothing,
    ShowPrivileges: nothing,
    ShowVariable: nothing,
    SetVariable: nothing,
    SetTransaction: nothing,
    Reset: nothing,
    Discard: nothing,
    Begin: nothing,
    Commit: nothing,
    Rollback: nothing,
    RollbackTo: nothing,
    Savepoint: nothing,
    ReleaseSavepoint: nothing,
    Unlisten: nothing,
}
