"""ALTER ... RENAME, ALTER SOURCE, ALTER TABLE, ALTER SYSTEM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.details import Retaining
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator import legacy_sources
from headwater.coordinator.ddl import DdlScope, Outcome, Question, does_not_exist
from headwater.coordinator.exports import answer_about, ask, ingestion_named
from headwater.coordinator.operator import check_alter_system, check_stays
from headwater.coordinator.renaming import moved, on_clusters, rewritten
from headwater.coordinator.resyncing import plan_resync, resync_question
from headwater.coordinator.source_details import check_interval, listed
from headwater.coordinator.variables import checked, find
from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT, TICK_INTERVAL_MS_DEFAULT
from headwater.sql.options import Duration
from headwater.sql.parse import parse_statement
from headwater.sql.statements.alter_rename import AlterRename
from headwater.sql.statements.alter_source import AlterSource
from headwater.sql.statements.alter_system import AlterSystem
from headwater.sql.statements.alter_table import AlterTable
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.create_table_from_webhook import CreateTableFromWebhook


def plan_rename(scope: DdlScope, statement: AlterRename) -> Outcome:
    """Dependents' stored SQL follows."""
    tag = f"ALTER {statement.kind.upper()}"
    state, names, new = scope.state, scope.names, statement.new_name
    match statement.kind:
        case "cluster":
            if statement.if_exists and state.cluster_named(statement.name.item) is None:
                return Outcome(tag, notices=(does_not_exist("cluster", statement.name.item),))
            cluster = names.resolve_cluster(statement.name.item)
            check_stays(scope.operator, "cluster", (cluster.name,), "renamed")
            changes = on_clusters(state.items_of_cluster(cluster.id), {cluster.name: new})
            rename = updates.RenameCluster(cluster.id, new)
            return Outcome(tag, (rename, *changes), (updates.ClusterNameFree(new),))
        case "schema":
            if statement.if_exists and names.find_schema(statement.name.parts) is None:
                return Outcome(tag, notices=(does_not_exist("schema", str(statement.name)),))
            schema = names.resolve_schema(statement.name.parts)
            if schema.database_id is None:
                raise UserError(f"system schema '{schema.name}' cannot be modified", "42501")
            database = state.databases[schema.database_id]
            check_stays(scope.operator, "schema", (database.name, schema.name), "renamed")
            mapping = moved((database.name, schema.name), (database.name, new))
            changes = rewritten(_touched(state, state.items_of(schema.id)), mapping)
            return Outcome(
                tag,
                (updates.RenameSchema(schema.id, new), *changes),
                (updates.SchemaNameFree(schema.database_id, new),),
            )
        case "database":
            raise not_supported("ALTER DATABASE .. RENAME")
    if statement.if_exists and names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist(statement.kind, str(statement.name)),))
    item = names.resolve_item(statement.name.parts, statement.kind)
    full = names.full_name_parts(item)
    changes = rewritten(_touched(state, (item,)), moved(full, (*full[:-1], new)))
    return Outcome(
        tag,
        (updates.RenameItem(item.id, new), *changes),
        (updates.NameFree(item.schema_id, new, item.temporary_pid),),
    )


def _touched(state: CatalogState, items: Iterable[Item]) -> list[Item]:
    """These items and those whose stored SQL may mention them."""
    found = {item.id: item for item in items}
    for item_id in list(found):
        found.update({id_: state.items[id_] for id_ in state.dependents.get(item_id, ())})
    return list(found.values())


def source_question(scope: DdlScope, statement: AlterSource) -> Question | None:
    """REFRESH REFERENCES looks at the upstream again; RESYNC asks where to begin anew."""
    item = scope.names.find_item(statement.name.parts)
    if statement.action not in ("refresh references", "resync") or item is None or item.kind != "source":
        return None
    source, ingestion = ingestion_named(scope, statement.name)
    if statement.action == "refresh references":
        return lambda secrets: ask(scope.state, ingestion, secrets)
    return resync_question(scope, source, ingestion)


