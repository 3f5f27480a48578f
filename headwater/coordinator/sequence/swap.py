"""ALTER ... SWAP WITH: names change places, ids stay.

What reads by name, views included, reads the other one from one timestamp on.  What does not go by names
stays where it is: the two that are swapped (one may read the other), all that is inside of swapped schemas,
and what is fed by a source or uses a connection or secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.carrying import Change, Target, carried_views, readers_of, stays, swapped_items
from headwater.coordinator.ddl import DdlScope, Outcome
from headwater.coordinator.renaming import Mapping, exchanged, on_clusters, rewritten, swapped
from headwater.core.errors import UserError
from headwater.sql.statements.alter_swap import AlterSwap


def plan(scope: DdlScope, statement: AlterSwap) -> Outcome:
    """Refused where a view uses a column that it would not find any more."""
    tag = f"ALTER {statement.kind.upper()}"
    match statement.kind:
        case "cluster":
            return _clusters(scope, statement, tag)
        case "schema":
            return _schemas(scope, statement, tag)
        case _:
            return _items(scope, statement, tag)


def _clusters(scope: DdlScope, statement: AlterSwap, tag: str) -> Outcome:
    state, names = scope.state, scope.names
    first, second = names.resolve_cluster(statement.name.item), names.resolve_cluster(statement.other)
    _check_two(statement, first.id, second.id)
    both = (*state.items_of_cluster(first.id), *state.items_of_cluster(second.id))
    changes = on_clusters(both, {first.name: second.name, second.name: first.name})
    return Outcome(tag, (updates.SwapClusters(first.id, second.id), *changes))


def _schemas(scope: DdlScope, statement: AlterSwap, tag: str) -> Outcome:
    state, names = scope.state, scope.names
    one = names.resolve_schema(statement.name.parts)
    other = names.resolve_schema((*statement.name.parts[:-1], statement.other))
    if one.database_id is None or other.database_id is None:
        raise UserError("system schemas cannot be swapped", "42501")
    _check_two(statement, one.id, other.id)
    database = state.databases[one.database_id]
    mapping = exchanged((database.name, one.name), (database.name, other.name))
    inside = {item.id: item for id_ in (one.id, other.id) for item in state.items_of(id_)}
    switch = swapped_items(state, one.id, other.id)

    def target_of(view: Item) -> Target:
        return stays if view.id in inside else lambda id_: switch.get(id_, id_)

    swap = updates.SwapSchemas(one.id, other.id)
    return Outcome(tag, _swapped(state, statement, swap, inside.values(), mapping, target_of))


def _items(scope: DdlScope, statement: AlterSwap, tag: str) -> Outcome:
    state, names = scope.state, scope.names
    left = names.resolve_item(statement.name.parts, statement.kind)
    right = names.resolve_item((*statement.name.parts[:-1], statement.other), statement.kind)
    _check_two(statement, left.id, right.id)
    mapping = swapped(names.full_name_parts(left), names.full_name_parts(right))
    switch = {left.id: right.id, right.id: left.id}

    def target_of(view: Item) -> Target:
        return stays if view.id in switch else lambda id_: switch.get(id_, id_)

    swap = updates.SwapItems(left.id, right.id)
    return Outcome(tag, _swapped(state, statement, swap, (left, right), mapping, target_of))


def _swapped(
    state: CatalogState,
    statement: AlterSwap,
    swap: updates.Update,
    items: Iterable[Item],
    mapping: Mapping,
    target_of: Callable[[Item], Target],
) -> tuple[updates.Update, ...]:
    """The swap of these items, and all that follows from it."""
    found = {item.id: item for item in items}
    roots = tuple(found)
    for id_ in roots:
        found.update({dependent: state.items[dependent] for dependent in state.dependents.get(id_, ())})
    # Stored text follows the ids to their new names, except that of views.
    texts = rewritten([item for item in found.values() if item.kind != "view"], mapping)
    after = apply(state, swap)
    for update in texts:
        after = apply(after, update)
    action = f'cannot swap {statement.kind} "{statement.name}" with "{statement.other}"'
    views = carried_views(Change(state, after, action), roots, target_of)
    meant = updates.Redefine(tuple(sorted(readers_of(state, roots))))
    return (swap, *texts, *views, meant)


def _check_two(statement: AlterSwap, first_id: str, second_id: str) -> None:
    if first_id == second_id:
        raise UserError(
            f'cannot swap {statement.kind} "{statement.name}" with itself',
            "22023",
            hint="Name the one that is to take its place.",
        )
