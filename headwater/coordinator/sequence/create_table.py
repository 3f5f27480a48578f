"""CREATE TABLE: a plain table, written with INSERT, UPDATE, DELETE and COPY."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.details import PlainTable
from headwater.catalog.state import TEMPORARY_SCHEMA_ID, Item
from headwater.coordinator.ddl import (
    DdlScope,
    Outcome,
    already_exists,
    check_column_names,
    refuse_partition_by,
)
from headwater.core.errors import UserError
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.core.relation import Column, Relation
from headwater.sql.cursor import Name, SqlText
from headwater.sql.select import pin_moments, plan_expression
from headwater.sql.statements.create_table import ColumnDefinition, CreateTable


def plan(scope: DdlScope, statement: CreateTable) -> Outcome:
    """Columns, NOT NULL and defaults are kept as they were written."""
    tag = "CREATE TABLE"
    pid = scope.backend_pid if statement.temporary else None
    if statement.temporary:
        schema_id, name = TEMPORARY_SCHEMA_ID, statement.name.parts[-1]
    else:
        schema, name = scope.names.place(statement.name.parts)
        schema_id = schema.id
    if statement.if_not_exists and scope.state.item_named(schema_id, name, pid) is not None:
        return Outcome(tag, notices=(already_exists("table", name),))
    refuse_partition_by(statement.partition_by)
    definitions = tuple(_pinned(scope, definition) for definition in statement.columns)
    columns = tuple(
        Column(given.name, given.type, given.nullable, None if given.default is None else given.default.text)
        for given in definitions
    )
    check_column_names([column.name for column in columns])
    retain = statement.retain_history
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema_id,
        name,
        "table",
        "",
        Relation(columns),
        details=PlainTable(RETAIN_HISTORY_MS_DEFAULT if retain is None else retain.milliseconds),
        created_at_ms=scope.now_ms,
        temporary_pid=pid,
    )
    named = Name(scope.names.full_name_parts(item))
    full = replace(statement, name=named, columns=definitions, if_not_exists=False)
    item = replace(item, create_sql=full.render())
    return Outcome(tag, (updates.CreateItem(item),), (updates.NameFree(schema_id, name, pid),))


def _pinned(scope: DdlScope, definition: ColumnDefinition) -> ColumnDefinition:
    """The column with a default that is the same in every session."""
    default = definition.default
    if default is None:
        return definition
    # Planned now so that a default that cannot work is refused before a row needs it.
    column = Column(definition.name, definition.type, definition.nullable, default.text)
    query = plan_expression(default.text, scope.names, scope.facts, (), column, (), default.offset)
    if query.relation_ids:
        raise UserError("cannot use subquery in DEFAULT expression", "0A000", position=default.offset + 1)
    return replace(definition, default=SqlText(pin_moments(default.text, query), default.offset))
