"""The migration: legacy sources become sources and tables, as values.

    before                                  after
    --------------------------------------  ----------------------------------------------
    many outputs    progress  p  "n_progress"   source  p  "n"
                    source    s  "n"            view    s  "n_progress", selects from p
                    subsource x                 table   x
    one output      progress  p  "n_progress"   source  p  "n_progress"
                    source    s  "n"            table   s  "n"

Ids, names, rows, owners and comments stay: whoever asks for a name finds the same rows
under it, and whoever remembers an id finds the same data under that.  Whatever ingests
went by p before and does so after, so that nothing of it stops.

All of it is one update of the catalog, or nothing is changed: `plan` refuses the whole if
it does not understand one of the statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import structlog

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.details import FedTable, View
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Comment, Item
from headwater.catalog.store import MZ_SYSTEM, CatalogStore
from headwater.coordinator.variables import flag
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.ids import id_number
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.sql.cursor import Name, SqlText, quote_identifier
from headwater.sql.encoding import Encoding
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_view import CreateView

log = structlog.get_logger("migration")


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one item; `after` is None when it is in the way, and `problem` says why."""

    before: Item
    after: Item | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of every item that changes, in order of creation."""

    steps: tuple[Step, ...]

    @property
    def problems(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.problem is not None)

    def updates(self, state: CatalogState) -> tuple[updates.Update, ...]:
        """All of it, for one transaction."""
        items = tuple(step.after for step in self.steps if step.after is not None)
        if not items:
            return ()
        return (updates.ReplaceItems(items), *_comments(state, self.steps), *_rights(state, self.steps))


class _Unknown(Exception):
    """An item whose statement cannot be moved."""


def plan(state: CatalogState) -> Plan:
    """What would become of everything, now."""
    steps: dict[str, Step] = {}
    current = state
    for id_ in sorted(state.items, key=id_number):
        if state.items[id_].progress_id is None:
            continue
        source = current.items[id_]
        try:
            moved = tuple(_one(current, source) if source.source_id is not None else _many(current, source))
            # One after the other: a view may read the progress of two sources.
            current = apply(current, updates.ReplaceItems(moved))
        except (_Unknown, UserError, InvariantViolation) as error:
            text = error.message if isinstance(error, UserError) else str(error)
            steps[id_] = Step(source, None, text)
            continue
        steps |= {item.id: Step(state.items[item.id], item) for item in moved}
    return Plan(tuple(steps[id_] for id_ in sorted(steps, key=id_number)))


def _many(state: CatalogState, source: Item) -> Iterable[Item]:
    """A source with subsources."""
    names = SessionNames(state)
    progress = state.ingestion_of(source)
    declared = _declared(source)
    name, progress_name = Name(names.full_name_parts(source)), Name(names.full_name_parts(progress))
    new_source = replace(
        _source(progress, source, declared, name),
        schema_id=source.schema_id,
        name=source.name,
    )
    columns = ", ".join(quote_identifier(column) for column in progress.relation.column_names())
    query = f"SELECT {columns} FROM {name}"
    yield new_source
    yield replace(
        source,
        schema_id=progress.schema_id,
        name=progress.name,
        kind="view",
        relation=progress.relation,
        create_sql=CreateView(progress_name, SqlText(query)).render(),
        definition=query,
        dependencies=(progress.id,),
        cluster_id=None,
        details=View(),
    )
    # Views of the progress relation find it under its name, which the source's id has now.
    for id_ in state.dependents.get(progress.id, ()):
        if id_ != source.id:
            dependent = state.items[id_]
            yield replace(dependent, dependencies=_exchanged(dependent, progress.id, source.id))
    for export in state.exports_of(progress.id):
        statement = _export_statement(export)
        if isinstance(statement, CreateSubsource):
            statement = _table(export, statement, name)
        yield replace(
            export,
            kind="table",
            create_sql=statement.render(),
            dependencies=_exchanged(export, source.id, progress.id),
            cluster_id=None,
        )


def _one(state: CatalogState, source: Item) -> Iterable[Item]:
    """A source with rows of its own."""
    names = SessionNames(state)
    progress = state.ingestion_of(source)
    declared = _declared(source)
    progress_name = Name(names.full_name_parts(progress))
    yield _source(progress, source, declared, progress_name)
    own = source.fed_export
    statement = CreateTableFromSource(
        declared.name,
        progress_name,
        Name(own.reference),
        declared.columns,
        retain_history=declared.retain_history,
        encoding=declared.encoding,
    )
    yield replace(
        source,
        kind="table",
        create_sql=statement.render(),
        dependencies=(progress.id, *_connections(state, declared.encoding)),
        cluster_id=None,
        details=FedTable(progress.id, own, source.retain_history_ms, source.encoding),
    )
    for export in state.exports_of(progress.id):
        if export.id != source.id:
            table = _export_statement(export)
            if not isinstance(table, CreateTableFromSource):
                raise _Unknown(f"{export.name} is not a table: {export.create_sql[:80]}")
            yield replace(
                export,
                create_sql=replace(table, source=progress_name).render(),
                dependencies=_exchanged(export, source.id, progress.id),
            )


def _source(progress: Item, source: Item, declared: CreateSource, name: Name) -> Item:
    """The ingestion as a source in the current syntax."""
    upstream = declared.upstream.without_columns()
    statement = CreateSource(name, upstream, declared.cluster, declared.timestamp_interval)
    # What was said of its history went to the tables.
    details = replace(progress.ingestion, parent_id=None, retain_history_ms=RETAIN_HISTORY_MS_DEFAULT)
    return replace(
        progress,
        create_sql=statement.render(),
        dependencies=tuple(id_ for id_ in source.dependencies if id_ != progress.id),
        cluster_id=source.cluster_id,
        details=details,
    )


def _declared(source: Item) -> CreateSource:
    statement = parse_statement(source.create_sql)
    if not isinstance(statement, CreateSource):
        raise _Unknown(f"its statement is not a CREATE SOURCE: {source.create_sql[:80]}")
    if statement.key:
        raise _Unknown("a table has no PRIMARY KEY (..) NOT ENFORCED; create the source again without it")
    return statement


def _export_statement(export: Item) -> CreateSubsource | CreateTableFromSource:
    statement = parse_statement(export.create_sql)
    if isinstance(statement, CreateTableFromSource):
        return statement
    if isinstance(statement, CreateSubsource) and statement.external_reference is not None:
        return statement
    raise _Unknown(f"{export.name} is neither subsource nor table: {export.create_sql[:80]}")


def _table(export: Item, statement: CreateSubsource, source: Name) -> CreateTableFromSource:
    return CreateTableFromSource(
        statement.name,
        source,
        statement.external_reference,
        text_columns=statement.text_columns,
        exclude_columns=statement.exclude_columns,
        retain_history=statement.retain_history,
    )


def _exchanged(item: Item, before: str, after: str) -> tuple[str, ...]:
    return tuple(after if id_ == before else id_ for id_ in item.dependencies)


def _connections(state: CatalogState, encoding: Encoding) -> tuple[str, ...]:
    """The registries that a table's formats name."""
    names = SessionNames(state)
    return tuple(dict.fromkeys(names.resolve_item(name.parts).id for name in encoding.names()))


