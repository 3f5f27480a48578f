"""From what an upstream has to what a table keeps: references by name, columns, details.

Tables, subsources and legacy sources with rows of their own are all made from here; what
they differ in is their kind and their statement.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.catalog.details import FedTable, ShownEncoding
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, check_column_names
from headwater.coordinator.source_details import for_upstream, full_options
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.core.errors import UserError
from headwater.core.export import ODD_KEYS
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import (
    Export,
    OnValueError,
    Reference,
    Secrets,
    SourceType,
    Unlisted,
)
from headwater.sources.dialects import CONNECTION_KINDS
from headwater.sql.cursor import Name
from headwater.sql.encoding import Encoding, MessagePart
from headwater.sql.options import Duration
from headwater.sql.statements.create_table_from_source import CreateTableFromSource

_REFERENCES_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """A relation, and the reference's column for each of its columns."""

    relation: Relation
    columns: tuple[str, ...]


def ingestion_named(scope: DdlScope, name: Name) -> tuple[Item, Item]:
    """The source of this name and what reads the upstream for it."""
    source = scope.names.resolve_item(name.parts, "source")
    ingestion = scope.state.ingestion_of(source)
    if not ingestion.ingests or source.parent_id is not None:
        raise part_of_a_source(scope, source, name)
    return source, ingestion


def part_of_a_source(scope: DdlScope, part: Item, name: Name) -> UserError:
    """A subsource, a progress relation or a webhook stands where a source with an upstream should."""
    if part.plain:
        return UserError(
            f"source {scope.full_name(part)} is a webhook, which reads no upstream",
            "42809",
            hint="Its rows are in the source itself: SELECT from it.",
        )
    owner = scope.state.named_source(part.source_id or part.id)
    kind = "subsource" if part.parent_id is None else "progress relation"
    return UserError(
        f"{name} is a {kind} of a source, not a source",
        "42809",
        hint=f"Name the source itself: {scope.full_name(owner)}",
    )


def ask(
    state: CatalogState,
    ingestion: Item,
    secrets: Secrets,
    name: str | None = None,
    encode: Encode | None = None,
) -> Answer:
    """What the upstream of a source has now; with a name perhaps only what is called so."""
    source_type = SOURCE_TYPES[ingestion.ingestion.source_type]
    kept = ingestion.ingestion.options
    options = full_options(state, kept)
    found = source_type.references(options, secrets, name)
    if encode is not None:
        found = tuple(encode(secrets, reference) for reference in found if name in (None, reference.name))
    missing = name is not None and all(reference.name != name for reference in found)
    unlisted = source_type.unlisted(options, secrets, name) if name is not None and missing else ()
    return Answer(source_type.name, dict(kept), found, unlisted=unlisted)


Encode = Callable[[Secrets, Reference], Reference]
"""A reference of messages as a statement's clauses make it."""


def encoder(scope: DdlScope, source_type: SourceType, encoding: Encoding) -> Encode | None:
    """What FORMAT, INCLUDE and ENVELOPE make of references; None where there are no messages."""
    encode = source_type.encode
    if encode is None:
        return None
    registries = {}
    for name in encoding.names():
        connection = scope.names.resolve_item(name.parts, "connection")
        wanted = CONNECTION_KINDS["CONFLUENT SCHEMA REGISTRY"]
        if connection.connection.connection_type != wanted.type:
            raise UserError(f"{connection.name} is not a {wanted.words} CONNECTION", "42809")
        registries[str(name)] = (connection.id, for_upstream(scope.state, connection.connection.options))
    return lambda secrets, reference: encode(secrets, reference, encoding, registries)


def formats_connections(scope: DdlScope, encoding: Encoding) -> tuple[Item, ...]:
    """The connections that formats name."""
    found = (scope.names.resolve_item(name.parts, "connection") for name in encoding.names())
    return tuple({connection.id: connection for connection in found}.values())


def named_in_full(scope: DdlScope, encoding: Encoding) -> Encoding:
    """The clauses with the full names of connections."""
    return encoding.rename(
        lambda name: Name(scope.names.full_name_parts(scope.names.resolve_item(name.parts, "connection")))
    )


def check_goes_on(scope: DdlScope, ingestion: Item) -> None:
    """A source that has failed takes no table in: it could never be read."""
    failure = scope.failure_of(ingestion.id)
    if failure is None:
        return
    message, hint = failure
    source = scope.full_name(scope.state.named_source(ingestion.id))
    raise UserError(
        f'source "{source}" has failed: {message}',
        "55000",
        hint=None if hint is None else hint.replace("{source}", source),
    )


def answer_about(scope: DdlScope, ingestion: Item) -> Answer:
    """What was said, if it was about the source as it is now."""
    answer = answer_of(scope)
    if answer.options != ingestion.ingestion.options:
        raise changed_meanwhile()
    return answer


