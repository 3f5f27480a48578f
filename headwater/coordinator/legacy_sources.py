"""CREATE SOURCE in the legacy syntax: a source, its progress relation and its subsources at once.

    progress    ingests; its rows are the source's progress        <source>_progress
    source      what the user named; has rows of its own if the upstream has one reference only
    subsource   one for each reference that was asked for

Inside there is one machinery: the progress relation is what a source in the current syntax is,
and the others are tables from it that remember how they were declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headwater.catalog import updates
from headwater.catalog.details import LegacySource
from headwater.catalog.state import CatalogState, Item, Schema
from headwater.coordinator.ddl import DdlScope, Outcome
from headwater.coordinator.exports import fed_table, find_reference, pinned, shape, told
from headwater.coordinator.source_form import missing_tables
from headwater.coordinator.upstreams import Answer
from headwater.core.errors import UserError, not_supported
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Reference
from headwater.sources.dialects import DIALECTS
from headwater.sql.cursor import Name
from headwater.sql.options import Duration
from headwater.sql.outputs import AllTables, OfSchemas, Output, Outputs, TheseTables
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.upstream import EXCLUDE_COLUMNS, TEXT_COLUMNS


@dataclass(frozen=True, slots=True)
class Subsource:
    """A subsource that is to be made."""

    reference: Reference  # as it takes it
    schema: Schema
    name: str
    text_columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()


def plan(scope: DdlScope, statement: CreateSource, ingestion: Item, answer: Answer) -> Outcome:
    """`ingestion` is what the source would be in the current syntax; it becomes the progress relation."""
    single = SOURCE_TYPES[answer.source_type].single_output(answer.options)
    _check_outputs(statement, answer, single)
    schema = scope.state.schema(ingestion.schema_id)
    progress_schema, progress_name = _progress_place(scope, statement, schema, ingestion.name)
    source_id, oid = scope.new_item()
    progress = replace(
        ingestion,
        schema_id=progress_schema.id,
        name=progress_name,
        dependencies=(),
        details=replace(ingestion.ingestion, parent_id=source_id),
    )
    progress_full = Name(scope.names.full_name_parts(progress))
    progress = replace(
        progress,
        create_sql=CreateSubsource(progress_full, progress.relation, progress=True).render(),
    )
    source = replace(
        ingestion,
        id=source_id,
        oid=oid,
        relation=Relation(()),
        dependencies=(*ingestion.dependencies, progress.id),
        details=LegacySource(progress.id, ingestion.retain_history_ms),
    )
    if single:
        reference = answer.references[0]
        shaped = shape(reference, ingestion, statement.columns, statement.encoding)
        fed = fed_table(
            *(scope, source_id, reference, shaped, progress.id, statement.retain_history),
            statement.encoding,
        )
        details = LegacySource(progress.id, fed.retain_history_ms, fed.export, fed.encoding)
        source = replace(source, relation=shaped.relation, details=details)
    full = replace(
        statement,
        name=Name(scope.names.full_name_parts(source)),
        upstream=statement.upstream.without_columns(),  # the subsources keep what it says of theirs
        cluster=scope.state.clusters[ingestion.cluster_id or ""].name,
        if_not_exists=False,
        outputs=None,
        progress=progress_full,
    )
    source = replace(source, create_sql=full.render())
    columns = statement.upstream.columns(TEXT_COLUMNS), statement.upstream.columns(EXCLUDE_COLUMNS)
    wanted = _subsources(scope, source, answer, _outputs(statement.outputs, answer), *columns)
    subsources = subsource_items(scope, source, progress, wanted, statement.retain_history)
    items = (progress, source, *subsources)
    check_apart(items)
    return Outcome(
        "CREATE SOURCE",
        tuple(updates.CreateItem(item) for item in items),
        tuple(updates.NameFree(item.schema_id, item.name) for item in (source, progress, *subsources)),
        (*answer.notices, *(notice for one in wanted for notice in told(one.reference))),
    )


def check_apart(items: Sequence[Item]) -> None:
    """Items of one statement have names of their own."""
    taken: set[tuple[str, str]] = set()
    for item in items:
        place = (item.schema_id, item.name)
        if place in taken:
            raise UserError(
                f"catalog item '{item.name}' already exists",
                "42P07",
                detail="The source, its progress relation and its subsources have names of their own.",
                hint="Give one of them another name: FOR TABLES (.. AS ..), or EXPOSE PROGRESS AS.",
            )
        taken.add(place)


def _check_outputs(statement: CreateSource, answer: Answer, single: bool) -> None:
    if statement.key:
        raise not_supported("PRIMARY KEY NOT ENFORCED for this kind of source")
    if single and statement.outputs is not None:
        words = str(statement.outputs).split(" (")[0]
        raise UserError(f"{words} is only valid for multi-output sources", "0A000")
    dialect = DIALECTS[answer.source_type]
    named = isinstance(statement.outputs, OfSchemas | TheseTables)
    if named and not dialect.chooses_subsources:
        words = "SCHEMAS" if isinstance(statement.outputs, OfSchemas) else "TABLES"
        raise UserError(f"FOR {words} (..) unsupported", "0A000", hint="Write FOR ALL TABLES.")
    if single:
        return
    # Columns and encodings say what becomes of a single output's rows.
    shaped = bool(statement.columns) or not statement.encoding.empty
    if statement.outputs is None and shaped:
        raise missing_tables(dialect, "Write FOR ALL TABLES, and leave the other clauses out.")
    if statement.columns:
        title = SOURCE_TYPES[answer.source_type].title(answer.options)
        raise UserError(f"columns cannot be named for {title} sources", "0A000")
    if shaped:
        raise UserError("ENVELOPE, FORMAT and INCLUDE are only valid for single-output sources", "0A000")
    if statement.outputs is None and statement.progress is None:
        # Not told apart by a clause: the current syntax is switched off.
        raise missing_tables(dialect, "Write FOR ALL TABLES, FOR SCHEMAS (..) or FOR TABLES (..).")


def _progress_place(
    scope: DdlScope, statement: CreateSource, schema: Schema, name: str
) -> tuple[Schema, str]:
    """Where the progress relation goes: the name that was given, or one that is free."""
    if statement.progress is not None:
        return scope.names.place(statement.progress.parts)
    progress, number = f"{name}_progress", 0
    while scope.state.item_named(schema.id, progress) is not None:
        number += 1
        progress = f"{name}_progress_{number}"
    return schema, progress


def _outputs(outputs: Outputs | None, answer: Answer) -> tuple[Output, ...]:
    """What a FOR clause asks for, reference by reference."""
    match outputs:
        case TheseTables(tables):
            return tables
        case AllTables():
            return tuple(Output(Name(reference.path())) for reference in answer.references)
        case OfSchemas(schemas):
            known = {reference.namespace[-1] for reference in answer.references}
            missing = [f'"{schema}"' for schema in schemas if schema not in known]
            if missing:
                raise UserError(
                    f"no tables found in referenced schemas: {', '.join(missing)}",
                    "42P01",
                    detail=f"missing schemas: {', '.join(missing)}",
                )
            return tuple(
                Output(Name(reference.path()))
                for reference in answer.references
                if reference.namespace[-1] in schemas
            )
        case None:
            return ()


def _subsources(
    scope: DdlScope,
    source: Item,
    answer: Answer,
    outputs: Sequence[Output],
    text: Sequence[Name],
    excluded: Sequence[Name],
) -> list[Subsource]:
    """Each with its place and its columns; names and references at most once."""
    source_type = SOURCE_TYPES[answer.source_type]
    found = [(find_reference(answer.references, output.reference), output) for output in outputs]
    schema = scope.state.schema(source.schema_id)
    added = [reference for reference, _ in found]
    text_columns = _by_reference("TEXT COLUMNS", text, answer, added)
    exclude_columns = _by_reference("EXCLUDE COLUMNS", excluded, answer, added)
    wanted = []
    for reference, output in found:
        # Without a schema of its own it goes where the source is, not where the session is.
        parts = (reference.name,) if output.name is None else output.name.parts
        place = (schema, parts[0]) if len(parts) == 1 else scope.names.place(parts)
        path = reference.path()
        columns = text_columns.get(path, ()), exclude_columns.get(path, ())
        wanted.append(Subsource(reference, *place, *columns))
    _check_twice(wanted)
    source_type.check_access([(one.reference, one.exclude_columns) for one in wanted])
    taken = []
    for one in wanted:
        try:
            columns = one.text_columns, one.exclude_columns
            reference = pinned(source_type, answer.options, one.reference, *columns)
        except UserError as error:
            error.hint = None if error.hint is None else qualified_hint(error.hint, one.reference)
            raise
        taken.append(replace(one, reference=reference))
    return taken


_HINTED: Final = re.compile(r"(?P<option>(?:TEXT|EXCLUDE) COLUMNS) \((?P<columns>[^()]+)\)")


def qualified_hint(hint: str, reference: Reference) -> str:
    """A hint about a table's columns as this form takes them: with the names of schema and table."""
    table = str(Name((*reference.namespace[-1:], reference.name)))

    def qualified(found: re.Match[str]) -> str:
        columns = (
            column if column.startswith(".") else f"{table}.{column}"
            for column in found["columns"].split(", ")
        )
        return f"{found['option']} ({', '.join(columns)})"

    return _HINTED.sub(qualified, hint)