def _comments(state: CatalogState, steps: tuple[Step, ...]) -> list[updates.Update]:
    """Comments stay with the name they were given to."""
    by_name = {_place(step.after): step.after for step in steps if step.after is not None}
    kept: list[updates.Update] = []
    for step in steps:
        heir = by_name.get(_place(step.before))
        if heir is None or (heir.id, heir.kind) == (step.before.id, step.before.kind):
            continue
        for comment in state.comments.values():
            if (comment.object_kind, comment.object_id) == (step.before.kind, step.before.id):
                moved = replace(comment, object_kind=heir.kind, object_id=heir.id)
                kept += [updates.SetComment(replace(comment, text="")), updates.SetComment(moved)]
    # First all go, then all come: two that change places would take each other away.
    return sorted(kept, key=_comes)


def _rights(state: CatalogState, steps: tuple[Step, ...]) -> list[updates.Update]:
    """So do owners, and what was granted: whoever could read under a name still can."""
    by_name = {_place(step.after): step.after for step in steps if step.after is not None}
    kept: list[updates.Update] = []
    for step in steps:
        heir = by_name.get(_place(step.before))
        if heir is None or heir.id == step.before.id:
            continue
        key, grants = ("item", heir.id), state.grants.get(("item", step.before.id))
        if heir.owner_id != step.before.owner_id:
            kept.append(updates.SetOwner(key, step.before.owner_id))
        if grants != state.grants.get(key):
            kept.append(updates.SetGrants(key, grants))
    return kept


def _comes(update: Any) -> bool:
    comment: Comment = update.comment
    return bool(comment.text)


def _place(item: Item | None) -> tuple[str, str]:
    return ("", "") if item is None else (item.schema_id, item.name)


def migrate_sources(catalog: CatalogStore) -> None:
    """At start: with force_source_table_syntax on, all of it; if that cannot be, nothing."""
    state = catalog.state
    if not flag(state.system_variables, "force_source_table_syntax"):
        return
    planned = plan(state)
    if planned.problems:
        for step in planned.problems:
            log.error(
                "legacy sources stay as they are",
                source=SessionNames(state).full_name(step.before),
                problem=step.problem,
                hint="EXPLAIN MIGRATION shows what would become of each.",
            )
        return
    changes = planned.updates(state)
    if changes:
        catalog.transact([updates.CatalogVersionIs(state.version)], changes, by=MZ_SYSTEM)
        log.info("legacy sources have become sources and tables", items=len(planned.steps))
