"""ALTER ... RENAME and SWAP, ALTER SOURCE, ALTER TABLE, ALTER SYSTEM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.ddl import DdlScope, Outcome, Question, does_not_exist
from headwater.coordinator.renaming import exchanged, moved, on_clusters, rewritten, swapped
from headwater.coordinator.source_details import check_interval, full_options, reference_json
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.coordinator.variables import checked, find
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT, TICK_INTERVAL_MS_DEFAULT
from headwater.sources import SOURCE_TYPES
from headwater.sql.parse import parse_statement
from headwater.sql.statements.alter_rename import AlterRename
from headwater.sql.statements.alter_source import AlterSource
from headwater.sql.statements.alter_swap import AlterSwap
from headwater.sql.statements.alter_system import AlterSystem
from headwater.sql.statements.alter_table import AlterTable
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_table import CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource


def plan_rename(scope: DdlScope, statement: AlterRename) -> Outcome:
    """Dependents' stored SQL follows."""
    tag = f"ALTER {statement.kind.upper()}"
    state, names, new = scope.state, scope.names, statement.new_name
    match statement.kind:
        case "cluster":
            if statement.if_exists and state.cluster_named(statement.name.item) is None:
                return Outcome(tag, notices=(does_not_exist("cluster", statement.name.item),))
            cluster = names.resolve_cluster(statement.name.item)
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


def plan_swap(scope: DdlScope, statement: AlterSwap) -> Outcome:
    """Names change places, ids stay: whoever reads by name gets the other from this moment on."""
    tag = f"ALTER {statement.kind.upper()}"
    state, names = scope.state, scope.names
    if statement.kind == "cluster":
        first, second = names.resolve_cluster(statement.name.item), names.resolve_cluster(statement.other)
        both = (*state.items_of_cluster(first.id), *state.items_of_cluster(second.id))
        changes = on_clusters(both, {first.name: second.name, second.name: first.name})
        return Outcome(tag, (updates.SwapClusters(first.id, second.id), *changes))
    if statement.kind == "schema":
        one = names.resolve_schema(statement.name.parts)
        other = names.resolve_schema((*statement.name.parts[:-1], statement.other))
        if one.database_id is None or other.database_id is None:
            raise UserError("system schemas cannot be swapped", "42501")
        database = state.databases[one.database_id]
        mapping = exchanged((database.name, one.name), (database.name, other.name))
        inside = (*state.items_of(one.id), *state.items_of(other.id))
        changes = rewritten(_touched(state, inside), mapping)
        return Outcome(tag, (updates.SwapSchemas(one.id, other.id), *changes))
    left = names.resolve_item(statement.name.parts, statement.kind)
    right = names.resolve_item((*statement.name.parts[:-1], statement.other), statement.kind)
    swap = swapped(names.full_name_parts(left), names.full_name_parts(right))
    # Dependents keep reading what they read before: their SQL follows the ids to the new names.
    changes = rewritten(_touched(state, (left, right)), swap)
    return Outcome(tag, (updates.SwapItems(left.id, right.id), *changes))


def source_question(scope: DdlScope, statement: AlterSource) -> Question | None:
    """REFRESH REFERENCES looks at the upstream again."""
    item = scope.names.find_item(statement.name.parts)
    if statement.action != "refresh references" or item is None or item.kind != "source":
        return None
    source_type = SOURCE_TYPES[item.details["source_type"]]
    kept, options = item.details["options"], full_options(scope.state, item.details["options"])
    return lambda secrets: Answer(source_type.name, kept, source_type.references(options, secrets))


def plan_source(scope: DdlScope, statement: AlterSource) -> Outcome:
    """Options of a source, and a new look at its references."""
    tag = "ALTER SOURCE"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("source", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "source")
    details = dict(item.details)
    parsed = parse_statement(item.create_sql)
    if not isinstance(parsed, CreateSource):
        raise UserError(f"{item.name} is not a source")
    if statement.action == "refresh references":
        answer = answer_of(scope)
        if answer.options != details["options"]:
            raise changed_meanwhile()
        details["references"] = [reference_json(reference) for reference in answer.references]
        details["references_updated_at_ms"] = scope.now_ms
        return Outcome(tag, (updates.UpdateItem(item.id, details=details),))
    value = statement.value
    if statement.option == "TIMESTAMP INTERVAL":
        if value is not None:
            check_interval(value.milliseconds)
        details["timestamp_interval_ms"] = TICK_INTERVAL_MS_DEFAULT if value is None else value.milliseconds
        parsed = replace(parsed, timestamp_interval=value)
    else:
        details["retain_history_ms"] = RETAIN_HISTORY_MS_DEFAULT if value is None else value.milliseconds
        parsed = replace(parsed, retain_history=value)
    return Outcome(tag, (updates.UpdateItem(item.id, create_sql=parsed.render(), details=details),))


def plan_table(scope: DdlScope, statement: AlterTable) -> Outcome:
    """How long history stays readable."""
    tag = "ALTER TABLE"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("table", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "table")
    value = statement.retain_history
    details = dict(item.details)
    details["retain_history_ms"] = RETAIN_HISTORY_MS_DEFAULT if value is None else value.milliseconds
    parsed = parse_statement(item.create_sql)
    if not isinstance(parsed, CreateTable | CreateTableFromSource):
        raise UserError(f"{item.name} is not a table")
    text = replace(parsed, retain_history=value).render()
    return Outcome(tag, (updates.UpdateItem(item.id, create_sql=text, details=details),))


def plan_system(scope: DdlScope, statement: AlterSystem) -> Outcome:
    """Server variables, for all sessions that begin from now on."""
    if statement.variable is None:
        resets = tuple(updates.SetSystemVariable(name, None) for name in scope.state.system_variables)
        return Outcome("ALTER SYSTEM", resets)
    variable = find(statement.variable)
    if not variable.changeable:
        raise UserError(f'parameter "{variable.name}" cannot be changed', "55P02")
    value = None if statement.values is None else checked(variable, ", ".join(statement.values))
    return Outcome("ALTER SYSTEM", (updates.SetSystemVariable(variable.name, value),))
