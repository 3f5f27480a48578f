"""CREATE SOURCE: ask the upstream once what it has, then record the ingestion."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from headwater.catalog import updates
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists
from headwater.coordinator.source_details import check_interval, reference_json
from headwater.core.errors import UserError
from headwater.core.limits import (
    RETAIN_HISTORY_MS_DEFAULT,
    TICK_INTERVAL_MS_DEFAULT,
)
from headwater.core.relation import Relation
from headwater.sources import SOURCE_TYPES
from headwater.sources.load_generator import resolve_options
from headwater.sql.cursor import Name
from headwater.sql.options import option_of
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.upstreams import Upstream

LOAD_GENERATOR = "load-generator"


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
    source_type = SOURCE_TYPES[LOAD_GENERATOR]
    options = resolve_options(statement.upstream.generator, written(statement.upstream), scope.now_ms)
    references = source_type.references(options)
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "source",
        "",
        Relation(source_type.progress_columns),
        cluster_id=cluster.id,
        details={
            "source_type": source_type.name,
            "options": options,
            "timestamp_interval_ms": interval_ms,
            "retain_history_ms": RETAIN_HISTORY_MS_DEFAULT if retain_ms is None else retain_ms.milliseconds,
            "references": [reference_json(reference) for reference in references],
            "references_updated_at_ms": scope.now_ms,
        },
        created_at_ms=scope.now_ms,
    )
    full = replace(
        statement, name=Name(scope.names.full_name_parts(item)), cluster=cluster.name, if_not_exists=False
    )
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (updates.NameFree(schema.id, name), updates.ClusterExists(cluster.id, cluster.name)),
    )


def _interval_ms(statement: CreateSource) -> int:
    if statement.timestamp_interval is None:
        return TICK_INTERVAL_MS_DEFAULT
    wanted = statement.timestamp_interval.milliseconds
    check_interval(wanted)
    return wanted


def written(upstream: Upstream) -> dict[str, Any]:
    """The options that were written, by their SQL names."""
    values = {option_of(f.name): getattr(upstream, f.name) for f in fields(upstream) if f.name != "generator"}
    return {
        name: value.text if hasattr(value, "text") else value
        for name, value in values.items()
        if value is not None
    }
