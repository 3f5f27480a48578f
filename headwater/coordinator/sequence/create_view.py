"""CREATE VIEW: a query under a name, kept with all names in full."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.state import TEMPORARY_SCHEMA_ID, Item
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.sql.cursor import Name, SqlText
from headwater.sql.select import plan_query, qualify, relations_of
from headwater.sql.statements.create_view import CreateView


def plan(scope: DdlScope, statement: CreateView) -> Outcome:
    """Planned now, so that a view always works; inlined into every query that reads it."""
    tag = "CREATE VIEW"
    state = scope.state
    text = statement.query.text
    # A SHOW depends on the session that asks, and a view on none.
    facts = replace(scope.facts, show=None)
    query = plan_query(text, scope.names, facts, offset=statement.query.offset)
    if query.parameters:
        raise UserError("there is no parameter $1", "42P02", hint="A view cannot have parameters.")
    used = [scope.names.find_relation(parts) for parts in relations_of(text)]
    dependencies = tuple(dict.fromkeys(r.id for r in used if r.id in state.items))
    on_temporary = any(state.items[id_].temporary_pid is not None for id_ in dependencies)
    pid = scope.backend_pid if statement.temporary or on_temporary else None
    if pid is not None:
        schema_id, name = TEMPORARY_SCHEMA_ID, statement.name.parts[-1]
    else:
        schema, name = scope.names.place(statement.name.parts)
        schema_id = schema.id
    existing = state.item_named(schema_id, name, pid)
    if existing is not None and statement.if_not_exists:
        return Outcome(tag, notices=(already_exists("view", name),))
    relation = Relation(_columns(statement, query.columns()))
    item_id, oid = scope.new_item()
    definition = qualify(text, scope.names)
    item = Item(
        item_id,
        oid,
        schema_id,
        name,
        "view",
        "",
        relation,
        dependencies=dependencies,
        definition=definition,
        created_at_ms=scope.now_ms,
        temporary_pid=pid,
    )
    full = replace(
        statement,
        name=Name(scope.names.full_name_parts(item)),
        query=SqlText(definition),
        replace=False,
        if_not_exists=False,
    )
    item = replace(item, create_sql=full.render())
    create = updates.CreateItem(item)
    if existing is not None and statement.replace:
        _check_replaceable(scope, existing, dependencies)
        return Outcome(tag, (updates.DropItem(existing.id), create))
    requirements = [updates.NameFree(schema_id, name, pid)]
    return Outcome(tag, (create,), tuple(requirements))


def _columns(statement: CreateView, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    if len(statement.columns) > len(columns):
        raise UserError(
            f"{len(statement.columns)} column names were given, but the query has {len(columns)} columns",
            "42601",
        )
    names = (*statement.columns, *(c.name for c in columns[len(statement.columns) :]))
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f'column "{name}" specified more than once',
                "42701",
                hint=f'Give one of them a name with AS, "{name}" is taken.',
            )
    return tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True))


def _check_replaceable(scope: DdlScope, existing: Item, dependencies: tuple[str, ...]) -> None:
    if existing.kind != "view":
        raise UserError(f"{existing.name} is a {existing.kind} not a view")
    order = scope.state.drop_order([existing.id])
    if any(id_ in dependencies for id_ in order):
        raise UserError(f'cannot replace view "{existing.name}": the new query depends on it')
    dependents = [scope.state.items[id_] for id_ in order if id_ != existing.id]
    if dependents:
        first = dependents[-1]
        raise UserError(
            f'cannot drop view "{existing.name}": still depended upon by {first.kind} "{first.name}"',
            "2BP01",
            hint="Drop the dependent objects first.",
        )
