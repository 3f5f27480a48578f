"""ALTER TABLE .. ADD COLUMN on a table from a source: the column is filled for all rows, then it is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Outcome, Question, check_column_names, does_not_exist
from headwater.coordinator.exports import answer_about, ask
from headwater.coordinator.widening import begun, cut_over
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
    ingestion = _ingestion(scope.state, item)
    name = item.details["export"]["reference"][-1]
    return lambda secrets: ask(scope.state, ingestion, secrets, name)


def plan(scope: DdlScope, statement: AlterTableAddColumn) -> Outcome:
    """The table will have the columns, when they are filled."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(_TAG, notices=(does_not_exist("table", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "table")
    ingestion = _ingestion(scope.state, item)
    if item.widening is not None:
        raise UserError(
            f'columns are being added to table "{item.name}" already',
            "55006",
            hint="Try again when they are there; mz_internal.mz_source_statistics shows how far it is.",
        )
    added, notices = _added(item, statement)
    if not added:
        return Outcome(_TAG, notices=tuple(notices))
    export = Export.from_json(item.details["export"])
    answer = answer_about(scope, ingestion)
    reference = next((r for r in answer.references if r.path() == export.reference), None)
    if reference is None:
        raise UserError(f"reference to {'.'.join(export.reference)} not found in source")
    wide = _wide(scope, answer.source_type, reference, export, added, statement)
    widening = {
        "export": wide.to_json(),
        "added": list(added),
        "text_columns": list(statement.text_columns),
    }
    planned = replace(item, details={**item.details, "widening": widening})
    cut_over(scope.state, planned)  # what cannot be then is said now
    return Outcome(
        _TAG,
        (begun(item, widening),),
        notices=tuple(notices),
        until=lambda world: world.widenings.finished(item.id, wide.table_id),
    )


def _ingestion(state: CatalogState, item: Item) -> Item:
    if item.source_id is None:
        raise UserError(
            f'cannot add a column to table "{item.name}": it is not fed by a source',
            "0A000",
            hint="Create a table with the column, and fill it with INSERT .. SELECT.",
        )
    return state.items[item.source_id]


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
        raise UserError(f'TEXT COLUMNS names "{unknown[0]}", which is not added')
    return tuple(added), notices


def _wide(
    scope: DdlScope,
    source_type: str,
    reference: Reference,
    export: Export,
    added: tuple[str, ...],
    statement: AlterTableAddColumn,
) -> Export:
    """The export as it will be: its columns as they are, then the new ones."""
    type_ = SOURCE_TYPES[source_type]
    available = reference.relation.column_names()
    for name in added:
        if name not in available:
            others = ", ".join(c for c in available if c not in export.columns)
            raise UserError(
                f'column "{name}" does not exist in {".".join(export.reference)}',
                "42703",
                hint=f"There are {others}." if others else "The table has all that there are.",
            )
    wanted = (*export.columns, *added)
    was_text = [c["name"] for c in (export.details or {}).get("columns", ()) if c["text"]]
    excluded = tuple(name for name in available if name not in wanted)
    missing = [name for name in export.columns if name not in available]
    if missing:
        raise _changed(scope, export, missing[0])
    pinned = _in_order(
        type_.pin(reference, (*was_text, *statement.text_columns), excluded), export.columns, added
    )
    _check_same(scope, export, pinned)
    own = [column.name for column in export.relation.columns]
    columns = (*export.relation.columns, *pinned.relation.columns[len(own) :])
    check_column_names([column.name for column in columns])
    id_, _ = scope.new_item()
    return replace(
        export,
        table_id=id_,
        relation=Relation(columns, pinned.relation.keys),
        columns=wanted,
        options=(("batch", id_), ("widens", export.table_id)),
        details=pinned.details,
    )


def _in_order(reference: Reference, first: tuple[str, ...], then: tuple[str, ...]) -> Reference:
    """The same columns in another order; what is pinned of them follows."""
    there = reference.relation.column_names()
    places = [there.index(name) for name in (*first, *then)]
    where = {old: new for new, old in enumerate(places)}
    relation = Relation(
        tuple(reference.relation.columns[place] for place in places),
        tuple(tuple(where[place] for place in key) for key in reference.relation.keys),
    )
    details: Any = reference.details
    if details and "columns" in details:
        details = {**details, "columns": [details["columns"][place] for place in places]}
    return replace(reference, relation=relation, details=details)


def _check_same(scope: DdlScope, export: Export, pinned: Reference) -> None:
    """What the table has must be upstream as it was."""
    count = len(export.columns)
    before = (export.details or {}).get("columns") or [None] * count
    after = (pinned.details or {}).get("columns") or [None] * len(pinned.relation.columns)
    for place, name in enumerate(export.columns):
        same = export.relation.columns[place].type == pinned.relation.columns[place].type
        if not same or before[place] != after[place]:
            raise _changed(scope, export, name)
    if pinned.discipline != export.discipline:
        raise _changed(scope, export, "the key")


def _changed(scope: DdlScope, export: Export, what: str) -> UserError:
    return UserError(
        f"incompatible schema change: {what} of {'.'.join(export.reference)} is not what it was",
        hint="Create a second table on the same reference and ALTER TABLE .. SWAP WITH it.",
    )
