"""CREATE TABLE ... FROM SOURCE: resolve the reference, freeze columns and discipline, join the source."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Final

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, Question, already_exists, check_column_names
from headwater.coordinator.source_details import full_options
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.core.errors import UserError
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Reference
from headwater.sources.postgres.pin import PREFIX
from headwater.sql.cursor import Name
from headwater.sql.statements.create_table_from_source import CreateTableFromSource

POSTGRES: Final = "postgres"


def question(scope: DdlScope, statement: CreateTableFromSource) -> Question | None:
    """What the source's upstream has now, not what it had when it was last listed."""
    source = scope.names.resolve_item(statement.source.parts, "source")
    schema, name = scope.names.place(statement.name.parts)
    if statement.if_not_exists and scope.state.item_named(schema.id, name) is not None:
        return None
    source_type = SOURCE_TYPES[source.details["source_type"]]
    kept, options = source.details["options"], full_options(scope.state, source.details["options"])
    return lambda secrets: Answer(source_type.name, kept, source_type.references(options, secrets))


def plan(scope: DdlScope, statement: CreateTableFromSource) -> Outcome:
    """A new read-only table; any number may use the same reference."""
    tag = "CREATE TABLE"
    source = scope.names.resolve_item(statement.source.parts, "source")
    schema, name = scope.names.place(statement.name.parts)
    if statement.if_not_exists and scope.state.item_named(schema.id, name) is not None:
        return Outcome(tag, notices=(already_exists("table", name),))
    reference = _resolve(scope, source, statement)
    relation = _columns(reference, source, statement)
    item_id, oid = scope.new_item()
    export = Export(
        item_id,
        reference.path(),
        relation,
        reference.relation.column_names(),
        reference.discipline,
        (("batch", scope.batch),),
        reference.details,
    )
    retain = statement.retain_history
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "table",
        "",
        relation,
        dependencies=(source.id,),
        details={
            "source_id": source.id,
            "export": export.to_json(),
            "retain_history_ms": RETAIN_HISTORY_MS_DEFAULT if retain is None else retain.milliseconds,
        },
        created_at_ms=scope.now_ms,
    )
    full = replace(
        statement,
        name=Name(scope.names.full_name_parts(item)),
        source=Name(scope.names.full_name_parts(source)),
        reference=Name(reference.path()),
        if_not_exists=False,
    )
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (updates.NameFree(schema.id, name), updates.ItemExists(source.id, source.name)),
    )


def _resolve(scope: DdlScope, source: Item, statement: CreateTableFromSource) -> Reference:
    """The reference that 0 to 3 parts mean, matched from the end, as the table takes it."""
    answer = answer_of(scope)
    if answer.options != source.details["options"]:
        raise changed_meanwhile()
    available = answer.references
    wanted = statement.reference.parts if statement.reference is not None else ()
    if not wanted and answer.source_type == POSTGRES:
        raise UserError(
            f"{PREFIX}missing TABLES specification",
            hint="Say which table is wanted: CREATE TABLE .. FROM SOURCE .. (REFERENCE schema.table)",
        )
    matching = [r for r in available if not wanted or r.path()[-len(wanted) :] == wanted]
    text = ".".join(wanted)
    position = statement.reference.position if statement.reference is not None else 0
    if len(matching) > 1:
        raise UserError(
            f"reference {text} is ambiguous, consider specifying an additional layer of qualification",
            position=position,
            hint="It could be " + ", ".join(f'"{".".join(r.path())}"' for r in matching) + ".",
        )
    if not matching:
        near = difflib.get_close_matches(wanted[-1], [r.name for r in available], n=1)
        suggestion = f'Did you mean "{near[0]}"?  ' if near else ""
        raise UserError(
            f"reference to {text} not found in source",
            detail=f'Source "{scope.full_name(source)}" has {len(available)} references now.',
            hint=f"{suggestion}ALTER SOURCE .. REFRESH REFERENCES,"
            " then SELECT name FROM mz_internal.mz_source_references lists them.",
            position=position,
        )
    pin = SOURCE_TYPES[answer.source_type].pin
    return pin(matching[0], statement.text_columns, statement.exclude_columns)


def _columns(reference: Reference, source: Item, statement: CreateTableFromSource) -> Relation:
    """The table's columns: the reference's, perhaps with other names."""
    relation = reference.relation
    if not statement.columns:
        try:
            check_column_names(relation.column_names())
        except UserError as error:
            raise replace(error, hint="WITH (EXCLUDE COLUMNS (..)) leaves a column out.") from None
        return relation
    if source.details["source_type"] == POSTGRES:
        raise UserError("columns cannot be named for Postgres sources")
    references = source.details["references"]
    if len(references) > 1:
        raise UserError("columns cannot be named for multi-output load generator sources")
    if len(statement.columns) != len(relation.columns):
        raise UserError(
            f"{len(statement.columns)} column names were given, but the reference has"
            f" {len(relation.columns)} columns",
            hint=f"It has {', '.join(relation.column_names())}.",
        )
    check_column_names(statement.columns)
    renamed = tuple(
        replace(column, name=new) for column, new in zip(relation.columns, statement.columns, strict=True)
    )
    return Relation(renamed, relation.keys)
