"""CREATE, ALTER and VALIDATE CONNECTION.

The upstream is tried out before the catalog is touched, and outside of its turn: if it
cannot be used, nothing is created or changed.  Planning comes afterwards, and what is
committed is what was tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog import updates
from headwater.catalog.details import Connection
from headwater.catalog.state import Item
from headwater.coordinator.api import Prepared, Result
from headwater.coordinator.connection_details import (
    Resolved,
    altered,
    check_allowed,
    resolve,
    validate,
)
from headwater.coordinator.ddl import DdlScope, Outcome, Question, already_exists, does_not_exist
from headwater.coordinator.upstreams import changed_meanwhile
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.relation import Relation
from headwater.sources.dialects import CONNECTION_KINDS
from headwater.sql.cursor import Name
from headwater.sql.parse import parse_statement
from headwater.sql.statements.alter_connection import AlterConnection
from headwater.sql.statements.create_connection import CreateConnection
from headwater.sql.statements.validate_connection import ValidateConnection

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def create_question(scope: DdlScope, statement: CreateConnection) -> Question | None:
    """Whether the upstream can be used; not asked when the name is taken."""
    schema, name = scope.names.place(statement.name.parts)
    if statement.validate is False or scope.state.item_named(schema.id, name) is not None:
        return None
    options = resolve(scope.names, statement.kind, statement.options).options
    return lambda secrets: validate(scope.state, statement.kind, options, secrets)


def plan_create(scope: DdlScope, statement: CreateConnection) -> Outcome:
    """A new connection; it depends on its secrets."""
    tag = "CREATE CONNECTION"
    schema, name = scope.names.place(statement.name.parts)
    existing = scope.state.item_named(schema.id, name)
    if existing is not None:
        if statement.if_not_exists:
            return Outcome(tag, notices=(already_exists("connection", name),))
        raise UserError(f"catalog item '{name}' already exists", updates.taken_sqlstate(existing.kind))
    resolved = resolve(scope.names, statement.kind, statement.options)
    _check_tried(scope, statement.validate, resolved)
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "connection",
        "",
        Relation(()),
        dependencies=resolved.secret_ids,
        details=Connection(CONNECTION_KINDS[statement.kind].type, resolved.options),
        created_at_ms=scope.now_ms,
    )
    full = CreateConnection(Name(scope.names.full_name_parts(item)), statement.kind, resolved.written)
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (updates.NameFree(schema.id, name), *_secrets(scope, resolved)),
        resolved.notices,
    )


def alter_question(scope: DdlScope, statement: AlterConnection) -> Question | None:
    """The same with the new options."""
    item = scope.names.find_item(statement.name.parts)
    if statement.validate is False or item is None or item.kind != "connection":
        return None
    kind = _created(item).kind
    options = _altered(scope, item, statement).options
    return lambda secrets: validate(scope.state, kind, options, secrets)


def plan_alter(scope: DdlScope, statement: AlterConnection) -> Outcome:
    """Sources that use the connection go on with the new options."""
    tag = "ALTER CONNECTION"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("connection", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "connection")
    resolved = _altered(scope, item, statement)
    _check_tried(scope, statement.validate, resolved)
    update = updates.UpdateItem(
        item.id,
        create_sql=replace(_created(item), options=resolved.written).render(),
        dependencies=resolved.secret_ids,
        details=replace(item.connection, options=resolved.options),
    )
    requirements = (updates.ItemExists(item.id, item.name), *_secrets(scope, resolved))
    return Outcome(tag, (update,), requirements, resolved.notices)


async def run_validate(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Try a connection out as it is now."""
    statement = prepared.parsed.statement
    if not isinstance(statement, ValidateConnection):
        raise InvariantViolation("VALIDATE CONNECTION of something else")
    item = session.names().resolve_item(statement.name.parts, "connection")
    kind, options = _created(item).kind, dict(item.connection.options)
    check_allowed(session.names(), options)
    await session.coordinator.upstreams.ask(
        lambda secrets: validate(session.state, kind, options, secrets), session.secret_value
    )
    return Result(lambda _: "VALIDATE CONNECTION")


def _created(item: Item) -> CreateConnection:
    statement = parse_statement(item.create_sql)
    if not isinstance(statement, CreateConnection):
        raise InvariantViolation(f"{item.id} is a connection with another statement: {item.create_sql[:80]}")
    return statement


def _altered(scope: DdlScope, item: Item, statement: AlterConnection) -> Resolved:
    created = _created(item)
    options = altered(item, created.kind, created.options, statement.set, statement.dropped)
    return resolve(scope.names, created.kind, options)


def _check_tried(scope: DdlScope, wanted: bool | None, resolved: Resolved) -> None:
    """What is committed is what was tried out."""
    if wanted is not False and scope.answer != resolved.options:
        raise changed_meanwhile()


def _secrets(scope: DdlScope, resolved: Resolved) -> tuple[updates.Requirement, ...]:
    return tuple(updates.ItemExists(id_, scope.state.items[id_].name) for id_ in resolved.secret_ids)
