"""From what an upstream has to what a table keeps: references by name, columns, details.

Tables, subsources and older sources with rows of their own are all made from here; what
they differ in is their kind and their statement.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.ddl import DdlScope, check_column_names
from headwater.coordinator.source_details import full_options
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.core.errors import UserError
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Reference, Secrets
from headwater.sql.cursor import Name
from headwater.sql.encoding import Encoding, MessagePart
from headwater.sql.options import Duration

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
    """A subsource or a progress relation stands where a source should."""
    owner = scope.state.named_source(part.source_id or part.id)
    kind = "subsource" if part.parent_id is None else "progress relation"
    return UserError(
        f"{name} is a {kind} of a source, not a source",
        hint=f"Name the source itself: {scope.full_name(owner)}",
    )


def ask(state: CatalogState, ingestion: Item, secrets: Secrets, name: str | None = None) -> Answer:
    """What the upstream of a source has now; with a name perhaps only what is called so."""
    source_type = SOURCE_TYPES[ingestion.details["source_type"]]
    kept = ingestion.details["options"]
    return Answer(source_type.name, kept, source_type.references(full_options(state, kept), secrets, name))


def answer_about(scope: DdlScope, ingestion: Item) -> Answer:
    """What was said, if it was about the source as it is now."""
    answer = answer_of(scope)
    if answer.options != ingestion.details["options"]:
        raise changed_meanwhile()
    return answer


def find_reference(
    available: Sequence[Reference], wanted: Name | None, source: str | None = None
) -> Reference:
    """The reference that 0 to 3 parts mean, matched from the end; `source` is there already."""
    parts = wanted.parts if wanted is not None else ()
    position = wanted.position if wanted is not None else 0
    matching = [r for r in available if not parts or r.path()[-len(parts) :] == parts]
    text = ".".join(parts)
    if len(matching) > 1:
        raise UserError(
            f"reference {text} is ambiguous, consider specifying an additional layer of qualification",
            position=position,
            hint="It could be " + ", ".join(f'"{".".join(r.path())}"' for r in matching) + ".",
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
            hint="  ".join(hints) or None,
            position=position,
        )
    return matching[0]


def _some(references: Sequence[Reference]) -> str:
    names = [f'"{".".join(reference.path()[1:])}"' for reference in references[:_REFERENCES_SHOWN_MAX]]
    return ", ".join(names) + (" and others" if len(references) > len(names) else "")


def shape(
    reference: Reference, ingestion: Item, columns: tuple[str, ...] = (), encoding: Encoding | None = None
) -> Shape:
    """The columns of a reference as a table has them: perhaps more, perhaps with other names."""
    source_type = SOURCE_TYPES[ingestion.details["source_type"]]
    options = ingestion.details["options"]
    relation, taken = reference.relation, reference.relation.column_names()
    if encoding is not None:
        included = _included(ingestion, encoding)
        relation = Relation((*relation.columns, *(column for column, _ in included)), relation.keys)
        taken = (*taken, *(name for _, name in included))
    if not columns:
        try:
            check_column_names(relation.column_names())
        except UserError as error:
            renamable = encoding is not None and bool(encoding.include)
            hint = (
                "Give it another name with AS." if renamable else "EXCLUDE COLUMNS (..) leaves a column out."
            )
            raise replace(error, hint=hint) from None
        return Shape(relation, taken)
    if not source_type.single_output(options):
        raise UserError(f"columns cannot be named for {source_type.title(options)} sources")
    if len(columns) != len(relation.columns):
        raise UserError(
            f"{len(columns)} column names were given, but the reference has {len(relation.columns)} columns",
            hint=f"It has {', '.join(relation.column_names())}.",
        )
    check_column_names(columns)
    renamed = tuple(replace(column, name=new) for column, new in zip(relation.columns, columns, strict=True))
    return Shape(Relation(renamed, relation.keys), taken)


def _included(ingestion: Item, encoding: Encoding) -> list[tuple[Any, str]]:
    """(column, the upstream's name for it) of what INCLUDE adds; other clauses are refused."""
    source_type = SOURCE_TYPES[ingestion.details["source_type"]]
    options = ingestion.details["options"]
    what = f"with {source_type.title(options)} sources"
    offered = {column.name: column for column in source_type.metadata_columns(options)}
    if encoding.value_format is not None and not source_type.messages:
        raise UserError(
            f"FORMAT is not supported {what}", "0A000", hint="Their columns have types already; leave it out."
        )
    if encoding.envelope_type not in (None, "none") and not source_type.messages:
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


def export_details(
    scope: DdlScope,
    item_id: str,
    reference: Reference,
    shape: Shape,
    ingestion_id: str,
    retain: Duration | None,
    encoding: Encoding | None = None,
) -> dict[str, Any]:
    """What the catalog keeps of something that is fed by a source."""
    export = Export(
        item_id,
        reference.path(),
        shape.relation,
        shape.columns,
        reference.discipline,
        (("batch", scope.batch),),
        reference.details,
    )
    return {
        "source_id": ingestion_id,
        "export": export.to_json(),
        "retain_history_ms": RETAIN_HISTORY_MS_DEFAULT if retain is None else retain.milliseconds,
        **(_shown(encoding) if encoding is not None and not encoding.empty else {}),
    }


def _shown(encoding: Encoding) -> dict[str, Any]:
    """What the catalog's relations show of it."""
    return {
        "envelope_type": encoding.envelope_type or "none",
        "key_format": encoding.key_format_name,
        "value_format": encoding.value_format_name,
    }
