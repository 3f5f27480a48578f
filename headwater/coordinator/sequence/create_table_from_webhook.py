"""CREATE TABLE ... FROM WEBHOOK: a plain table that requests write, and its condition planned once.

CREATE SOURCE, the legacy syntax, makes a source that is the same in everything but its kind: it belongs to a
cluster, and is shown and dropped as a source.  It reads no upstream, so the migration leaves it alone.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.details import WebhookTable
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists, check_column_names
from headwater.coordinator.variables import flag
from headwater.coordinator.webhook_checks import verify_check
from headwater.core.errors import UserError
from headwater.core.limits import RETAIN_HISTORY_MS_DEFAULT
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, JSONB, TEXT, map_of
from headwater.sql.cursor import Name, SqlText
from headwater.sql.select import pin_moments
from headwater.sql.statements.create_table_from_webhook import BODY_AND_HEADERS, Bind, CreateTableFromWebhook

_BODY_TYPES = {"TEXT": TEXT, "JSON": JSONB, "JSON ARRAY": JSONB, "BYTES": BYTEA}


def plan(scope: DdlScope, statement: CreateTableFromWebhook) -> Outcome:
    """A new table or source; its address exists from the moment of the commit."""
    tag = "CREATE SOURCE" if statement.legacy else "CREATE TABLE"
    _check_allowed(scope, statement)
    cluster = (
        scope.names.resolve_cluster(statement.cluster or scope.facts.cluster) if statement.legacy else None
    )
    schema, name = scope.names.place(statement.name.parts)
    existing = scope.state.item_named(schema.id, name)
    if statement.if_not_exists and existing is not None:
        return Outcome(tag, notices=(already_exists(existing.kind, name),))
    relation = _relation(statement)
    secrets = _secrets(scope, statement)
    details = _details(scope, statement, secrets)
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "source" if statement.legacy else "table",
        "",
        relation,
        dependencies=tuple(dict.fromkeys(secret.id for secret in secrets.values())),
        cluster_id=None if cluster is None else cluster.id,
        details=details,
        created_at_ms=scope.now_ms,
    )
    full_names = {written: Name(scope.names.full_name_parts(secret)) for written, secret in secrets.items()}
    full = statement.in_full(Name(scope.names.full_name_parts(item)), full_names)
    full = replace(full, cluster=None if cluster is None else cluster.name)
    if full.check is not None and details.condition is not None:
        full = replace(full, check=replace(full.check, condition=SqlText(details.condition)))
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (
            updates.NameFree(schema.id, name),
            *(updates.ItemExists(secret.id, secret.name) for secret in secrets.values()),
            *(() if cluster is None else (updates.ClusterExists(cluster.id, cluster.name),)),
        ),
    )


def _check_allowed(scope: DdlScope, statement: CreateTableFromWebhook) -> None:
    if statement.legacy:
        if flag(scope.state.system_variables, "force_source_table_syntax"):
            raise UserError(
                "CREATE SOURCE ... FROM WEBHOOK not supported; use CREATE TABLE .. FROM WEBHOOK instead",
                "0A000",
                hint=f"Type: {replace(statement, legacy=False, cluster=None).render()}",
            )
    elif not flag(scope.state.system_variables, "enable_create_table_from_source"):
        raise UserError(
            "CREATE TABLE ... FROM WEBHOOK is not supported",
            "0A000",
            hint="ALTER SYSTEM SET enable_create_table_from_source = on allows it.",
        )


def _relation(statement: CreateTableFromWebhook) -> Relation:
    columns = [Column("body", _BODY_TYPES[statement.body], nullable=False)]
    if statement.headers is not None:
        columns.append(Column("headers", map_of(TEXT), nullable=False))
    columns += [Column(one.column, BYTEA if one.binary else TEXT) for one in statement.mapped]
    check_column_names([column.name for column in columns])
    return Relation(tuple(columns))


def _binds(statement: CreateTableFromWebhook) -> tuple[Bind, ...]:
    if statement.check is None:
        return ()
    return statement.check.binds or BODY_AND_HEADERS


def _secrets(scope: DdlScope, statement: CreateTableFromWebhook) -> dict[Name, Item]:
    named = [bind.secret for bind in _binds(statement) if bind.secret is not None]
    return {name: scope.names.resolve_item(name.parts, "secret") for name in named}


def _details(scope: DdlScope, statement: CreateTableFromWebhook, secrets: dict[Name, Item]) -> WebhookTable:
    headers = statement.headers
    details = WebhookTable(
        statement.body.lower(),
        tuple((one.header.lower(), one.column, one.binary) for one in statement.mapped),
        None
        if headers is None
        else {
            "only": [name.lower() for name in headers.only],
            "without": [name.lower() for name in headers.without],
        },
        None if statement.check is None else statement.check.condition.text,
        tuple(
            (
                *(bind.given.lower(), bind.column, bind.binary),
                None if bind.secret is None else secrets[bind.secret].id,
            )
            for bind in _binds(statement)
        ),
        RETAIN_HISTORY_MS_DEFAULT
        if statement.retain_history is None
        else statement.retain_history.milliseconds,
    )
    if statement.check is None or details.condition is None:
        return details
    query = verify_check(scope.state, details, statement.check.condition.offset)
    return replace(details, condition=pin_moments(details.condition, query))
