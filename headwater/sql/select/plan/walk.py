"""Walking and rewriting plans: the children of every expression and node, in one place.

`rebuild_expression` and `rebuild_node` make a copy with other children, so a rewrite pass is a
function that handles the few shapes it cares for and hands the rest on.

Not here: any particular rewrite (passes/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from headwater.core import pace
from headwater.core.limits import LITERAL_ROWS_MIN
from headwater.core.types import INT8
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnId,
    ColumnRef,
    Constant,
    Distinct,
    Expression,
    Filter,
    FoundRows,
    InList,
    Join,
    Limit,
    Logical,
    Node,
    OutputColumn,
    Parameter,
    Project,
    RecordOf,
    Recursion,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    Subquery,
    TableFunction,
    Values,
    Window,
    WindowCall,
    WindowFrame,
)

OnExpression: TypeAlias = "Callable[[Expression], Expression]"
OnNode: TypeAlias = "Callable[[Node], Node]"


def rebuild_expression(value: Expression, each: OnExpression, node: OnNode) -> Expression:
    """The same expression over other operands; `node` rewrites the queries inside."""
    pace.step()
    match value:
        case Constant() | Parameter() | ColumnRef():
            return value
        case Call():
            return replace(value, arguments=tuple(map(each, value.arguments)))
        case Cast():
            return replace(value, input=each(value.input))
        case Case():
            branches = tuple((each(condition), each(result)) for condition, result in value.branches)
            return replace(value, branches=branches, otherwise=each(value.otherwise))
        case Logical():
            return replace(value, arguments=tuple(map(each, value.arguments)))
        case InList():
            return replace(value, input=each(value.input), items=tuple(map(each, value.items)))
        case Subquery():
            operand = None if value.operand is None else each(value.operand)
            return replace(value, root=node(value.root), operand=operand)
        case ArrayOf():
            return replace(value, elements=tuple(map(each, value.elements)))
        case RecordOf():
            return replace(value, fields=tuple(map(each, value.fields)))


def rebuild_key(key: SortKey, each: OnExpression) -> SortKey:
    """A sort key over another expression."""
    return replace(key, expression=each(key.expression))


def rebuild_aggregate(call: AggregateCall, each: OnExpression) -> AggregateCall:
    """An aggregate over other arguments."""
    return replace(
        call,
        arguments=tuple(map(each, call.arguments)),
        order_by=tuple(rebuild_key(key, each) for key in call.order_by),
        filter=None if call.filter is None else each(call.filter),
    )


def rebuild_window(call: WindowCall, each: OnExpression) -> WindowCall:
    """A window call over other expressions."""
    return replace(
        call,
        call=rebuild_aggregate(call.call, each),
        partition_by=tuple(map(each, call.partition_by)),
        order_by=tuple(rebuild_key(key, each) for key in call.order_by),
        frame=None if call.frame is None else _frame(call.frame, each),
    )


def _frame(frame: WindowFrame, each: OnExpression) -> WindowFrame:
    start, end = frame.start, frame.end
    return replace(
        frame,
        start=(start[0], None if start[1] is None else each(start[1])),
        end=(end[0], None if end[1] is None else each(end[1])),
    )


def literal_rows(rows: Sequence[Sequence[Expression]], columns: Sequence[OutputColumn]) -> bool:
    """Whether rows are many, and all of constants of their columns' types."""
    if len(rows) < LITERAL_ROWS_MIN:
        return False
    return all(
        isinstance(value, Constant) and (value.type is column.type or value.type == column.type)
        for place, column in enumerate(columns)
        for value in [row[place] for row in rows]
    )


def rebuild_node(value: Node, node: OnNode, each: OnExpression) -> Node:
    """The same node over other inputs and expressions."""
    match value:
        case Scan() | FoundRows():
            return value
        case Values():
            if value.literal:
                return value
            rows = tuple(tuple(map(each, row)) for row in value.rows)
            return replace(value, rows=rows, literal=literal_rows(rows, value.columns))
        case TableFunction():
            return replace(value, arguments=tuple(map(each, value.arguments)))
        case Project():
            columns = tuple((column, each(expression)) for column, expression in value.columns)
            return replace(value, input=node(value.input), columns=columns)
        case Filter():
            return replace(value, input=node(value.input), predicate=each(value.predicate))
        case Join():
            condition = None if value.condition is None else each(value.condition)
            return replace(value, left=node(value.left), right=node(value.right), condition=condition)
        case Aggregate():
            groups = tuple((column, each(expression)) for column, expression in value.groups)
            aggregates = tuple((column, rebuild_aggregate(call, each)) for column, call in value.aggregates)
            return replace(value, input=node(value.input), groups=groups, aggregates=aggregates)
        case Window():
            calls = tuple((column, rebuild_window(call, each)) for column, call in value.calls)
            return replace(value, input=node(value.input), calls=calls)
        case Distinct():
            keys = tuple(rebuild_key(key, each) for key in value.order_by)
            return replace(value, input=node(value.input), on=tuple(map(each, value.on)), order_by=keys)
        case SetOperation():
            return replace(value, left=node(value.left), right=node(value.right))
        case Recursion():
            return replace(value, base=node(value.base), step=node(value.step))
        case Sort():
            return replace(
                value, input=node(value.input), keys=tuple(rebuild_key(k, each) for k in value.keys)
            )
        case Limit():
            return replace(
                value,
                input=node(value.input),
                count=None if value.count is None else each(value.count),
                offset=None if value.offset is None else each(value.offset),
            )


