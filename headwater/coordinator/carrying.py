"""Readers of relations are carried along when a name gets another meaning: pure.

    ALTER .. SWAP WITH          what reads by the name reads the other one from now on
    CREATE OR REPLACE VIEW      what reads the view reads its new query
    ALTER TABLE .. ADD COLUMN   what reads the table does not notice

A reader is a query in which all names are in full: a view's, or that of a subscription.  It keeps its
columns, and every name in it keeps its meaning:

    1  a column whose value it needs must be there with the same type, or it is refused
    2  its text stays as it is if the plan it gives stays the same
    3  if not (a star that would give more, a name that would be found elsewhere), the relation
       is read by a subquery that has exactly the columns of before

Not here: names alone (`renaming.py`), from which timestamp on (`coordinator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.snapshot import RELATION_KINDS, SessionNames
from headwater.catalog.state import CatalogState, Item
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.ids import id_number
from headwater.core.names import NamedRelation, SessionFacts
from headwater.core.relation import Column
from headwater.core.types import SqlType, format_type
from headwater.sql.cursor import Name, SqlText
from headwater.sql.parse import parse_statement
from headwater.sql.select import narrow, plan_query, relations_of, rename, same_meaning, used_columns
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statements.create_view import CreateView
from headwater.sql.type_names import render_type

Target = Callable[[str], str | None]
"""What a reader of the item with this id is to read; None: nothing has the name any more."""
Parts = tuple[str, ...]


def stays(item_id: str) -> str | None:
    """The target of a reader that goes on with what it reads."""
    return item_id


@dataclass(frozen=True, slots=True)
class Change:
    """A catalog that becomes another one; `action` is what a refusal begins with."""

    before: CatalogState
    after: CatalogState
    action: str = ""

    def refused(self, text: str, sqlstate: str, detail: str, hint: str) -> UserError:
        begin = f"{self.action}: " if self.action else ""
        return UserError(begin + text, sqlstate, detail=detail, hint=hint)


@dataclass(frozen=True, slots=True)
class Reader:
    """A query, and what it is planned with; `name` is for messages (`view "d.s.v"`)."""

    name: str
    definition: str
    backend_pid: int = 0  # whose temporary items it means
    facts: SessionFacts = field(default_factory=SessionFacts)
    parameter_types: tuple[SqlType | None, ...] = ()

    def planned(self, state: CatalogState) -> Query:
        """As far as the relations it names: views among them are not looked into."""
        names = _Direct(state, backend_pid=self.backend_pid)
        return plan_query(self.definition, names, self.facts, self.parameter_types)


class _Direct(SessionNames):
    """Every relation is one that has its rows itself."""

    def find_relation(self, parts: Parts) -> NamedRelation:
        return replace(super().find_relation(parts), definition=None)


def carried(change: Change, reader: Reader, target: Target) -> Reader:
    """The reader as it reads the same columns after the change; UserError if it cannot."""
    before, after = change.before, change.after
    names = SessionNames(before, backend_pid=reader.backend_pid)
    moves: dict[Parts, tuple[Item, Item]] = {}
    for parts in relations_of(reader.definition):
        item = names.find_item(parts)
        if item is not None:
            moves[parts] = (item, _found(change, reader, item, target(item.id)))
    after_names = SessionNames(after)
    texts = {parts: after_names.full_name_parts(new) for parts, (_, new) in moves.items()}
    renamed = rename(reader.definition, texts.get) if any(p != t for p, t in texts.items()) else None
    moved = reader if renamed is None else replace(reader, definition=renamed)
    others = [(texts[parts], old, new) for parts, (old, new) in moves.items() if old.relation != new.relation]
    if not others:
        return moved
    plan = reader.planned(before)
    _check_columns(change, reader, plan, [(old, new) for _, old, new in others])
    ids = {old.id: new.id for old, new in moves.values()}
    try:
        if same_meaning(plan, moved.planned(after), ids):
            return moved
    except UserError:
        pass  # a name that is ambiguous now, a key that is no longer one: the columns of before may help
    for parts, old, new in others:
        absent = {
            column.name: render_type(column.type)
            for column in old.relation.columns
            if (column.name, column.type) not in {(c.name, c.type) for c in new.relation.columns}
        }
        text = narrow(moved.definition, parts, old.relation.column_names(), absent)
        moved = replace(moved, definition=text)
    _check_shape(change, moved, plan)
    return moved


def _found(change: Change, reader: Reader, item: Item, new_id: str | None) -> Item:
    found = None if new_id is None else change.after.items.get(new_id)
    if found is not None:
        return found
    full = SessionNames(change.before).full_name(item)
    raise change.refused(
        f'{reader.name} reads {item.kind} "{full}", and nothing would have that name',
        "2BP01",
        "What reads from outside of the schemas reads by name, before and after.",
        f"Create {item.name} in the other schema first, or drop what reads it.",
    )


def _check_columns(change: Change, reader: Reader, plan: Query, moves: Iterable[tuple[Item, Item]]) -> None:
    used = used_columns(plan)
    for old, new in moves:
        there = {column.name: column.type for column in new.relation.columns}
        for column in used.get(old.id, ()):
            type_ = there.get(column.name)
            if type_ == column.type:
                continue
            full = SessionNames(change.after).full_name(new)
            what = f'{reader.name} uses column "{column.name}" of "{full}"'
            hint = "Drop what uses the column, or CREATE OR REPLACE it without; then run the statement again."
            if type_ is None:
                text = f"{what}, which would not have it"
                detail = f"It has {', '.join(new.relation.column_names()) or 'no columns'}."
                raise change.refused(text, "2BP01", detail, hint)
            raise change.refused(
                f"{what}, which would have it with another type",
                "42804",
                f"It is {format_type(column.type)} now and would be {format_type(type_)}.",
                hint,
            )


def _check_shape(change: Change, reader: Reader, plan: Query) -> None:
    cause = "in a way that cannot be rewritten"
    try:
        columns = reader.planned(change.after).columns()
    except UserError as error:
        columns, cause = (), error.message
    if _shape(columns) != _shape(plan.columns()):
        raise change.refused(
            f"{reader.name} would change its columns",
            "0A000",
            f"It cannot be given the columns of before: {cause}.",
            "Name its columns, CREATE OR REPLACE VIEW, and run the statement again.",
        )


def _shape(columns: Sequence[Column]) -> list[tuple[str, SqlType]]:
    return [(column.name, column.type) for column in columns]


# Views


def carried_views(
    change: Change, roots: Iterable[str], target_of: Callable[[Item], Target]
) -> list[updates.Update]:
    """Updates for all views that read any of `roots`, directly or not, where these mean something else."""
    state = change.after
    changes: list[updates.Update] = []
    for view in _in_order(change, roots, target_of):
        update = _carried_view(replace(change, after=state), view, target_of(view))
        if update is not None:
            state = apply(state, update)
            changes.append(update)
    if changes:
        _check_plans(
            replace(change, after=state), [u.id for u in changes if isinstance(u, updates.UpdateItem)]
        )
    return changes


def readers_of(state: CatalogState, roots: Iterable[str]) -> set[str]:
    """The relations among these and all views that read them, directly or not."""
    found: set[str] = set()
    waiting = [id_ for id_ in roots if id_ in state.items and state.items[id_].kind in RELATION_KINDS]
    while waiting:
        id_ = waiting.pop()
        if id_ not in found:
            found.add(id_)
            waiting += [d for d in state.dependents.get(id_, ()) if state.items[d].kind == "view"]
    return found


def inputs_below(state: CatalogState, ids: Iterable[str]) -> set[str]:
    """What has rows among these and all that they read, directly or not."""
    seen: set[str] = set()
    waiting = [id_ for id_ in ids if id_ in state.items]
    while waiting:
        id_ = waiting.pop()
        if id_ not in seen:
            seen.add(id_)
            item = state.items[id_]
            if item.kind == "view":
                waiting += [d for d in item.dependencies if d in state.items]
    return {id_ for id_ in seen if state.items[id_].stores or state.items[id_].ingests}


def _in_order(change: Change, roots: Iterable[str], target_of: Callable[[Item], Target]) -> list[Item]:
    """The views among the readers, each after all that it will read."""
    affected = readers_of(change.before, roots)
    views = [change.before.items[id_] for id_ in sorted(affected, key=id_number)]
    views = [view for view in views if view.kind == "view" and view.id in change.after.items]
    reads: dict[str, set[str]] = {}
    for view in views:
        # What a view that was replaced reads is in the state after.
        current = change.after.items[view.id].dependencies
        targets = {target_of(view)(id_) for id_ in current}
        reads[view.id] = {id_ for id_ in targets if id_ is not None and id_ in affected}
    try:
        order = list(TopologicalSorter(reads).static_order())
    except CycleError as error:
        first = change.before.items[error.args[1][0]]
        full = SessionNames(change.before).full_name(first)
        raise change.refused(
            f'{first.kind} "{full}" would depend on itself',
            "42P17",
            "What has the name then reads it, perhaps through other views.",
            "Create it without reading what it is to replace.",
        ) from error
    known = {view.id: view for view in views}
    return [known[id_] for id_ in order if id_ in known]


def _carried_view(change: Change, view: Item, target: Target) -> updates.UpdateItem | None:
    now = change.after.items[view.id]
    if (view.definition, view.relation) != (now.definition, now.relation):
        return None  # it was replaced, and says itself what it reads
    full = SessionNames(change.before).full_name(view)
    reader = Reader(f'view "{full}"', view.definition or "", view.temporary_pid or 0)
    moved = carried(change, reader, target)
    dependencies = tuple(dict.fromkeys(id_ for d in view.dependencies if (id_ := target(d)) is not None))
    statement = parse_statement(view.create_sql)
    if not isinstance(statement, CreateView):
        raise InvariantViolation(f"{view.id} is not a view: {view.create_sql[:80]}")
    name = Name(SessionNames(change.after).full_name_parts(now))
    text = replace(statement, name=name, query=SqlText(moved.definition)).render()
    if (text, dependencies) == (now.create_sql, now.dependencies):
        return None
    return updates.UpdateItem(
        view.id,
        create_sql=text,
        definition=moved.definition,
        dependencies=dependencies,
    )


def _check_plans(change: Change, ids: Sequence[str]) -> None:
    """With all views looked into: what no view alone shows, as a query that has become too large."""
    for id_ in ids:
        view = change.after.items[id_]
        names = SessionNames(change.after, backend_pid=view.temporary_pid or 0)
        try:
            plan_query(view.definition or "", names, SessionFacts())
        except UserError as error:
            raise change.refused(
                f'view "{names.full_name(view)}" can no longer be read',
                error.sqlstate,
                f"{error.message}.",
                "Drop the view, or CREATE OR REPLACE it; then run the statement again.",
            ) from error


# What a change of the catalog means to those who read by name


def switches(before: CatalogState, changes: Iterable[updates.Update]) -> Mapping[str, str | None]:
    """By id: what now has its name, where a swap gave that to another; None: nothing has."""
    state = before
    found: dict[str, str | None] = {}
    for update in changes:
        pairs = _pairs(state, update)
        for origin, id_ in found.items():
            found[origin] = None if id_ is None else pairs.get(id_, id_)
        for id_, to in pairs.items():
            found.setdefault(id_, to)
        state = apply(state, update)
    return {id_: to for id_, to in found.items() if id_ != to}


def _pairs(state: CatalogState, update: updates.Update) -> Mapping[str, str | None]:
    match update:
        case updates.SwapItems(first_id, second_id):
            return {first_id: second_id, second_id: first_id}
        case updates.SwapSchemas(first_id, second_id):
            return swapped_items(state, first_id, second_id)
    return {}


def swapped_items(state: CatalogState, first_id: str, second_id: str) -> Mapping[str, str | None]:
    """By id of an item in either schema: the one of the same name in the other."""
    found: dict[str, str | None] = {}
    for here, there in ((first_id, second_id), (second_id, first_id)):
        for item in state.items_of(here):
            other = state.item_named(there, item.name)
            found[item.id] = None if other is None else other.id
    return found