def plan_source(scope: DdlScope, statement: AlterSource) -> Outcome:
    """Options of a source, a new look at its references, or a new beginning after a loss."""
    tag = "ALTER SOURCE"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("source", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "source")
    if item.plain:
        raise UserError(
            "cannot ALTER this type of source",
            "0A000",
            detail=f"{scope.full_name(item)} is a webhook.",
            hint="DROP SOURCE, and CREATE SOURCE .. FROM WEBHOOK with other options.",
        )
    if statement.action == "refresh references":
        _, ingestion = ingestion_named(scope, statement.name)
        found = listed(answer_about(scope, ingestion).references)
        details = replace(ingestion.ingestion, references=found, references_updated_at_ms=scope.now_ms)
        return Outcome(tag, (updates.UpdateItem(ingestion.id, details=details),))
    if statement.action == "resync":
        return plan_resync(scope, ingestion_named(scope, statement.name)[1])
    value = statement.value
    parsed = parse_statement(item.create_sql)
    if statement.option == "RETAIN HISTORY" and isinstance(parsed, CreateSource | CreateSubsource):
        # A source without rows of its own says it for its subsources.
        named = item.progress_id is not None
        kept = [item, *(legacy_sources.subsources_of(scope.state, item) if named else ())]
        return Outcome(tag, tuple(_retaining(one, value) for one in kept))
    if not isinstance(parsed, CreateSource):
        raise UserError(
            f"Cannot modify the {statement.option} of a SOURCE.",
            "42809",
            detail=f"{scope.full_name(item)} is a {scope.state.source_type(item)} of a source.",
            hint="Name the source itself.",
        )
    if value is not None:
        check_interval(value.milliseconds)
    interval_ms = TICK_INTERVAL_MS_DEFAULT if value is None else value.milliseconds
    ingestion = scope.state.ingestion_of(item)
    details = replace(ingestion.ingestion, timestamp_interval_ms=interval_ms)
    text = replace(parsed, timestamp_interval=value).render()
    return Outcome(
        tag,
        (
            updates.UpdateItem(ingestion.id, details=details),
            updates.UpdateItem(item.id, create_sql=text),
        ),
    )


def _retaining(item: Item, value: Duration | None) -> updates.Update:
    """How long the history of a source or table stays readable; None is the default."""
    parsed = parse_statement(item.create_sql)
    if not isinstance(
        parsed, CreateSource | CreateSubsource | CreateTable | CreateTableFromSource | CreateTableFromWebhook
    ) or not isinstance(item.details, Retaining):
        raise InvariantViolation(f"{item.id} has no history: {item.create_sql[:80]}")
    retain_ms = RETAIN_HISTORY_MS_DEFAULT if value is None else value.milliseconds
    details = replace(item.details, retain_history_ms=retain_ms)
    return updates.UpdateItem(
        item.id, create_sql=replace(parsed, retain_history=value).render(), details=details
    )


def plan_table(scope: DdlScope, statement: AlterTable) -> Outcome:
    """How long history stays readable."""
    tag = "ALTER TABLE"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("table", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "table")
    return Outcome(tag, (_retaining(item, statement.retain_history),))


def plan_system(scope: DdlScope, statement: AlterSystem) -> Outcome:
    """Server variables, for all sessions that begin from now on."""
    check_alter_system(scope.operator)
    if statement.variable is None:
        resets = tuple(updates.SetSystemVariable(name, None) for name in scope.state.system_variables)
        return Outcome("ALTER SYSTEM", resets)
    variable = find(statement.variable)
    if not variable.changeable:
        raise UserError(f'parameter "{variable.name}" cannot be changed', "55P02")
    value = None if statement.values is None else checked(variable, ", ".join(statement.values))
    return Outcome("ALTER SYSTEM", (updates.SetSystemVariable(variable.name, value),))