def find_reference(
    available: Sequence[Reference],
    wanted: Name | None,
    source: str | None = None,
    unlisted: Sequence[Unlisted] = (),
) -> Reference:
    """The reference that 0 to 3 parts mean, matched from the end; `source` is there already."""
    parts = wanted.parts if wanted is not None else ()
    position = wanted.position if wanted is not None else 0
    matching = [r for r in available if not parts or r.path()[-len(parts) :] == parts]
    text = ".".join(parts)
    if len(matching) > 1:
        raise UserError(
            f"reference {text} is ambiguous, consider specifying an additional layer of qualification",
            "42P09",
            position=position,
            hint="It could be " + ", ".join(f'"{".".join(r.path())}"' for r in matching) + ".",
        )
    known = [other for other in unlisted if parts and other.path[-len(parts) :] == parts]
    if not matching and known:
        raise UserError(
            f"reference to {text} not found in source",
            detail="\n".join(f"{'.'.join(other.path)} {other.why}." for other in known),
            hint="\n".join(other.hint for other in known),
            position=position,
        )
    if not matching:
        near = difflib.get_close_matches(parts[-1], [r.name for r in available], n=1) if parts else []
        hints = [f'Did you mean "{near[0]}"?'] if near else []
        if source is not None:
            hints.append(
                f"ALTER SOURCE {source} REFRESH REFERENCES, then SHOW REFERENCES ON {source} lists them."
            )
        elif not near:
            hints.append(f"There are {_some(available)}." if available else "There are none.")
        raise UserError(
            f"reference to {text} not found in source",
            "42P01",
            hint="  ".join(hints) or None,
            position=position,
        )
    return matching[0]


def _some(references: Sequence[Reference]) -> str:
    names = [f'"{".".join(reference.path()[1:])}"' for reference in references[:_REFERENCES_SHOWN_MAX]]
    return ", ".join(names) + (" and others" if len(references) > len(names) else "")


def pinned(
    source_type: SourceType,
    options: Mapping[str, Any],
    reference: Reference,
    text: tuple[str, ...],
    excluded: tuple[str, ...],
) -> Reference:
    """The reference as a table takes it; UserError where a kind of source does not know columns apart."""
    if source_type.pin is not None:
        return source_type.pin(reference, text, excluded)
    for option, columns in (("TEXT COLUMNS", text), ("EXCLUDE COLUMNS", excluded)):
        if columns:
            raise UserError(
                f"{option} is not supported with {source_type.title(options)} sources",
                "0A000",
                hint="Their columns are taken as they are; leave it out.",
            )
    return reference


def take(
    source_type: SourceType,
    options: Mapping[str, Any],
    reference: Reference,
    statement: CreateTableFromSource,
) -> Reference:
    """The reference with the columns that a table takes of it, in the table's order."""
    text, excluded = statement.text_columns, statement.exclude_columns
    chosen = statement.columns if source_type.chooses_columns else ()
    if not chosen:
        return pinned(source_type, options, reference, text, excluded)
    check_column_names(chosen)
    check_there(reference, chosen)
    for option, names, wrong in (
        ("EXCLUDE COLUMNS", excluded, set(chosen)),
        ("TEXT COLUMNS", text, {*reference.relation.column_names()} - {*chosen}),
    ):
        found = next((name for name in names if name in wrong), None)
        if found is not None:
            listed = "is in the list of columns" if found in chosen else "is not in the list of columns"
            raise UserError(
                f'{option} names "{found}", which {listed}', "42601", hint="Leave it out of one of them."
            )
    others = (name for name in reference.relation.column_names() if name not in (*chosen, *excluded))
    taken = pinned(source_type, options, reference, text, (*excluded, *others))
    return in_order(taken, chosen)


def check_there(reference: Reference, names: Sequence[str]) -> None:
    """UserError unless the upstream has all of these columns, and can send them."""
    there = reference.relation.column_names()
    for name in names:
        if name in there:
            continue
        absent = next((absent for absent in reference.absent if absent.name == name), None)
        path = ".".join(reference.path())
        if absent is not None:
            raise UserError(
                f'column "{name}" of {path} cannot be taken: {absent.why}', "0A000", hint=absent.hint
            )
        raise UserError(
            f'column "{name}" does not exist in {path}', "42703", hint=f"There are {', '.join(there)}."
        )


def in_order(reference: Reference, names: Sequence[str]) -> Reference:
    """The same columns in another order; what is pinned of them follows."""
    there = reference.relation.column_names()
    places = [there.index(name) for name in names]
    where = {old: new for new, old in enumerate(places)}
    relation = Relation(
        tuple(reference.relation.columns[place] for place in places),
        tuple(tuple(where[place] for place in key) for key in reference.relation.keys),
    )
    return replace(reference, relation=relation, pinned=reference.pinned.at(places))


