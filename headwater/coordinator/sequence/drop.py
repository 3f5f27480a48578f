"""DROP: with everything that depends on it, or not at all."""

from __future__ import annotations

from headwater.catalog import updates
from headwater.catalog.state import SYSTEM_SCHEMAS, CatalogState, Item
from headwater.coordinator.ddl import CASCADE_HINT, DdlScope, Outcome, check_restrict, does_not_exist
from headwater.core.errors import UserError
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
    return Outcome(tag, tuple(updates.DropItem(id_) for id_ in order), notices=tuple(notices))


def _find(scope: DdlScope, statement: Drop, name: Name) -> Item | None:
    if statement.if_exists and scope.names.find_item(name.parts) is None:
        return None
    return scope.names.resolve_item(name.parts, statement.kind)


def _drop_items_of(state: CatalogState, schema_ids: list[str]) -> tuple[updates.Update, ...]:
    ids = [item.id for schema_id in schema_ids for item in state.items_of(schema_id)]
    return tuple(updates.DropItem(id_) for id_ in state.drop_order(ids))


def _databases(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.state.database_named(name.item) is None:
            notices.append(does_not_exist("database", name.item))
            continue
        database = scope.names.resolve_database(name.item)
        schemas = scope.state.schemas_of(database.id)
        if schemas and not statement.cascade:
            raise UserError(
                f"database '{database.name}' cannot be dropped with RESTRICT while it contains schemas",
                "2BP01",
            )
        changes += _drop_items_of(scope.state, [schema.id for schema in schemas])
        changes += [updates.DropSchema(schema.id) for schema in schemas]
        changes.append(updates.DropDatabase(database.id))
    return Outcome(tag, tuple(changes), notices=tuple(notices))


def _schemas(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.names.find_schema(name.parts) is None:
            notices.append(does_not_exist("schema", str(name)))
            continue
        schema = scope.names.resolve_schema(name.parts)
        if schema.id in SYSTEM_SCHEMAS:
            raise UserError(f"cannot drop system schema '{schema.name}'", "42501")
        if scope.state.items_of(schema.id) and not statement.cascade:
            full = scope.names.schema_full_name(schema)
            raise UserError(
                f"schema '{full}' cannot be dropped without CASCADE while it contains objects", "2BP01"
            )
        changes += _drop_items_of(scope.state, [schema.id])
        changes.append(updates.DropSchema(schema.id))
    return Outcome(tag, tuple(changes), notices=tuple(notices))


def _clusters(scope: DdlScope, statement: Drop, tag: str) -> Outcome:
    changes: list[updates.Update] = []
    notices = []
    for name in statement.names:
        if statement.if_exists and scope.state.cluster_named(name.item) is None:
            notices.append(does_not_exist("cluster", name.item))
            continue
        cluster = scope.names.resolve_cluster(name.item)
        items = scope.state.items_of_cluster(cluster.id)
        if items and not statement.cascade:
            first = next((item for item in items if item.parent_id is None), items[0])
            raise UserError(
                f'cannot drop cluster "{cluster.name}": still depended upon by {first.kind} "{first.name}"',
                "2BP01",
                hint=CASCADE_HINT,
            )
        order = scope.state.drop_order([item.id for item in items])
        changes += [updates.DropItem(id_) for id_ in order]
        changes.append(updates.DropCluster(cluster.id))
    return Outcome(tag, tuple(changes), notices=tuple(notices))
