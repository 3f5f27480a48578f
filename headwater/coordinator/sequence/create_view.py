"""CREATE VIEW: a query under a name, kept with all names in full."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.details import View
from headwater.catalog.state import TEMPORARY_SCHEMA_ID, Comment, Item
from headwater.coordinator.carrying import Change, carried_views, readers_of, stays
from headwater.coordinator.ddl import DdlScope, Outcome, already_exists
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.sql.cursor import Name, SqlText
from headwater.sql.select import pin_moments, plan_query, qualify, relations_of
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
    definition = qualify(pin_moments(text, query), scope.names)
    replaced = existing if statement.replace else None
    item_id, oid = scope.new_item() if replaced is None else (replaced.id, replaced.oid)
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
        details=View(),
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
    if replaced is not None:
        return Outcome(tag, _replaced(scope, replaced, item))
    return Outcome(tag, (updates.CreateItem(item),), (updates.NameFree(schema_id, name, pid),))


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


def _replaced(scope: DdlScope, existing: Item, item: Item) -> tuple[updates.Update, ...]:
    """The view under the same id with another query; what reads it goes on with the columns it has."""
    if existing.kind != "view":
        raise UserError(f"{existing.name} is a {existing.kind} not a view", "42809")
    if readers_of(scope.state, (existing.id,)) & set(item.dependencies):
        raise UserError(f'cannot replace view "{existing.name}": the new query depends on it', "42P17")
    if (existing.create_sql, existing.relation) == (item.create_sql, item.relation):
        return ()
    update = updates.UpdateItem(
        existing.id,
        create_sql=item.create_sql,
        definition=item.definition,
        relation=item.relation,
        dependencies=item.dependencies,
    )
    change = Change(scope.state, apply(scope.state, update), f'cannot replace view "{existing.name}"')
    views = carried_views(change, (existing.id,), lambda _: stays)
    readers = readers_of(scope.state, (existing.id,))
    comments = _moved_comments(scope, existing, item)
    return (update, *views, *comments, updates.Redefine(tuple(sorted(readers))))


def _moved_comments(scope: DdlScope, existing: Item, item: Item) -> list[updates.Update]:
    """What was said of a column stays with its name."""
    before, after = existing.relation.column_names(), item.relation.column_names()
    said = {name: scope.state.comment_on("view", existing.id, n) for n, name in enumerate(before, 1)}
    if not any(said.values()) or before == after:
        return []
    texts = [said.get(name) or "" for name in after] + [""] * (len(before) - len(after))
    return [updates.SetComment(Comment("view", existing.id, n, text)) for n, text in enumerate(texts, 1)]
