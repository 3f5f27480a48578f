"""SHOW: rewritten to a query over system relations, so that it can stand wherever a query can."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog.rights import memberships_of
from headwater.catalog.snapshot import SessionNames, with_article
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.legacy_sources import subsources_of
from headwater.coordinator.variables import find
from headwater.core.errors import InvariantViolation, UserError
from headwater.sources.dialects import DIALECTS
from headwater.sql.cursor import Name, quote_identifier, quote_string
from headwater.sql.outputs import AllTables, Output, TheseTables
from headwater.sql.parse import parse_show, parse_statement
from headwater.sql.render import redact
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.show_columns import ShowColumns
from headwater.sql.statements.show_create import ShowCreate
from headwater.sql.statements.show_objects import ShowObjects
from headwater.sql.statements.show_privileges import ShowPrivileges
from headwater.sql.statements.show_variable import ShowVariable
from headwater.sql.upstream import EXCLUDE_COLUMNS, TEXT_COLUMNS

# kind -> (relation, columns); each relation has schema_id unless it says otherwise below
_OBJECTS = {
    "sources": ("mz_show_sources", "name, type, cluster, comment"),
    "tables": ("mz_show_tables", "name, comment"),
    "views": ("mz_show_views", "name, comment"),
    "connections": ("mz_show_connections", "name, type, comment"),
    "secrets": ("mz_show_secrets", "name, comment"),
    "types": ("mz_show_types", "name, comment"),
    "materialized views": ("mz_show_materialized_views", "name, cluster, comment"),
    "sinks": ("mz_show_sinks", "name, type, cluster, comment"),
    "indexes": ("mz_show_indexes", 'name, "on", cluster, key, comment'),
    "objects": ("mz_show_all_objects", "name, type, comment"),
}
_GLOBAL = {
    "databases": ("mz_show_databases", "name, comment"),
    "roles": ("mz_show_roles", "name, comment"),
    "clusters": ("mz_show_clusters", "name, replicas, activity, comment"),
    "cluster replicas": ("mz_show_cluster_replicas", "cluster, replica, size, ready, comment"),
}


_RIGHTS = {
    "privileges": (
        "mz_show_all_privileges",
        "grantor, grantee, database, schema, name, object_type, privilege_type",
    ),
    "default privileges": (
        "mz_show_default_privileges",
        "object_owner, database, schema, object_type, grantee, privilege_type",
    ),
    "role membership": ("mz_show_role_members", "role, member, grantor"),
}


def query_text(
    names: SessionNames, statement: ShowObjects | ShowColumns | ShowCreate | ShowPrivileges
) -> str:
    """The query that answers the SHOW."""
    match statement:
        case ShowPrivileges():
            return _privileges(names, statement)
        case ShowColumns():
            return _columns(names, statement)
        case ShowCreate():
            return _create(names, statement)
        case ShowObjects():
            return _objects(names, statement)


def relation_text(names: SessionNames, text: str) -> str:
    """The query behind a SHOW statement that stands in FROM, given by its text."""
    statement = parse_show(text)
    if not isinstance(statement, ShowVariable):
        return query_text(names, statement)
    if statement.variable is None:
        return "SELECT name, setting, short_desc AS description FROM pg_catalog.pg_settings"
    name = find(statement.variable).name
    column = quote_identifier(name)
    return f"SELECT setting AS {column} FROM pg_catalog.pg_settings WHERE name = {quote_string(name)}"


def _filtered(inner: str, pattern: str | None, where: str | None, order: str) -> str:
    condition = ""
    if pattern is not None:
        condition = f" WHERE name LIKE {quote_string(pattern)}"
    elif where is not None:
        condition = f" WHERE {where}"
    return f"SELECT * FROM ({inner}) AS shown{condition} ORDER BY {order}"


def _objects(names: SessionNames, statement: ShowObjects) -> str:
    if statement.kind in _GLOBAL:
        relation, columns = _GLOBAL[statement.kind]
        inner = f"SELECT {columns} FROM mz_internal.{relation}"
        order = "cluster, replica" if statement.kind == "cluster replicas" else "name"
        return _filter(statement, inner, order)
    if statement.kind == "schemas":
        database = names.resolve_database(statement.from_.item if statement.from_ else names.database)
        inner = (
            "SELECT name, comment FROM mz_internal.mz_show_schemas"
            f" WHERE database_id IS NULL OR database_id = {quote_string(database.id)}"
        )
        return _filter(statement, inner, "name")
    if statement.kind == "subsources":
        return _subsources(names, statement)
    if statement.kind == "references":
        return _references(names, statement)
    relation, columns = _OBJECTS[statement.kind]
    conditions = [_schema_condition(names, statement.from_)] if statement.on is None else []
    if statement.on is not None:
        conditions.append(_on_condition(names, statement))
    if statement.cluster is not None:
        conditions.append(f"cluster = {quote_string(names.resolve_cluster(statement.cluster).name)}")
    inner = f"SELECT {columns} FROM mz_internal.{relation} WHERE {' AND '.join(conditions)}"
    return _filter(statement, inner, "name")


def _privileges(names: SessionNames, statement: ShowPrivileges) -> str:
    """What a role has is also what everybody has, and what the roles have that it is a member of."""
    relation, columns = _RIGHTS[statement.what]
    conditions = []
    if statement.on is not None:
        kinds = ("table", "view", "source") if statement.on == "table" else (statement.on,)
        conditions.append(f"object_type IN ({', '.join(map(quote_string, kinds))})")
    if statement.role is not None:
        column = "member" if statement.what == "role membership" else "grantee"
        holders = [*_roles_of(names.state, statement.role), *(("PUBLIC",) if column == "grantee" else ())]
        conditions.append(f"{column} IN ({', '.join(map(quote_string, holders))})")
    condition = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    inner = f"SELECT {columns} FROM mz_internal.{relation}{condition}"
    where = None if statement.where is None else statement.where.text
    return _filtered(inner, None, where, columns)


def _roles_of(state: CatalogState, name: str) -> list[str]:
    """A role and those that it is a member of, by name."""
    role = state.role_named(name)
    if role is None:
        raise UserError(f'role "{name}" does not exist', "42704")
    return sorted(state.roles[id_].name for id_ in memberships_of(state, role.id))


def _filter(statement: ShowObjects, inner: str, order: str) -> str:
    where = statement.filter.where
    return _filtered(inner, statement.filter.like, None if where is None else where.text, order)


def _schema_condition(names: SessionNames, from_: Name | None) -> str:
    if from_ is not None:
        return f"schema_id = {quote_string(names.resolve_schema(from_.parts).id)}"
    schema = names.current_schema()
    if schema is None:
        raise UserError(
            "no schema has been selected", "3F000", hint="SHOW ... FROM a_schema, or SET search_path."
        )
    return f"schema_id = {quote_string(schema.id)}"


def _on_condition(names: SessionNames, statement: ShowObjects) -> str:
    if statement.on is None:
        raise UserError(f"SHOW {statement.kind.upper()} needs ON", "42601")
    item = names.resolve_item(statement.on.parts)
    if statement.kind == "tables":
        if item.kind != "source":
            raise UserError(
                f"cannot show tables on {names.full_name(item)} because it is a {item.kind}", "42809"
            )
        return f"source_id = {quote_string(item.id)}"
    return f"on_id = {quote_string(item.id)}"


def _subsources(names: SessionNames, statement: ShowObjects) -> str:
    if statement.on is None:
        condition = _schema_condition(names, statement.from_)
    else:
        item = names.resolve_item(statement.on.parts)
        if item.kind != "source":
            raise UserError(
                f"cannot show subsources on {names.full_name(item)} because it is a {item.kind}", "42809"
            )
        progress = item.progress_id
        ids = [progress, *(s.id for s in subsources_of(names.state, item))] if progress is not None else []
        condition = f"id IN ({', '.join(map(quote_string, ids))})" if ids else "false"
    inner = (
        "SELECT name, type FROM mz_internal.mz_show_sources"
        f" WHERE type IN ('progress', 'subsource') AND {condition}"
    )
    return _filter(statement, inner, "name")


def _references(names: SessionNames, statement: ShowObjects) -> str:
    if statement.on is None:
        raise UserError("SHOW REFERENCES needs ON and a source", "42601", hint="SHOW REFERENCES ON a_source")
    item = names.resolve_item(statement.on.parts, "source")
    inner = (
        "SELECT namespace, name, columns, updated_at FROM mz_internal.mz_source_references"
        f" WHERE source_id = {quote_string(item.id)}"
    )
    return _filter(statement, inner, "namespace, name")


def _columns(names: SessionNames, statement: ShowColumns) -> str:
    without = names.find_item(statement.name.parts)
    if without is not None and without.kind in ("secret", "connection"):
        full = names.full_name(without)
        raise UserError(f"{full} is {with_article(without.kind)} and so does not have columns", "42809")
    relation = names.find_relation(statement.name.parts)
    inner = (
        "SELECT name, nullable, type, comment, position FROM mz_internal.mz_show_columns"
        f" WHERE id = {quote_string(relation.id)}"
    )
    where = statement.filter.where
    filtered = _filtered(inner, statement.filter.like, None if where is None else where.text, "position")
    return f"SELECT name, nullable, type, comment FROM ({filtered}) AS shown ORDER BY position"


def _create(names: SessionNames, statement: ShowCreate) -> str:
    kind = statement.kind
    if kind == "cluster":
        cluster = names.resolve_cluster(statement.name.item)
        text = (
            f"CREATE CLUSTER {cluster.name} (REPLICATION FACTOR = {cluster.replication_factor},"
            f" SIZE = {quote_string(cluster.size)});"
        )
        return _pair(cluster.name, text)
    found = names.find_item(statement.name.parts)
    if found is None and names.find_relation(statement.name.parts).kind.startswith("system"):
        raise UserError(f"cannot show create for system object {statement.name}", "42809")
    item: Item = names.resolve_item(statement.name.parts)
    if item.kind != kind:
        raise UserError(f"{statement.name} is not a {kind}", "42809")
    text = _declared(names, item)
    return _pair(names.full_name(item), redact(text) if statement.redacted else text)


def _declared(names: SessionNames, item: Item) -> str:
    """What would make it again: a legacy source with the subsources it has now."""
    statement = parse_statement(item.create_sql)
    found = subsources_of(names.state, item) if item.progress_id is not None else []
    if not found or not isinstance(statement, CreateSource):
        return item.create_sql
    outputs, text, excluded = [], [], []
    for subsource in found:
        declared = parse_statement(subsource.create_sql)
        if not isinstance(declared, CreateSubsource) or declared.external_reference is None:
            raise InvariantViolation(f"{subsource.id} is not a subsource: {subsource.create_sql[:80]}")
        reference = declared.external_reference
        outputs.append(Output(reference, declared.name))
        text += [Name((*reference.parts, column)) for column in declared.text_columns]
        excluded += [Name((*reference.parts, column)) for column in declared.exclude_columns]
    if not DIALECTS[names.state.source_type(item)].chooses_subsources:
        return replace(statement, outputs=AllTables()).render()
    columns = {TEXT_COLUMNS: tuple(text), EXCLUDE_COLUMNS: tuple(excluded)}
    upstream = statement.upstream.with_options(columns)
    return replace(statement, upstream=upstream, outputs=TheseTables(tuple(outputs))).render()


def _pair(name: str, text: str) -> str:
    return f"SELECT {quote_string(name)} AS name, {quote_string(text)} AS create_sql"
