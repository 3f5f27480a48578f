"""Removes columns that nobody uses, from the top down.

A view's columns, a table's columns, aggregates and window functions that the query above does
not need are not computed, and scans list only what is read.

Kept even if unused: groups (they decide how many rows there are), everything under DISTINCT
and under set operations and recursions (they decide which rows are equal), calls that do something.

Not here: rows that nobody uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headwater.sql.select.passes.take_actions import contains_action
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    ColumnId,
    Distinct,
    Expression,
    Filter,
    FoundRows,
    Join,
    Limit,
    Node,
    Project,
    Query,
    Recursion,
    Scan,
    SetOperation,
    Sort,
    Subquery,
    TableFunction,
    Values,
    Window,
    WindowCall,
)
from headwater.sql.select.plan.walk import (
    column_ids,
    node_column_ids,
    output_columns,
    rebuild_node,
    rewrite_expression,
)

Ids = frozenset[ColumnId]


def prune_columns(query: Query) -> Query:
    """The query with nothing in it that its output does not need."""
    wanted = frozenset(column.id for column in query.output)
    return replace(query, root=_node(query.root, wanted))


def _used(values: Iterable[Expression]) -> Ids:
    return Ids().union(*(column_ids(value) for value in values))


def _expression(value: Expression) -> Expression:
    """Prunes the queries inside an expression."""

    def change(inner: Expression) -> Expression | None:
        if not isinstance(inner, Subquery):
            return None
        wanted = Ids() if inner.column is None else Ids((inner.column,))
        operand = None if inner.operand is None else _expression(inner.operand)
        return replace(inner, root=_node(inner.root, wanted), operand=operand)

    return rewrite_expression(value, change)


def _node(node: Node, wanted: Ids) -> Node:
    """A node whose output is used only as far as `wanted`."""
    match node:
        case Scan():
            return replace(node, columns=tuple(c for c in node.columns if c.id in wanted))
        case Project():
            kept = tuple((c, v) for c, v in node.columns if c.id in wanted or contains_action(v))
            node = replace(node, columns=kept)
            below = _used(value for _, value in kept)
        case Filter():
            below = wanted | column_ids(node.predicate)
        case Sort():
            below = wanted | _used(key.expression for key in node.keys)
        case Limit() | TableFunction() | Values():
            below = wanted
        case Distinct():
            below = _below_distinct(node, wanted)
        case Aggregate():
            calls = tuple((c, call) for c, call in node.aggregates if c.id in wanted)
            node = replace(node, aggregates=calls)
            below = _used(value for _, value in node.groups) | _used_by_calls(call for _, call in calls)
        case Window():
            return _window(node, wanted)
        case SetOperation():
            left, right = _node(node.left, Ids(node.left_columns)), _node(node.right, Ids(node.right_columns))
            return replace(node, left=left, right=right)
        case Recursion():
            base, step = _node(node.base, Ids(node.base_columns)), _node(node.step, Ids(node.step_columns))
            return replace(node, base=base, step=step)
        case FoundRows():
            return replace(node, columns=tuple(pair for pair in node.columns if pair[0].id in wanted))
        case Join():
            return _join(node, wanted)
    return rebuild_node(node, lambda inner: _node(inner, below), _expression)


def _below_distinct(node: Distinct, wanted: Ids) -> Ids:
    if not node.on:
        return Ids(column.id for column in output_columns(node.input))
    return wanted | _used(node.on) | _used(key.expression for key in node.order_by)


def _used_by_calls(calls: Iterable[AggregateCall]) -> Ids:
    used = Ids()
    for call in calls:
        used |= _used((*call.arguments, *(key.expression for key in call.order_by)))
        used |= Ids() if call.filter is None else column_ids(call.filter)
    return used


def _used_by_window(call: WindowCall) -> Ids:
    used = _used_by_calls((call.call,)) | _used(call.partition_by)
    return used | _used(key.expression for key in call.order_by)


def _window(node: Window, wanted: Ids) -> Node:
    calls = tuple((column, call) for column, call in node.calls if column.id in wanted)
    below = wanted.union(*(_used_by_window(call) for _, call in calls))
    if not calls:
        return _node(node.input, below)
    return rebuild_node(replace(node, calls=calls), lambda inner: _node(inner, below), _expression)


def _join(node: Join, wanted: Ids) -> Node:
    below = wanted | (Ids() if node.condition is None else column_ids(node.condition))
    right = _node(node.right, below)
    left = _node(node.left, below | node_column_ids(right))
    condition = None if node.condition is None else _expression(node.condition)
    return replace(node, left=left, right=right, condition=condition)
