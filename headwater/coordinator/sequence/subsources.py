"""ALTER SOURCE .. ADD SUBSOURCE and DROP SUBSOURCE: legacy sources change while they run."""

from __future__ import annotations

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, Question, cascades_to, check_restrict, does_not_exist
from headwater.coordinator.exports import answer_about, ask, check_goes_on, part_of_a_source, told
from headwater.coordinator.legacy_sources import (
    added_subsources,
    check_apart,
    subsource_items,
    subsources_of,
)
from headwater.coordinator.source_form import refuse_if_forced
from headwater.core.errors import UserError
from headwater.sources.dialects import DIALECTS
from headwater.sql.cursor import Name
from headwater.sql.parse import parse_statement
from headwater.sql.statements.alter_source_add import AlterSourceAdd
from headwater.sql.statements.alter_source_drop import AlterSourceDrop
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource

_TAG = "ALTER SOURCE"


def question(scope: DdlScope, statement: AlterSourceAdd) -> Question | None:
    """What the upstream has now."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return None
    first = statement.outputs[0]
    refuse_if_forced(
        scope.state.system_variables,
        "ALTER SOURCE .. ADD SUBSOURCES ..",
        f"CREATE TABLE {first.name or first.reference.item} FROM SOURCE {statement.name}"
        f" (REFERENCE {first.reference})",
    )
    source = _legacy_source(scope, statement.name)
    ingestion = scope.state.ingestion_of(source)
    if not DIALECTS[ingestion.ingestion.source_type].chooses_subsources:
        raise _no_subsources(scope, source)
    return lambda secrets: ask(scope.state, ingestion, secrets)


def plan_add(scope: DdlScope, statement: AlterSourceAdd) -> Outcome:
    """New subsources; what is there goes on as it was."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(_TAG, notices=(does_not_exist("source", str(statement.name)),))
    source = _legacy_source(scope, statement.name)
    ingestion = scope.state.ingestion_of(source)
    check_goes_on(scope, ingestion)
    answer = answer_about(scope, ingestion)
    wanted = added_subsources(
        scope, source, answer, statement.outputs, statement.text_columns, statement.exclude_columns
    )
    declared = parse_statement(source.create_sql)
    retain = declared.retain_history if isinstance(declared, CreateSource) else None
    items = subsource_items(scope, source, ingestion, wanted, retain)
    check_apart(items)
    return Outcome(
        _TAG,
        tuple(updates.CreateItem(item) for item in items),
        (
            updates.ItemExists(source.id, source.name),
            *(updates.NameFree(item.schema_id, item.name) for item in items),
        ),
        tuple(notice for one in wanted for notice in told(one.reference)),
    )


def plan_drop(scope: DdlScope, statement: AlterSourceDrop) -> Outcome:
    """Subsources go; the source and at least one of them stay."""
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(_TAG, notices=(does_not_exist("source", str(statement.name)),))
    source = _legacy_source(scope, statement.name)
    there = {item.id: item for item in subsources_of(scope.state, source)}
    found: dict[str, Item] = {}
    notices = []
    for name in statement.subsources:
        if statement.missing_ok and scope.names.find_item(name.parts) is None:
            notices.append(does_not_exist("source", str(name)))
            continue
        item = scope.names.resolve_item(name.parts)
        if item.id == source.progress_id:
            raise UserError(
                f'cannot drop source "{item.name}": still depended upon by source "{source.name}"', "2BP01"
            )
        if item.id not in there:
            raise UserError(
                f"{name} is not a subsource of {scope.full_name(source)}",
                "42809",
                hint=f"SHOW SUBSOURCES ON {statement.name} lists them.",
            )
        found[item.id] = item
    if found and len(found) == len(there):
        raise UserError(
            f"SOURCE {scope.full_name(source)} must retain at least one non-progress subsource",
            "2BP01",
            hint=f"To drop all of it: DROP SOURCE {scope.full_name(source)} CASCADE",
        )
    if not statement.cascade:
        for item in found.values():
            check_restrict(scope.state, item, set(found))
    changes = tuple(updates.DropItem(id_) for id_ in scope.state.drop_order(found))
    return Outcome(_TAG, changes, notices=(*notices, *cascades_to(scope, changes, found)))


def _legacy_source(scope: DdlScope, name: Name) -> Item:
    """A source that may have subsources."""
    source = scope.names.resolve_item(name.parts, "source")
    if source.progress_id is not None and source.source_id is None:
        return source
    full = scope.full_name(source)
    if source.ingests and source.parent_id is None:
        raise UserError(
            f"source {full} has no subsources: tables are created from it",
            "42809",
            hint=f"CREATE TABLE .. FROM SOURCE {full} (REFERENCE ..), and DROP TABLE, do what is wanted.",
        )
    if source.progress_id is not None:
        raise _no_subsources(scope, source)
    raise part_of_a_source(scope, source, name)


def _no_subsources(scope: DdlScope, source: Item) -> UserError:
    """It has none, or none that could be chosen."""
    return UserError(
        f"source {source.name} does not support ALTER SOURCE.",
        "42809",
        hint=f"CREATE TABLE .. FROM SOURCE {scope.full_name(source)} (REFERENCE ..) adds a table.",
    )


def refuse_subsource(scope: DdlScope, statement: CreateSubsource) -> Outcome:
    """It is how the catalog keeps a subsource, and nothing to type."""
    raise UserError(
        "CREATE SUBSOURCE statements are not supported",
        "0A000",
        hint=f"CREATE TABLE {statement.name} FROM SOURCE .. (REFERENCE ..) creates a table from a source.",
    )