def _by_reference(
    option: str, columns: Sequence[Name], answer: Answer, added: Sequence[Reference]
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Columns named `[[database.]schema.]table.column`, by the reference they belong to."""
    if columns and not added:
        raise UserError(
            f"{DIALECTS[answer.source_type].prefix}{option} option is unnecessary when no tables are added",
            "22023",
            hint=f"Write it where the table is created: CREATE TABLE .. FROM SOURCE .. WITH ({option} (..))",
            position=columns[0].position,
        )
    by_path: dict[tuple[str, ...], tuple[str, ...]] = {}
    absent = []
    paths = {reference.path() for reference in added}
    for column in columns:
        if len(column.parts) < 2:
            raise UserError(
                f"invalid {option} option value: column name '{column}' must have at least a"
                " table qualification",
                "22023",
                position=column.position,
                hint="Write table.column.",
            )
        table = Name(column.parts[:-1], column.position)
        path = find_reference(answer.references, table).path()
        if path in paths:
            by_path[path] = (*by_path.get(path, ()), column.item)
        else:
            absent.append(".".join((*path, column.item)))
    if absent:
        raise UserError(
            f"{DIALECTS[answer.source_type].prefix}{option} refers to table not currently being added",
            "22023",
            detail=f"the following columns are referenced but not added: {', '.join(absent)}",
        )
    return by_path


def _check_twice(wanted: Sequence[Subsource]) -> None:
    names: dict[tuple[str, str], list[str]] = {}
    references: dict[tuple[str, ...], list[str]] = {}
    for subsource in wanted:
        path = subsource.reference.path()
        names.setdefault((subsource.schema.id, subsource.name), []).append(".".join(path))
        references.setdefault(path, []).append(subsource.name)
    for (_, name), paths in names.items():
        if len(paths) > 1 and len(set(paths)) > 1:
            raise UserError(
                f"multiple subsources would be named {name}",
                "42P07",
                detail=f"referenced tables with duplicate name: {', '.join(sorted(paths))}",
                hint="Give one of them another name with AS.",
            )
    for path, subsources in references.items():
        if len(subsources) > 1:
            raise referred_twice(path, subsources)


def referred_twice(path: Sequence[str], subsources: Iterable[str]) -> UserError:
    """A reference has at most one subsource; tables may be many."""
    return UserError(
        f"multiple subsources refer to table {path[-1]}",
        "42710",
        detail=f"subsources referencing table: {', '.join(subsources)}",
        hint="CREATE TABLE .. FROM SOURCE makes any number of tables from one reference.",
    )


def added_subsources(
    scope: DdlScope,
    source: Item,
    answer: Answer,
    outputs: Sequence[Output],
    text: Sequence[Name],
    excluded: Sequence[Name],
) -> list[Subsource]:
    """For ALTER SOURCE .. ADD SUBSOURCE: as at first, and none of what is there already."""
    wanted = _subsources(scope, source, answer, outputs, text, excluded)
    existing = {item.fed_export.reference: item for item in subsources_of(scope.state, source)}
    for subsource in wanted:
        path = subsource.reference.path()
        if path in existing:
            raise referred_twice(path, (existing[path].name, subsource.name))
    return wanted


def subsources_of(state: CatalogState, source: Item) -> list[Item]:
    """The subsources of a legacy source, its progress relation not among them."""
    exports = state.exports_of(state.ingestion_of(source).id)
    return [item for item in exports if item.kind == "source" and item.id != source.id]


def subsource_items(
    scope: DdlScope,
    source: Item,
    ingestion: Item,
    wanted: Sequence[Subsource],
    retain: Duration | None,
) -> list[Item]:
    """The catalog's entries."""
    source_name = Name(scope.names.full_name_parts(source))
    items = []
    for subsource in wanted:
        item_id, oid = scope.new_item()
        reference = subsource.reference
        shaped = shape(reference, ingestion)
        item = Item(
            item_id,
            oid,
            subsource.schema.id,
            subsource.name,
            "source",
            "",
            shaped.relation,
            dependencies=(source.id,),
            cluster_id=source.cluster_id,
            details=fed_table(scope, item_id, reference, shaped, ingestion.id, retain),
            created_at_ms=scope.now_ms,
        )
        statement = CreateSubsource(
            Name(scope.names.full_name_parts(item)),
            shaped.relation,
            source_name,
            Name(reference.path()),
            subsource.text_columns,
            subsource.exclude_columns,
            retain,
        )
        items.append(replace(item, create_sql=statement.render()))
    return items