def rewrite(value: Node, change: Callable[[Expression], Expression | None]) -> Node:
    """A plan in which `change` has replaced the expressions it answers for, from the outside in."""

    def on_node(node: Node) -> Node:
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        changed = change(expression)
        return rebuild_expression(expression, on_expression, on_node) if changed is None else changed

    return on_node(value)


def rewrite_expression(value: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """The same for one expression, and the queries inside it."""
    changed = change(value)
    if changed is not None:
        return changed
    return rebuild_expression(
        value, lambda inner: rewrite_expression(inner, change), lambda node: rewrite(node, change)
    )


def column_ids(value: Expression) -> frozenset[ColumnId]:
    """The columns an expression refers to, in the queries inside it too."""
    found: set[ColumnId] = set()

    def note(expression: Expression) -> None:
        if isinstance(expression, ColumnRef):
            found.add(expression.id)

    rewrite_expression(value, note)
    return frozenset(found)


def free_column_ids(value: Expression) -> frozenset[ColumnId]:
    """The columns an expression takes from outside: those of the queries inside it are its own."""
    made: set[ColumnId] = set()
    used: set[ColumnId] = set()

    def on_node(node: Node) -> Node:
        made.update(column.id for column in output_columns(node))
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        if isinstance(expression, ColumnRef):
            used.add(expression.id)
        return rebuild_expression(expression, on_expression, on_node)

    on_expression(value)
    return frozenset(used - made)


def constant(value: Expression) -> bool:
    """Whether no row has a say in it, and no query."""
    found = False

    def look(expression: Expression) -> None:
        nonlocal found
        found = found or isinstance(expression, ColumnRef | Subquery)

    rewrite_expression(value, look)
    return not found


def holds_query(value: Expression) -> bool:
    """Whether a query stands anywhere in it."""
    found = False

    def look(expression: Expression) -> None:
        nonlocal found
        found = found or isinstance(expression, Subquery)

    rewrite_expression(value, look)
    return found


def node_column_ids(value: Node) -> frozenset[ColumnId]:
    """The columns that a plan's expressions refer to, and those its set operations and recursions pick."""
    found: set[ColumnId] = set()

    def on_node(node: Node) -> Node:
        if isinstance(node, SetOperation):
            found.update(node.left_columns, node.right_columns)
        if isinstance(node, Recursion):
            found.update(node.base_columns, node.step_columns)
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        if isinstance(expression, ColumnRef):
            found.add(expression.id)
        if isinstance(expression, Subquery) and expression.column is not None:
            found.add(expression.column)
        return rebuild_expression(expression, on_expression, on_node)

    on_node(value)
    return frozenset(found)


def output_columns(value: Node) -> tuple[OutputColumn, ...]:
    """The columns a node puts out."""
    match value:
        case Scan() | Values() | SetOperation() | Recursion():
            return value.columns
        case FoundRows():
            return tuple(column for column, _ in value.columns)
        case TableFunction():
            if value.ordinality is None:
                return value.columns
            return (*value.columns, OutputColumn(value.ordinality, "ordinality", INT8))
        case Project():
            return tuple(column for column, _ in value.columns)
        case Filter() | Distinct() | Sort() | Limit():
            return output_columns(value.input)
        case Join():
            return output_columns(value.left) + output_columns(value.right)
        case Aggregate():
            groups = tuple(column for column, _ in value.groups)
            return groups + tuple(column for column, _ in value.aggregates)
        case Window():
            return output_columns(value.input) + tuple(column for column, _ in value.calls)


def read_columns(value: Node) -> frozenset[ColumnId]:
    """The columns that come out of a plan as they were read from a relation, under their first number."""
    if isinstance(value, Scan):
        return frozenset(column.id for column in value.columns)
    return frozenset[ColumnId]().union(*map(read_columns, inputs(value)))


def inputs(value: Node) -> Iterator[Node]:
    """The nodes directly below."""
    match value:
        case Scan() | Values() | TableFunction() | FoundRows():
            return
        case Join() | SetOperation():
            yield value.left
            yield value.right
        case Recursion():
            yield value.base
            yield value.step
        case _:
            yield value.input


def highest_id(value: Node) -> int:
    """The largest number of a column in a plan."""
    highest = 0

    def on_node(node: Node) -> Node:
        nonlocal highest
        highest = max([highest, *(column.id for column in output_columns(node))])
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        return rebuild_expression(expression, on_expression, on_node)

    on_node(value)
    return highest
