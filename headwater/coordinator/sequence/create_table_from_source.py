"""CREATE TABLE ... FROM SOURCE: resolve the reference, freeze columns and discipline, join the source."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, Question, already_exists, refuse_partition_by
from headwater.coordinator.exports import (
    answer_about,
    ask,
    check_goes_on,
    encoder,
    fed_table,
    find_reference,
    formats_connections,
    ingestion_named,
    named_in_full,
    shape,
    take,
    told,
)
from headwater.coordinator.source_form import missing_tables
from headwater.coordinator.variables import flag
from headwater.core.errors import UserError
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import OnValueError, Reference
from headwater.sources.dialects import DIALECTS
from headwater.sql.cursor import Name
from headwater.sql.statements.create_table_from_source import CreateTableFromSource


def question(scope: DdlScope, statement: CreateTableFromSource) -> Question | None:
    """What the source's upstream has now, not what it had when it was last listed."""
    if not flag(scope.state.system_variables, "enable_create_table_from_source"):
        raise UserError(
            "CREATE TABLE ... FROM SOURCE is not supported",
            "0A000",
            hint="ALTER SYSTEM SET enable_create_table_from_source = on allows it.",
        )
    _, ingestion = ingestion_named(scope, statement.source)
    schema, name = scope.names.place(statement.name.parts)
    if statement.if_not_exists and scope.state.item_named(schema.id, name) is not None:
        return None
    _check_named(ingestion, statement)
    wanted = None if statement.reference is None else statement.reference.item
    encode = encoder(scope, SOURCE_TYPES[ingestion.ingestion.source_type], statement.encoding)
    return lambda secrets: ask(scope.state, ingestion, secrets, wanted, encode)


def _check_named(ingestion: Item, statement: CreateTableFromSource) -> None:
    """What is needed to tell references apart is there."""
    dialect = DIALECTS[ingestion.ingestion.source_type]
    hint = dialect.reference_required(ingestion.ingestion.options)
    if statement.reference is None and hint is not None:
        raise missing_tables(dialect, hint)


def plan(scope: DdlScope, statement: CreateTableFromSource) -> Outcome:
    """A new read-only table; any number may use the same reference."""
    tag = "CREATE TABLE"
    source, ingestion = ingestion_named(scope, statement.source)
    schema, name = scope.names.place(statement.name.parts)
    existing = scope.state.item_named(schema.id, name)
    if statement.if_not_exists and existing is not None:
        return Outcome(tag, notices=(already_exists(existing.kind, name),))
    refuse_partition_by(statement.partition_by)
    check_goes_on(scope, ingestion)
    reference = _reference(scope, source, ingestion, statement)
    shaped = shape(reference, ingestion, statement.columns, statement.encoding)
    item_id, oid = scope.new_item()
    connections = formats_connections(scope, statement.encoding)
    rule = statement.on_value_error
    wanted = OnValueError() if rule is None else OnValueError(rule.action == "FAIL", rule.column)
    details = fed_table(
        *(scope, item_id, reference, shaped, ingestion.id, statement.retain_history, statement.encoding),
        wanted,
    )
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "table",
        "",
        details.export.visible,
        dependencies=(source.id, *(connection.id for connection in connections)),
        details=details,
        created_at_ms=scope.now_ms,
    )
    full = replace(
        statement,
        name=Name(scope.names.full_name_parts(item)),
        source=Name(scope.names.full_name_parts(source)),
        reference=Name(reference.path()),
        encoding=named_in_full(scope, statement.encoding),
        if_not_exists=False,
    )
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (
            updates.NameFree(schema.id, name),
            *(updates.ItemExists(used.id, used.name) for used in (source, *connections)),
        ),
        told(reference, statement.columns),
    )


def _reference(scope: DdlScope, source: Item, ingestion: Item, statement: CreateTableFromSource) -> Reference:
    """The reference, as the table takes it."""
    answer = answer_about(scope, ingestion)
    source_type = SOURCE_TYPES[answer.source_type]
    name = scope.full_name(source)
    found = find_reference(answer.references, statement.reference, name, answer.unlisted)
    source_type.check_table(found)
    return take(source_type, answer.options, found, statement)
