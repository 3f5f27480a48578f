"""CREATE SOURCE: ask the upstream once what it has, then record the ingestion.

Nothing is made in the upstream by this.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.details import Ingestion
from headwater.catalog.state import Item
from headwater.coordinator import legacy_sources
from headwater.coordinator.api import Notice
from headwater.coordinator.connection_details import check_allowed
from headwater.coordinator.ddl import DdlScope, Outcome, Question, already_exists
from headwater.coordinator.exports import encoder
from headwater.coordinator.source_details import check_interval, full_options, listed
from headwater.coordinator.source_form import legacy_syntax
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.coordinator.variables import flag
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import (
    RETAIN_HISTORY_MS_DEFAULT,
    TICK_INTERVAL_MS_DEFAULT,
)
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Options, Secrets
from headwater.sources.dialect import Dialect
from headwater.sources.dialects import DIALECTS, dialect_of
from headwater.sql.cursor import Name
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.upstream import COLUMN_OPTIONS, Upstream


def question(scope: DdlScope, statement: CreateSource) -> Question | None:
    """What the upstream has, unless the statement is to fail or to do nothing anyway."""
    schema, name = scope.names.place(statement.name.parts)
    if scope.state.item_named(schema.id, name) is not None:
        return None
    scope.names.resolve_cluster(statement.cluster or scope.facts.cluster)
    _interval_ms(statement)
    legacy = legacy_syntax(scope.state.system_variables, statement)
    upstream = statement.upstream
    dialect = dialect_of(upstream)
    if dialect is None:
        raise not_supported(f"{upstream.words} sources")
    _check_switched_on(scope, dialect, upstream)
    if legacy:
        dialect.check_legacy(upstream)
    connections = _connections(scope, dialect, upstream)
    options = dialect.resolve(upstream, scope.now_ms)
    for connection in connections:
        options["connection_id"] = connection.id
    if not legacy:
        _check_no_columns(dialect, upstream)
    asked = full_options(scope.state, options)
    encode = encoder(scope, SOURCE_TYPES[dialect.source_type], statement.encoding) if legacy else None

    def ask(secrets: Secrets) -> Answer:
        found = dialect.examine(asked, secrets)
        notices = tuple(Notice("WARNING", text, hint=hint) for text, hint in found.warnings)
        there = found.references
        if encode is not None:
            there = tuple(encode(secrets, reference) for reference in there)
        learnt = {**options, **found.learnt}
        return Answer(dialect.source_type, learnt, there, notices, check_room=found.check_room)

    return ask


def _check_switched_on(scope: DdlScope, dialect: Dialect, upstream: Upstream) -> None:
    variable = dialect.switches.get(upstream.variant or "")
    if variable is not None and not flag(scope.state.system_variables, variable):
        raise UserError(
            f"{upstream.words} {upstream.variant} sources are switched off",
            "0A000",
            hint=f"The operator can allow them: ALTER SYSTEM SET {variable} = on.",
        )


def _check_no_columns(dialect: Dialect, upstream: Upstream) -> None:
    """What belongs to tables has no place where there are none."""
    for option in COLUMN_OPTIONS:
        columns = upstream.columns(option)
        if columns:
            raise UserError(
                f"{dialect.prefix}{option} option is unnecessary when no tables are added",
                "22023",
                hint="Write it where the table is created: CREATE TABLE .. FROM SOURCE .."
                f" WITH ({option} (..))",
                position=columns[0].position,
            )


def _connections(scope: DdlScope, dialect: Dialect, upstream: Upstream) -> tuple[Item, ...]:
    """What the upstream is reached by; nothing if it needs nothing."""
    if upstream.connection is None:
        return ()
    connection = scope.names.resolve_item(upstream.connection.parts, "connection")
    wanted = dialect.connections[0]
    if connection.connection.connection_type != wanted.type:
        raise UserError(f"{connection.name} is not a {wanted.words} CONNECTION", "42809")
    check_allowed(scope.names, connection.connection.options)
    return (connection,)


def plan(scope: DdlScope, statement: CreateSource) -> Outcome:
    """A new source; it has no tables yet and its own rows are its progress."""
    tag = "CREATE SOURCE"
    schema, name = scope.names.place(statement.name.parts)
    existing = scope.state.item_named(schema.id, name)
    if existing is not None:
        if statement.if_not_exists:
            return Outcome(tag, notices=(already_exists(existing.kind, name),))
        raise UserError(
            f'{existing.kind} "{scope.full_name(existing)}" already exists',
            updates.taken_sqlstate(existing.kind),
        )
    cluster = scope.names.resolve_cluster(statement.cluster or scope.facts.cluster)
    interval_ms = _interval_ms(statement)
    retain_ms = statement.retain_history
    answer = answer_of(scope)
    connections, upstream = _named_in_full(scope, statement.upstream, answer)
    source_type = SOURCE_TYPES[answer.source_type]
    answer.check_room(_others(scope, source_type.name))
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "source",
        "",
        Relation(source_type.progress_columns(answer.options)),
        dependencies=tuple(connection.id for connection in connections),
        cluster_id=cluster.id,
        details=Ingestion(
            source_type.name,
            answer.options,
            interval_ms,
            RETAIN_HISTORY_MS_DEFAULT if retain_ms is None else retain_ms.milliseconds,
            listed(answer.references),
            scope.now_ms,
        ),
        created_at_ms=scope.now_ms,
    )
    used: tuple[updates.Requirement, ...] = (
        updates.ClusterExists(cluster.id, cluster.name),
        *(updates.ItemExists(connection.id, connection.name) for connection in connections),
    )
    full = replace(
        statement,
        name=Name(scope.names.full_name_parts(item)),
        upstream=upstream,
        cluster=cluster.name,
        if_not_exists=False,
    )
    item = replace(item, create_sql=full.render())
    if legacy_syntax(scope.state.system_variables, statement):
        outcome = legacy_sources.plan(scope, replace(statement, upstream=upstream), item, answer)
        return replace(outcome, requirements=(*outcome.requirements, *used))
    free = updates.NameFree(schema.id, name)
    return Outcome(tag, (updates.CreateItem(item),), (free, *used), answer.notices)


def _others(scope: DdlScope, kind: str) -> list[Options]:
    """The options of the sources of a kind, also of those made while the upstream was asked."""
    items = scope.state.items.values()
    sources = (item.ingestion for item in items if item.ingests and item.ingestion.source_type == kind)
    return [full_options(scope.state, source.options) for source in sources]


def _named_in_full(scope: DdlScope, upstream: Upstream, answer: Answer) -> tuple[tuple[Item, ...], Upstream]:
    """The connection that an upstream uses, and the upstream with its full name."""
    connections = _connections(scope, DIALECTS[answer.source_type], upstream)
    for connection in connections:
        if connection.id != answer.options["connection_id"]:
            raise changed_meanwhile()
        upstream = replace(upstream, connection=Name(scope.names.full_name_parts(connection)))
    return connections, upstream


def _interval_ms(statement: CreateSource) -> int:
    if statement.timestamp_interval is None:
        return TICK_INTERVAL_MS_DEFAULT
    wanted = statement.timestamp_interval.milliseconds
    check_interval(wanted)
    return wanted