def told(reference: Reference, chosen: Sequence[str] = ()) -> tuple[Notice, ...]:
    """What whoever makes a table of it should know; columns that were not asked for are not missed."""
    path = ".".join(reference.path())
    left_out = [
        Notice("NOTICE", f'column "{absent.name}" of {path} is left out: {absent.why}', hint=absent.hint)
        for absent in reference.absent
        if not chosen
    ]
    return (*left_out, *(Notice("NOTICE", text, hint=hint) for text, hint in reference.remarks))


def shape(
    reference: Reference, ingestion: Item, columns: tuple[str, ...] = (), encoding: Encoding | None = None
) -> Shape:
    """The columns of a reference as a table has them: perhaps more, perhaps with other names."""
    source_type = SOURCE_TYPES[ingestion.ingestion.source_type]
    options = ingestion.ingestion.options
    relation, taken = reference.relation, reference.relation.column_names()
    if encoding is not None and source_type.encode is None:
        included = _included(ingestion, encoding)
        relation = Relation((*relation.columns, *(column for column, _ in included)), relation.keys)
        taken = (*taken, *(name for _, name in included))
    if not columns or source_type.chooses_columns:
        try:
            check_column_names(relation.column_names())
        except UserError as error:
            renamable = encoding is not None and bool(encoding.include)
            hint = (
                "Give it another name with AS." if renamable else "EXCLUDE COLUMNS (..) leaves a column out."
            )
            raise replace(error, hint=hint) from None
        return Shape(relation, taken)
    if source_type.encode is None and not source_type.single_output(options):
        raise UserError(f"columns cannot be named for {source_type.title(options)} sources", "0A000")
    if len(columns) != len(relation.columns):
        raise UserError(
            f"{len(columns)} column names were given, but the reference has {len(relation.columns)} columns",
            "42601",
            hint=f"It has {', '.join(relation.column_names())}.",
        )
    check_column_names(columns)
    renamed = tuple(replace(column, name=new) for column, new in zip(relation.columns, columns, strict=True))
    return Shape(Relation(renamed, relation.keys), taken)


def _included(ingestion: Item, encoding: Encoding) -> list[tuple[Any, str]]:
    """(column, the upstream's name for it) of what INCLUDE adds; other clauses are refused."""
    source_type = SOURCE_TYPES[ingestion.ingestion.source_type]
    options = ingestion.ingestion.options
    what = f"with {source_type.title(options)} sources"
    offered = {column.name: column for column in source_type.metadata_columns(options)}
    if encoding.value_format is not None:
        raise UserError(
            f"FORMAT is not supported {what}", "0A000", hint="Their columns have types already; leave it out."
        )
    if encoding.envelope_type not in (None, "none"):
        raise UserError(
            f"ENVELOPE {encoding.envelope} is not supported {what}", "0A000", hint="Leave it out."
        )
    included = []
    for part in encoding.include:
        name = part.part if isinstance(part, MessagePart) else "header"
        if name not in offered:
            hint = f"There is {', '.join(map(str.upper, offered))}." if offered else "Leave it out."
            raise UserError(f"INCLUDE {part} is not supported {what}", "0A000", hint=hint)
        column = offered[name]
        alias = part.alias if part.alias is not None else column.name
        included.append((replace(column, name=alias), column.name))
    return included


_FAIL = OnValueError()


def fed_table(
    scope: DdlScope,
    item_id: str,
    reference: Reference,
    shape: Shape,
    ingestion_id: str,
    retain: Duration | None,
    encoding: Encoding | None = None,
    on_value_error: OnValueError = _FAIL,
) -> FedTable:
    """What the catalog keeps of something that is fed by a source."""
    export = Export(
        item_id,
        reference.path(),
        shape.relation if on_value_error.fails else lenient(shape.relation, reference),
        shape.columns,
        reference.discipline,
        (("batch", scope.batch), *reference.export_options, *on_value_error.options()),
        reference.pinned,
    )
    if on_value_error.column is not None:
        check_column_names(export.visible.column_names())
    return FedTable(
        ingestion_id,
        export,
        RETAIN_HISTORY_MS_DEFAULT if retain is None else retain.milliseconds,
        None if encoding is None or encoding.empty else _shown(encoding),
    )


def lenient(relation: Relation, reference: Reference) -> Relation:
    """Where values that cannot be stored become NULL, only a key has none, and not every key."""
    always = relation.keys[:1] if ODD_KEYS[0] not in reference.export_options else ()
    keys = {place for key in always for place in key}
    columns = (
        column if place in keys else replace(column, nullable=True)
        for place, column in enumerate(relation.columns)
    )
    return replace(relation, columns=tuple(columns))


def _shown(encoding: Encoding) -> ShownEncoding:
    return ShownEncoding(
        encoding.envelope_type or "none", encoding.key_format_name, encoding.value_format_name
    )
