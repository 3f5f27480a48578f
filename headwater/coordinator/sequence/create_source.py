"""CREATE SOURCE: ask the upstream once what it has, then record the ingestion.

Nothing is made in the upstream by this: a slot has its name from here on, and whoever
reads the source makes it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.coordinator import older_sources
from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Outcome, Question, already_exists
from headwater.coordinator.source_details import check_interval, full_options, reference_json
from headwater.coordinator.source_form import older_form
from headwater.coordinator.upstreams import Answer, answer_of, changed_meanwhile
from headwater.core.clock import unique_name
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import (
    RETAIN_HISTORY_MS_DEFAULT,
    TICK_INTERVAL_MS_DEFAULT,
)
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Secrets
from headwater.sources.load_generator import resolve_options
from headwater.sources.postgres.inspect import examine
from headwater.sources.postgres.pin import PREFIX
from headwater.sql.cursor import Name
from headwater.sql.options import option_of
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.upstreams import Upstream
from headwater.sql.upstreams.kafka import Kafka
from headwater.sql.upstreams.load_generator import LoadGenerator
from headwater.sql.upstreams.mysql import MySql
from headwater.sql.upstreams.postgres import Postgres

LOAD_GENERATOR = "load-generator"
POSTGRES = "postgres"
SLOT_PREFIX = "materialize_"


def question(scope: DdlScope, statement: CreateSource) -> Question | None:
    """What the upstream has, unless the statement is to fail or to do nothing anyway."""
    schema, name = scope.names.place(statement.name.parts)
    if scope.state.item_named(schema.id, name) is not None:
        return None
    scope.names.resolve_cluster(statement.cluster or scope.facts.cluster)
    _interval_ms(statement)
    older = older_form(scope.state.system_variables, statement)
    match statement.upstream:
        case LoadGenerator() as upstream:
            options = resolve_options(upstream.generator, written(upstream), scope.now_ms)
            references = SOURCE_TYPES[LOAD_GENERATOR].references
            return lambda secrets: Answer(LOAD_GENERATOR, options, references(options, secrets, None))
        case Postgres() as upstream:
            return _postgres_question(scope, upstream, older)
        case Kafka():
            raise not_supported("KAFKA sources")
        case MySql():
            raise not_supported("MYSQL sources")


def _postgres_question(scope: DdlScope, upstream: Postgres, older: bool) -> Question:
    connection = _connection(scope, upstream)
    if upstream.publication is None:
        raise UserError(f"{PREFIX}CONNECTION must specify PUBLICATION")
    for option, columns in (
        ("TEXT COLUMNS", upstream.text_columns),
        ("EXCLUDE COLUMNS", upstream.exclude_columns),
    ):
        if columns and not older:
            raise UserError(
                f"{PREFIX}{option} option is unnecessary when no tables are added",
                hint=f"Say it where the table is made: CREATE TABLE .. FROM SOURCE .. WITH ({option} (..))",
                position=columns[0].position,
            )
    slot = SLOT_PREFIX + unique_name()
    options = {"connection_id": connection.id, "publication": upstream.publication, "slot": slot}
    asked = full_options(scope.state, options)

    def ask(secrets: Secrets) -> Answer:
        found = examine(asked, secrets)
        notices: tuple[Notice, ...] = ()
        left_out = found.facts.publication.left_out() if found.facts.publication is not None else ()
        if left_out:
            notice = f'publication "{upstream.publication}" does not publish {", ".join(left_out)}'
            notices = (Notice("WARNING", notice, hint="Tables will not follow such changes."),)
        kept = {**options, "identity": found.facts.identity()}
        return Answer(POSTGRES, kept, found.references, notices)

    return ask


def _connection(scope: DdlScope, upstream: Postgres) -> Item:
    connection = scope.names.resolve_item(upstream.connection.parts, "connection")
    if connection.details["connection_type"] != POSTGRES:
        raise UserError(f"{connection.name} is not a POSTGRES CONNECTION")
    return connection


def plan(scope: DdlScope, statement: CreateSource) -> Outcome:
    """A new source; it has no tables yet and its own rows are its progress."""
    tag = "CREATE SOURCE"
    schema, name = scope.names.place(statement.name.parts)
    existing = scope.state.item_named(schema.id, name)
    if existing is not None:
        if statement.if_not_exists:
            return Outcome(tag, notices=(already_exists(existing.kind, name),))
        raise UserError(f'{existing.kind} "{scope.full_name(existing)}" already exists', "42710")
    cluster = scope.names.resolve_cluster(statement.cluster or scope.facts.cluster)
    interval_ms = _interval_ms(statement)
    retain_ms = statement.retain_history
    answer = answer_of(scope)
    connections, upstream = _named_in_full(scope, statement.upstream, answer)
    source_type = SOURCE_TYPES[answer.source_type]
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "source",
        "",
        Relation(source_type.progress_columns),
        dependencies=tuple(connection.id for connection in connections),
        cluster_id=cluster.id,
        details={
            "source_type": source_type.name,
            "options": answer.options,
            "timestamp_interval_ms": interval_ms,
            "retain_history_ms": RETAIN_HISTORY_MS_DEFAULT if retain_ms is None else retain_ms.milliseconds,
            "references": [reference_json(reference) for reference in answer.references],
            "references_updated_at_ms": scope.now_ms,
        },
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
    if older_form(scope.state.system_variables, statement):
        outcome = older_sources.plan(scope, replace(statement, upstream=upstream), item, answer)
        return replace(outcome, requirements=(*outcome.requirements, *used))
    free = updates.NameFree(schema.id, name)
    return Outcome(tag, (updates.CreateItem(item),), (free, *used), answer.notices)


def _named_in_full(scope: DdlScope, upstream: Upstream, answer: Answer) -> tuple[tuple[Item, ...], Upstream]:
    """The connection that an upstream uses, and the upstream with its full name."""
    if not isinstance(upstream, Postgres):
        return (), upstream
    connection = _connection(scope, upstream)
    if connection.id != answer.options["connection_id"]:
        raise changed_meanwhile()
    return (connection,), replace(upstream, connection=Name(scope.names.full_name_parts(connection)))


def _interval_ms(statement: CreateSource) -> int:
    if statement.timestamp_interval is None:
        return TICK_INTERVAL_MS_DEFAULT
    wanted = statement.timestamp_interval.milliseconds
    check_interval(wanted)
    return wanted


def written(upstream: LoadGenerator) -> dict[str, Any]:
    """The options that were written, by their SQL names."""
    values = {option_of(f.name): getattr(upstream, f.name) for f in fields(upstream) if f.name != "generator"}
    return {
        name: value.text if hasattr(value, "text") else value
        for name, value in values.items()
        if value is not None
    }
