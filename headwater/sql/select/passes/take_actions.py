"""Functions that do something: set_config(), pg_cancel_backend(), pg_advisory_lock() and their kin.

An engine can only compute, so it is asked for their arguments; whoever runs the query does the rest,
row by row, and puts the answers in the arguments' place.  For that they have to be columns of the
outermost SELECT, of themselves.

Not here: what they do (coordinator/acting.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.core.errors import not_supported
from headwater.sql.select.functions.system import ACTING
from headwater.sql.select.plan.nodes import (
    Call,
    ColumnId,
    Expression,
    Limit,
    Node,
    OutputColumn,
    Project,
    Query,
    Sort,
)
from headwater.sql.select.plan.walk import column_ids, highest_id, rewrite, rewrite_expression


@dataclass(frozen=True, slots=True)
class Action:
    """A call in the list of a query: its column there, and those that its arguments have instead."""

    function: str
    column: int
    arguments: tuple[int, ...]


def take_actions(query: Query) -> tuple[Query, tuple[Action, ...]]:
    """The query without such calls, and the calls; UserError where one stands inside something else."""
    node = query.root
    above: list[Sort | Limit] = []
    while isinstance(node, Sort | Limit):
        above.append(node)
        node = node.input
    calls: dict[ColumnId, Call] = {}
    if isinstance(node, Project):
        calls = {column.id: value for column, value in node.columns if acts(value)}  # type: ignore[misc]
    if not calls or not isinstance(node, Project):
        _refuse_elsewhere(query.root)
        return query, ()
    number = highest_id(query.root)
    kept = [(column, value) for column, value in node.columns if column.id not in calls]
    given: dict[ColumnId, list[OutputColumn]] = {}
    for id_, call in calls.items():
        given[id_] = []
        for argument in call.arguments:
            number += 1
            column = OutputColumn(ColumnId(number), "argument", argument.type)
            given[id_].append(column)
            kept.append((column, argument))
    root: Node = replace(node, columns=tuple(kept))
    for outer in reversed(above):
        if isinstance(outer, Sort) and any(column_ids(key.expression) & calls.keys() for key in outer.keys):
            raise _elsewhere(next(iter(calls.values())))
        root = replace(outer, input=root)
    _refuse_elsewhere(root)
    output: list[OutputColumn] = []
    actions: list[Action] = []
    for place, column in enumerate(query.output):
        found = calls.get(column.id)
        begin = len(output)
        output += [column] if found is None else given[column.id]
        if found is not None:
            actions.append(Action(found.function.name, place, tuple(range(begin, len(output)))))
    return replace(query, root=root, output=tuple(output)), tuple(actions)


def acts(value: Expression) -> bool:
    """Whether an expression is a call that does something."""
    return isinstance(value, Call) and value.function.name in ACTING


def contains_action(value: Expression) -> bool:
    """Whether there is such a call in an expression, which must be made even if nobody wants its answer."""
    found: list[Expression] = []

    def look(expression: Expression) -> None:
        if acts(expression):
            found.append(expression)

    rewrite_expression(value, look)
    return bool(found)


def _refuse_elsewhere(root: Node) -> None:
    def look(expression: Expression) -> None:
        if acts(expression) and isinstance(expression, Call):
            raise _elsewhere(expression)

    rewrite(root, look)


def _elsewhere(call: Call) -> Exception:
    return not_supported(
        f"{call.function.name} inside an expression, a subquery or a condition",
        hint="Call it as a column of the outermost SELECT.",
    )
