"""CREATE SECRET and ALTER SECRET: evaluate the value once, keep it outside of the catalog.

The catalog knows that a secret exists and how often it was set; the value goes with the
outcome to the store of secrets (persist/secrets.py) and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog import updates
from headwater.catalog.details import Secret
from headwater.catalog.state import Item
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists, does_not_exist
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.limits import SECRET_BYTES_MAX
from headwater.core.relation import Relation
from headwater.core.types import BYTEA, TEXT
from headwater.sql.cursor import Name, SqlText
from headwater.sql.secret_values import HIDDEN_VALUE, concealed
from headwater.sql.select import plan_query
from headwater.sql.statements.alter_secret import AlterSecret
from headwater.sql.statements.create_secret import CreateSecret

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_SELECT = "SELECT ("


async def value(session: SqlSession, statement: CreateSecret | AlterSecret) -> bytes:
    """What the expression is now; a text is its bytes in UTF-8."""
    try:
        return await _evaluate(session, statement.value)
    except UserError as error:
        raise concealed(error, statement.value) from None


async def _evaluate(session: SqlSession, expression: SqlText) -> bytes:
    text = f"{_SELECT}{expression.text}\n)"
    names, facts, offset = session.names(), session.facts(), expression.offset - len(_SELECT)
    query = await session.coordinator.beside.run(lambda: plan_query(text, names, facts, (), offset))
    position = expression.offset + 1
    if query.parameters:
        raise UserError("there is no parameter $1", "42P02", hint="A secret's value is written out.")
    if query.relation_ids:
        raise UserError("the value of a secret cannot depend on relations", "0A000", position=position)
    kind = query.columns()[0].type.kind
    if kind not in (TEXT.kind, BYTEA.kind, "varchar"):
        raise UserError(
            f"the value of a secret must be of type text or bytea, not {query.columns()[0].type}",
            "42804",
            position=position,
        )
    found = await session.coordinator.constant(query)
    if found is None:
        raise UserError("secret value can not be null", "22004")
    data = found if isinstance(found, bytes) else str(found).encode()
    if len(data) > SECRET_BYTES_MAX:
        raise UserError("secrets can not be bigger than 512KiB", "54000")
    return data


def plan_create(scope: DdlScope, statement: CreateSecret) -> Outcome:
    """A new secret; its value is durable before it is."""
    tag = "CREATE SECRET"
    schema, name = scope.names.place(statement.name.parts)
    if statement.if_not_exists and scope.state.item_named(schema.id, name) is not None:
        return Outcome(tag, notices=(already_exists("secret", name),))
    item_id, oid = scope.new_item()
    item = Item(
        item_id,
        oid,
        schema.id,
        name,
        "secret",
        "",
        Relation(()),
        details=Secret(),
        created_at_ms=scope.now_ms,
    )
    full = CreateSecret(Name(scope.names.full_name_parts(item)), HIDDEN_VALUE)
    item = replace(item, create_sql=full.render())
    return Outcome(
        tag,
        (updates.CreateItem(item),),
        (updates.NameFree(schema.id, name),),
        secret_values={item_id: _answered(scope)},
    )


def plan_alter(scope: DdlScope, statement: AlterSecret) -> Outcome:
    """Another value, for whoever connects from now on."""
    tag = "ALTER SECRET"
    if statement.if_exists and scope.names.find_item(statement.name.parts) is None:
        return Outcome(tag, notices=(does_not_exist("secret", str(statement.name)),))
    item = scope.names.resolve_item(statement.name.parts, "secret")
    if not isinstance(item.details, Secret):
        raise InvariantViolation(f"{item.id} is no secret but a {item.details.sort}")
    details = replace(item.details, version=item.details.version + 1)
    return Outcome(
        tag,
        (updates.UpdateItem(item.id, details=details),),
        (updates.ItemExists(item.id, item.name),),
        secret_values={item.id: _answered(scope)},
    )


def _answered(scope: DdlScope) -> bytes:
    if not isinstance(scope.answer, bytes):
        raise InvariantViolation("a secret's value was not evaluated")
    return scope.answer
