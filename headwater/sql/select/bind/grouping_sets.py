"""ROLLUP, CUBE and GROUPING SETS: several groupings of the same rows in one.

Each row is taken once for every set, beside the set's number; all are grouped by that number and by the
expressions, which are NULL in the sets that do not have them.  A set of nothing has a row even if there are
none below: then the sets are joined to what was found, and where nothing was, a count is 0.

Not here: GROUP BY as such (bind/group.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Final

from headwater.core.errors import UserError, syntax_error
from headwater.core.limits import CUBE_ELEMENTS_MAX, GROUPING_SETS_MAX
from headwater.core.types import INT4
from headwater.sql.select.bind.operator import equal, scalar
from headwater.sql.select.bind.planning import Planning, reference
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.parse.syntax import GroupingSets, GroupItem, RowOf, Syntax
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    Call,
    Case,
    Constant,
    Expression,
    Filter,
    InList,
    Join,
    Logical,
    Node,
    OutputColumn,
    Project,
    Values,
)
from headwater.sql.select.plan.sameness import expression_form
from headwater.sql.select.plan.walk import rewrite_expression

GROUPING: Final = Function("grouping", ("any",), INT4, None, None, variadic=True)
"""GROUPING(...), until the groups are known; no engine meets it."""

_COUNTS: Final = ("count", "regr_count")
Items = tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Numbered:
    """The sets by number from 0: the column of the number, and for each group the sets that have it."""

    column: OutputColumn
    count: int
    members: Sequence[tuple[int, ...]]

    def empty(self) -> list[int]:
        """The sets of nothing."""
        used = set(chain.from_iterable(self.members))
        return [number for number in range(self.count) if number not in used]


# What is written


def expanded(items: Sequence[GroupItem]) -> list[Items]:
    """The sets of a GROUP BY; what stands side by side is combined in all ways."""
    sets: list[Items] = [()]
    for item in items:
        alternatives = _alternatives(item)
        if len(sets) * len(alternatives) > GROUPING_SETS_MAX:
            raise UserError(f"too many grouping sets present (maximum {GROUPING_SETS_MAX})", "54001")
        sets = [(*left, *right) for left, right in product(sets, alternatives)]
    return sets


def _alternatives(item: GroupItem) -> list[Items]:
    if not isinstance(item, GroupingSets):
        return [_listed(item)]
    if item.kind == "sets":
        return [one for inner in item.items for one in _alternatives(inner)]
    parts = [_listed(part) for part in item.items]
    if not all(parts):
        raise syntax_error("ROLLUP and CUBE are of expressions", item.at + 1)
    if item.kind == "rollup":
        return [tuple(chain(*parts[:size])) for size in range(len(parts), -1, -1)]
    if len(parts) > CUBE_ELEMENTS_MAX:
        raise UserError(f"CUBE is limited to {CUBE_ELEMENTS_MAX} elements", "54011", position=item.at + 1)
    return [
        tuple(chain(*chosen)) for size in range(len(parts), -1, -1) for chosen in combinations(parts, size)
    ]


def _listed(item: GroupItem) -> Items:
    if isinstance(item, GroupingSets):
        raise syntax_error("ROLLUP and CUBE are of expressions", item.at + 1)
    return item.fields if isinstance(item, RowOf) else (item,)


def without_repeats(sets: list[list[Expression]]) -> list[list[Expression]]:
    """GROUP BY DISTINCT: of sets that have the same in them, the first."""
    kept = {frozenset(map(expression_form, items)): items for items in reversed(sets)}
    return [items for items in sets if kept[frozenset(map(expression_form, items))] is items]


def holds_grouping(value: Expression) -> bool:
    """Whether GROUPING(...) stands somewhere in it."""
    found: list[Expression] = []

    def note(part: Expression) -> None:
        if isinstance(part, Call) and part.function == GROUPING:
            found.append(part)

    rewrite_expression(value, note)
    return bool(found)


# The plan


def by_number(number: Expression, values: Sequence[int]) -> Expression:
    """The value that belongs to each set's number."""
    places: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(value, []).append(place)
    *first, (last, _) = places.items()
    branches = tuple((_one_of(number, among), Constant(str(value), INT4)) for value, among in first)
    return Case(branches, Constant(str(last), INT4), INT4)


def _one_of(number: Expression, among: Sequence[int]) -> InList:
    return InList(number, tuple(Constant(str(place), INT4) for place in among))


def grouped_by_sets(
    planning: Planning,
    below: Node,
    groups: Sequence[tuple[OutputColumn, Expression]],
    aggregates: Sequence[tuple[OutputColumn, AggregateCall]],
    numbered: Numbered,
) -> Node:
    """The rows of all sets; `numbered.column` tells which set a row is of."""
    given = planning.column("set", INT4)
    every = Values(tuple((Constant(str(n), INT4),) for n in range(numbered.count)), (given,))
    rows = Join("cross", below, every, None)
    keys: list[tuple[OutputColumn, Expression]] = [(planning.column("set", INT4), reference(given))]
    for (column, value), members in zip(groups, numbered.members, strict=True):
        kept = value if len(members) == numbered.count else _kept(reference(given), members, value)
        keys.append((planning.column(column.name, column.type), kept))
    made = [(planning.column(column.name, column.type), call) for column, call in aggregates]
    node: Node = Aggregate(rows, tuple(keys), tuple(made))
    number: Expression = reference(keys[0][0])
    values: list[Expression] = [reference(column) for column, _ in made]
    empty = numbered.empty()
    if empty:
        wanted = planning.column("set", INT4)
        all_sets = Values(every.rows, (wanted,))
        node = Join("left", all_sets, node, equal(planning, reference(wanted), number, 0))
        node = Filter(
            node, Logical("or", (Logical("is not null", (number,)), _one_of(reference(wanted), empty)))
        )
        number = reference(wanted)
        values = [
            _counted(planning, value) if call.function.name in _COUNTS else value
            for value, (_, call) in zip(values, made, strict=True)
        ]
    outputs = [(numbered.column, number)]
    outputs += [(column, reference(key)) for (column, _), (key, _) in zip(groups, keys[1:], strict=True)]
    outputs += [(column, value) for (column, _), value in zip(aggregates, values, strict=True)]
    return Project(node, tuple(outputs))


def _kept(number: Expression, members: Sequence[int], value: Expression) -> Expression:
    return Case(((_one_of(number, members), value),), Constant(None, value.type), value.type)


def _counted(planning: Planning, value: Expression) -> Expression:
    return scalar(planning, "coalesce", (value, Constant("0", value.type)), 0)
