"""Tables of messages that get more columns: what their clauses come to by now.

    question    the clauses of the table's own statement are resolved anew, by the newest schemas;
                what is asked for and is no field may be a part of each message, which INCLUDE then adds
    answer      pure: that, as the table takes it

Not here: whether a table can go on with what there is now (the kind's `grown`), and how it is filled
(cluster/widening.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Question
from headwater.coordinator.exports import ask, encoder, in_order
from headwater.coordinator.upstreams import changed_meanwhile
from headwater.core.errors import InvariantViolation, UserError
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Options, Reference, Secrets
from headwater.sql.encoding import INCLUDABLE, Encoding
from headwater.sql.parse import parse_statement
from headwater.sql.statements.alter_table_add_column import AlterTableAddColumn
from headwater.sql.statements.create_table_from_source import CreateTableFromSource


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What the clauses come to, of a source with these options."""

    options: Options
    reference: Reference
    include: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """The reference as the table takes it, and what its statement says more."""

    taken: Reference
    include: tuple[str, ...]
    names: tuple[str, ...]  # of all columns by the reference's order, if the statement lists names


def question(scope: DdlScope, ingestion: Item, item: Item, wanted: Sequence[str]) -> Question:
    """The reference of a table, by what its registries have now."""
    export, encoding = _export(item), _statement(item).encoding
    kept = ingestion.ingestion.options

    def resolved(secrets: Secrets) -> _Resolved:
        reference = _reference(scope, ingestion, export, encoding, secrets)
        there = reference.relation.column_names()
        more = tuple(name for name in wanted if name in INCLUDABLE and name not in there)
        if more:
            reference = _reference(scope, ingestion, export, encoding.including(more), secrets)
        return _Resolved(kept, reference, more)

    return resolved


def _reference(
    scope: DdlScope, ingestion: Item, export: Export, encoding: Encoding, secrets: Secrets
) -> Reference:
    type_ = SOURCE_TYPES[ingestion.ingestion.source_type]
    name = export.reference[-1]
    found = ask(scope.state, ingestion, secrets, name, encoder(scope, type_, encoding)).references
    reference = next((r for r in found if r.path() == export.reference), None)
    if reference is None:
        raise UserError(f"reference to {'.'.join(export.reference)} not found in source", "42P01")
    return reference


def answer(
    scope: DdlScope, ingestion: Item, item: Item, added: tuple[str, ...], statement: AlterTableAddColumn
) -> Grown:
    """What was said, if it was about the source as it is now."""
    found, kind = scope.answer, SOURCE_TYPES[ingestion.ingestion.source_type]
    if not isinstance(found, _Resolved) or found.options != ingestion.ingestion.options:
        raise changed_meanwhile()
    if statement.text_columns:
        title = kind.title(found.options)
        raise UserError(
            f"TEXT COLUMNS is not supported with {title} sources",
            "0A000",
            hint="Their columns are taken as they are; leave it out.",
        )
    if kind.grown is None:
        raise InvariantViolation(f"tables of {kind.name} are not of messages")
    export = _export(item)
    reference = kind.grown(export, found.reference, added)
    ours = dict(zip(export.columns, export.relation.column_names(), strict=True))
    names = tuple(ours.get(name, name) for name in reference.relation.column_names())
    include = tuple(name for name in found.include if name in added)
    taken = in_order(reference, (*export.columns, *added))
    return Grown(taken, include, names if _statement(item).columns else ())


def _export(item: Item) -> Export:
    return item.fed_export


def _statement(item: Item) -> CreateTableFromSource:
    statement = parse_statement(item.create_sql)
    if not isinstance(statement, CreateTableFromSource):
        raise InvariantViolation(f"{item.id} is no table from a source: {item.create_sql[:80]}")
    return statement
