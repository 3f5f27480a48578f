"""DROP: with everything that depends on it, or not at all."""

from __future__ import annotations

from headwater.catalog import updates
from headwater.catalog.apply import mentions
from headwater.catalog.rights import named
from headwater.catalog.state import CatalogState, Item, ObjectKey, Role
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import (
    CASCADE_HINT,
    DdlScope,
    Outcome,
    cascades_to,
    check_restrict,
    does_not_exist,
)
from headwater.coordinator.naming_roles import check_ours, role_named
from headwater.coordinator.operator import check_stays
from headwater.core.errors import UserError
from headwater.core.limits import DEPENDENTS_SHOWN_MAX
from headwater.sql.cursor import Name
from headwater.sql.statements.drop import Drop


def plan(scope: DdlScope, statement: Drop) -> Outcome:
    """Names of one statement do not block one another."""
    tag = f"DROP {statement.kind.upper()}"
    match statement.kind:
        case "database":
            return _databases(scope, statement, tag)
        case "schema":
            return _schemas(scope, statement, tag)
        case "cluster":
            return _clusters(scope, statement, tag)
        case "role":
            return _roles(scope, statement, tag)
        case _:
            return _items(scope, statement, tag)


def _items(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    found: list[Item] = []
    notices = []
    for name in statement.names:
        item = _find(scope, statement, name)
        if item is None:
            notices.append(does_not_exist(statement.kind, str(name)))
        else:
            found.append(item)
    ids = [item.id for item in found]
    order = scope.state.drop_order(ids)
    if not statement.cascade:
        for item in found:
            check_restrict(scope.state, item, set(ids))
    changes = tuple(updates.DropItem(id_) for id_ in order)
    # Without CASCADE all that goes besides is a source's progress relation, which is a part of it.
    besides = cascades_to(scope, changes, ids) if statement.cascade else ()
    return Outcome(tag, changes, notices=(*notices, *besides))


def _find(scope: DdlScope, statement: Drop, name: Name) -> Item | None:
    if statement.if_exists and scope.names.find_item(name.parts) is None:
        return None
    return scope.names.resolve_item(name.parts, statement.kind)


def _with_items(
    scope: DdlScope, tag: str, items: list[Item], containers: list[updates.Update], notices: list[Notice]
) -> Outcome:
    """Drops the items of all containers at once: what depends on two of them goes once.  Then these."""
    order = scope.state.drop_order(item.id for item in items)
    inside = [updates.DropItem(id_) for id_ in order]
    # A schema that was named is no news; one that goes with its database is.
    gone = [*inside, *(c for c in containers if tag == "DROP DATABASE")]
    changes = (*inside, *dict.fromkeys(containers))
    return Outcome(tag, changes, notices=(*notices, *cascades_to(scope, dict.fromkeys(gone))))


def _databases(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    items: list[Item] = []
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.state.database_named(name.item) is None:
            notices.append(does_not_exist("database", name.item))
            continue
        database = scope.names.resolve_database(name.item)
        check_stays(scope.operator, "database", (database.name,), "dropped")
        schemas = scope.state.schemas_of(database.id)
        if schemas and not statement.cascade:
            raise UserError(
                f"database '{database.name}' cannot be dropped with RESTRICT while it contains schemas",
                "2BP01",
            )
        items += [item for schema in schemas for item in scope.state.items_of(schema.id)]
        changes += [updates.DropSchema(schema.id) for schema in schemas]
        changes.append(updates.DropDatabase(database.id))
    return _with_items(scope, tag, items, changes, notices)


def _schemas(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    items: list[Item] = []
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.names.find_schema(name.parts) is None:
            notices.append(does_not_exist("schema", str(name)))
            continue
        schema = scope.names.resolve_schema(name.parts)
        if schema.database_id is None:
            raise UserError(f"cannot drop system schema '{schema.name}'", "42501")
        database = scope.state.databases[schema.database_id]
        check_stays(scope.operator, "schema", (database.name, schema.name), "dropped")
        if scope.state.items_of(schema.id) and not statement.cascade:
            full = scope.names.schema_full_name(schema)
            raise UserError(
                f"schema '{full}' cannot be dropped without CASCADE while it contains objects", "2BP01"
            )
        items += scope.state.items_of(schema.id)
        changes.append(updates.DropSchema(schema.id))
    return _with_items(scope, tag, items, changes, notices)


def _clusters(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    items: list[Item] = []
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.state.cluster_named(name.item) is None:
            notices.append(does_not_exist("cluster", name.item))
            continue
        cluster = scope.names.resolve_cluster(name.item)
        check_stays(scope.operator, "cluster", (cluster.name,), "dropped")
        here = scope.state.items_of_cluster(cluster.id)
        if here and not statement.cascade:
            first = next((item for item in here if item.parent_id is None), here[0])
            raise UserError(
                f'cannot drop cluster "{cluster.name}": still depended upon by {first.kind} "{first.name}"',
                "2BP01",
                hint=CASCADE_HINT,
            )
        items += here
        changes.append(updates.DropCluster(cluster.id))
    return _with_items(scope, tag, items, changes, notices)


def _roles(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    """Roles that own nothing and were granted nothing; memberships go along."""
    changes: list[updates.Update] = []
    notices: list[Notice] = []
    for name in statement.names:
        if statement.if_exists and scope.state.role_named(name.item) is None:
            notices.append(does_not_exist("role", name.item))
            continue
        role = role_named(scope, name.item)
        check_ours(role)
        if role.id == scope.who.role_id:
            raise UserError("current role cannot be dropped", "55006")
        needed = mentions(scope.state, role.id)
        if needed:
            raise _needed(scope.state, role, needed)
        changes.append(updates.DropRole(role.id))
    return Outcome(tag, tuple(dict.fromkeys(changes)), notices=tuple(notices))


def _needed(state: CatalogState, role: Role, needed: list[ObjectKey]) -> UserError:
    lines = []
    for key in needed[:DEPENDENTS_SHOWN_MAX]:
        if key[0] == "default":
            lines.append("default privileges")
            continue
        text = named(state, key, quote=False)
        kind, _, name = text.partition(" ")
        owner = key in state.grants and not any(g.grantee_id == role.id for g in state.grants[key])
        verb = "owner of" if owner or key not in state.grants else "privileges for"
        lines.append(f"{verb} {kind.lower()} {name}".rstrip())
    if len(needed) > DEPENDENTS_SHOWN_MAX:
        lines.append(f"and {len(needed) - DEPENDENTS_SHOWN_MAX} more")
    return UserError(
        f'role "{role.name}" cannot be dropped because some objects depend on it',
        "2BP01",
        detail="\n".join(lines),
        hint=f"REASSIGN OWNED BY {role.name} TO another role, then DROP OWNED BY {role.name}.",
    )
