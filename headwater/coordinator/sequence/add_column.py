"""ALTER TABLE .. ADD COLUMN on a table from a source: the column is filled for all rows, then it is there."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.details import FedTable, Widening
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator import growing
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Outcome, Question, check_column_names, does_not_exist
from headwater.coordinator.exports import (
    answer_about,
    ask,
    check_goes_on,
    check_there,
    in_order,
    lenient,
    pinned,
)
from headwater.coordinator.widening import cut_over
from headwater.core.errors import UserError
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Reference
from headwater.sql.statements.alter_table_add_column import AlterTableAddColumn

_TAG = "ALTER TABLE"


def question(scope: DdlScope, statement: AlterTableAddColumn) -> Question | None:
    """What the upstream has now."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return None
    item = scope.names.resolve_item(statement.name.parts, "table")
    fed, ingestion = _fed(scope.state, item)
    if SOURCE_TYPES[ingestion.ingestion.source_type].grown is not None:
        return growing.question(scope, ingestion, item, tuple(column.name for column in statement.columns))
    name = fed.export.reference[-1]
    return lambda secrets: ask(scope.state, ingestion, secrets, name)


def plan(scope: DdlScope, statement: AlterTableAddColumn) -> Outcome:
    """The table will have the columns, when they are filled."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(_TAG, notices=(does_not_exist("table", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "table")
    fed, ingestion = _fed(scope.state, item)
    if fed.widening is not None:
        raise UserError(
            f'columns are being added to table "{item.name}" already',
            "55006",
            hint="Try again when they are there; mz_internal.mz_source_statistics shows how far it is.",
        )
    added, notices = _added(item, statement)
    if not added:
        return Outcome(_TAG, notices=tuple(notices))
    export = fed.export
    check_goes_on(scope, ingestion)
    if SOURCE_TYPES[ingestion.ingestion.source_type].grown is None:
        wide = _wide(scope, export, added, _taken(scope, ingestion, export, added, statement))
        widening = Widening(wide, added, statement.text_columns)
    else:
        grown = growing.answer(scope, ingestion, item, added, statement)
        wide = _wide(scope, export, added, grown.taken)
        widening = Widening(wide, added, include=grown.include, names=grown.names)
    widened = replace(fed, widening=widening)
    cut_over(scope.state, replace(item, details=widened))  # what cannot be then is said now
    return Outcome(
        _TAG,
        (updates.UpdateItem(item.id, details=widened),),
        notices=tuple(notices),
        until=lambda coordinator: coordinator.widenings.finished(item.id, wide.table_id),
    )


def _fed(state: CatalogState, item: Item) -> tuple[FedTable, Item]:
    """The table, and what ingests for it."""
    if not isinstance(item.details, FedTable):
        raise UserError(
            f'cannot add a column to table "{item.name}": it is not fed by a source',
            "0A000",
            hint="Create a table with the column, and fill it with INSERT .. SELECT.",
        )
    return item.details, state.items[item.details.source_id]


def _added(item: Item, statement: AlterTableAddColumn) -> tuple[tuple[str, ...], list[Notice]]:
    names = [column.name for column in statement.columns]
    check_column_names(names)
    notices, added = [], []
    there = item.relation.column_names()
    for column in statement.columns:
        text = f'column "{column.name}" of relation "{item.name}" already exists'
        if column.name not in there:
            added.append(column.name)
        elif column.if_not_exists:
            notices.append(Notice("NOTICE", f"{text}, skipping", "42701"))
        else:
            raise UserError(text, "42701")
    unknown = [name for name in statement.text_columns if name not in added]
    if unknown:
        raise UserError(f'TEXT COLUMNS names "{unknown[0]}", which is not added', "42703")
    return tuple(added), notices


def _taken(
    scope: DdlScope,
    ingestion: Item,
    export: Export,
    added: tuple[str, ...],
    statement: AlterTableAddColumn,
) -> Reference:
    """What is upstream, with the table's columns as they are, then the new ones."""
    answer, type_ = answer_about(scope, ingestion), SOURCE_TYPES[ingestion.ingestion.source_type]
    reference = next((r for r in answer.references if r.path() == export.reference), None)
    if reference is None:
        raise UserError(f"reference to {'.'.join(export.reference)} not found in source", "42P01")
    available = reference.relation.column_names()
    check_there(reference, added)
    wanted = (*export.columns, *added)
    text = (*type_.taken_as_text(export.pinned), *statement.text_columns)
    others = () if type_.pin is None else tuple(name for name in available if name not in wanted)
    missing = [name for name in export.columns if name not in available]
    if missing:
        raise _changed(scope, export, missing[0])
    taken = in_order(pinned(type_, ingestion.ingestion.options, reference, text, others), wanted)
    if not type_.same_reference(export.pinned, taken.pinned):
        raise _changed(scope, export, "what has the name")
    _check_same(scope, export, taken)
    return taken


def _wide(scope: DdlScope, export: Export, added: tuple[str, ...], taken: Reference) -> Export:
    """The export as it will be."""
    columns = (*export.relation.columns, *taken.relation.columns[len(export.columns) :])
    relation = Relation(columns, taken.relation.keys)
    kept = export.on_value_error
    check_column_names([column.name for column in columns])
    id_, _ = scope.new_item()
    return replace(
        export,
        table_id=id_,
        relation=relation if kept.fails else lenient(relation, taken),
        columns=(*export.columns, *added),
        options=(("batch", id_), ("widens", export.table_id), *taken.export_options, *kept.options()),
        pinned=taken.pinned,
    )


def _check_same(scope: DdlScope, export: Export, taken: Reference) -> None:
    """What the table has must be upstream as it was."""
    for place, name in enumerate(export.columns):
        same = export.relation.columns[place].type == taken.relation.columns[place].type
        if not same or export.pinned.of_column(place) != taken.pinned.of_column(place):
            raise _changed(scope, export, name)
    if taken.discipline != export.discipline:
        raise _changed(scope, export, "the key")


def _changed(scope: DdlScope, export: Export, what: str) -> UserError:
    return UserError(
        f"incompatible schema change: {what} of {'.'.join(export.reference)} is not what it was",
        "55000",
        hint="Create a second table on the same reference and ALTER TABLE .. SWAP WITH it.",
    )
