"""Marks what depends on the session's zone with the zone it is computed for.

Afterwards nothing has to be asked of the session: the generators hand the zone to forms and kernels, and
two plans for different zones are different plans, unless the zone does not matter to them.  In UTC, where
a moment and what the clocks show are the same number, a plan stays as it is.

Not here: constants, which are moments already (literals.py), and how results are shown (pgwire).
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from headwater.core.errors import not_supported
from headwater.core.types import INTERVAL, MZ_TIMESTAMP, TEXT, SqlType, holds_moments
from headwater.formats.text import from_text
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    Call,
    Cast,
    Constant,
    Expression,
    Node,
    Query,
    TableFunction,
    Window,
    WindowCall,
)
from headwater.sql.select.plan.walk import rebuild_expression, rebuild_node


def session_zone(query: Query) -> Query:
    """The query for sessions in its zone."""
    zone = query.zone
    if not zone:
        return query

    def on_node(node: Node) -> Node:
        return _node(rebuild_node(node, on_node, on_expression), zone)

    def on_expression(value: Expression) -> Expression:
        return _expression(rebuild_expression(value, on_expression, on_node), zone)

    return replace(query, root=on_node(query.root))


def _expression(value: Expression, zone: str) -> Expression:
    match value:
        case Call() if isinstance(value.function.zoned, Function):
            given = (*value.arguments, Constant(zone, TEXT))
            return Call(value.function.zoned, given, value.type)
        case Call() if _depends(value.function, value.arguments):
            return replace(value, zone=zone)
        case Cast() if _cast_depends(value.input.type, value.type):
            return replace(value, zone=zone)
    return value


def _depends(function: Function, arguments: tuple[Expression, ...]) -> bool:
    return bool(function.zoned) and any(holds_moments(argument.type) for argument in arguments)


def _cast_depends(source: SqlType, target: SqlType) -> bool:
    """Between moments and what is none; with another precision a moment is still one."""
    if not (holds_moments(source) or holds_moments(target)) or MZ_TIMESTAMP in (source, target):
        return False
    return source.kind != target.kind or source.element != target.element


def _node(node: Node, zone: str) -> Node:
    match node:
        case TableFunction() if _depends(node.function, node.arguments):
            return replace(node, zone=zone)
        case Aggregate():
            calls = tuple((column, _aggregate(call, zone)) for column, call in node.aggregates)
            return replace(node, aggregates=calls)
        case Window():
            return replace(node, calls=tuple((column, _window(call, zone)) for column, call in node.calls))
    return node


def _aggregate(call: AggregateCall, zone: str) -> AggregateCall:
    return replace(call, zone=zone) if _depends(call.function, call.arguments) else call


def _window(call: WindowCall, zone: str) -> WindowCall:
    if call.frame is not None and call.frame.unit == "range" and call.order_by:
        for _, offset in (call.frame.start, call.frame.end):
            if call.order_by[0].expression.type.kind == "timestamptz" and _of_days(offset):
                raise not_supported(
                    "RANGE with an offset of days or months over timestamp with time zone in this time zone",
                    hint="Give it in hours, order by a timestamp without time zone, or SET TIME ZONE 'UTC'.",
                )
    return replace(call, call=_aggregate(call.call, zone))


def _of_days(offset: Expression | None) -> bool:
    """Whether an interval may be of another length at every change of the clocks."""
    if offset is None or offset.type != INTERVAL:
        return False
    if not isinstance(offset, Constant):
        return True
    length = from_text(pa.array([offset.value]), INTERVAL)[0].as_py() if offset.value is not None else None
    return length is not None and bool(length["months"] or length["days"])
