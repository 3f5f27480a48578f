"""Binds OVER: the window of a window function, with its frame.

Not here: the function and its arguments (bind/function.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import FLOATS, INT8, INTERVAL, NUMERIC, SIGNED, SqlType
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import castable, coerce, resolved_unknown
from headwater.sql.select.bind.sorting import sort_key
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.parse.syntax import Frame, FunctionCall, Syntax, WindowSpec
from headwater.sql.select.plan.nodes import AggregateCall, Expression, SortKey, WindowCall, WindowFrame
from headwater.sql.select.plan.walk import free_column_ids

Bind = Callable[[Clause, Syntax], Expression]

_COUNTED: Final = (*SIGNED, *FLOATS, NUMERIC.kind)
_TIMES: Final = ("date", "timestamp", "timestamptz")
_ORDER: Final = {
    "unbounded preceding": 0,
    "preceding": 1,
    "current row": 2,
    "following": 3,
    "unbounded following": 4,
}


def window_call(clause: Clause, call: FunctionCall, function: AggregateCall, bind: Bind) -> Expression:
    """A call with OVER becomes a column of a Window node."""
    position = call.at + 1
    if clause.inside == "window":
        raise UserError("window function calls cannot be nested", "42P20", position=position)
    if clause.inside == "aggregate":
        raise UserError(
            "aggregate function calls cannot contain window function calls", "42803", position=position
        )
    if not clause.windows:
        raise UserError(f"window functions are not allowed in {clause.name}", "42P20", position=position)
    if function.distinct:
        raise UserError("DISTINCT is not implemented for window functions", "0A000", position=position)
    if function.order_by:
        raise UserError(
            "aggregate ORDER BY is not implemented for window functions", "0A000", position=position
        )
    if function.filter is not None and function.function.shape == "window":
        raise UserError(
            "FILTER is not implemented for non-aggregate window functions", "0A000", position=position
        )
    if call.over is None:
        raise UserError(
            f"window function {call.name[-1]} requires an OVER clause", "42809", position=position
        )
    if function.function.name == "ntile" and free_column_ids(function.arguments[0]):
        # PostgreSQL looks at it once a partition, the engines at every row.
        raise not_supported("ntile() of an expression", position=position)
    spec = _named(clause, call.over)
    inner = clause.within_window()
    partition = tuple(resolved_unknown(clause.planning, bind(inner, item)) for item in spec.partition_by)
    order = tuple(sort_key(clause.planning, bind(inner, item.expression), item) for item in spec.order_by)
    frame = None if spec.frame is None else _frame(inner, spec.frame, order, bind, spec.at)
    return clause.collected.window(
        clause.planning, WindowCall(function, partition, order, frame, function.type)
    )


def _named(clause: Clause, spec: WindowSpec) -> WindowSpec:
    """A window that builds on a named one."""
    if spec.base is None:
        return spec
    base = clause.named_windows.get(spec.base)
    if base is None:
        raise UserError(f'window "{spec.base}" does not exist', "42704", position=spec.at + 1)
    base = _named(clause, base)
    if spec.bare:
        return base
    if spec.partition_by:
        raise UserError(
            f'cannot override PARTITION BY clause of window "{spec.base}"', "42P20", position=spec.at + 1
        )
    if spec.order_by and base.order_by:
        raise UserError(
            f'cannot override ORDER BY clause of window "{spec.base}"', "42P20", position=spec.at + 1
        )
    if base.frame is not None:
        raise UserError(
            f'cannot copy window "{spec.base}" because it has a frame clause', "42P20", position=spec.at + 1
        )
    return replace(base, order_by=spec.order_by or base.order_by, frame=spec.frame, base=None)


def _frame(clause: Clause, frame: Frame, order: tuple[SortKey, ...], bind: Bind, at: int) -> WindowFrame:
    start, end = frame.start[0], frame.end[0]
    if start == "unbounded following":
        raise UserError("frame start cannot be UNBOUNDED FOLLOWING", "42P20", position=at + 1)
    if end == "unbounded preceding":
        raise UserError("frame end cannot be UNBOUNDED PRECEDING", "42P20", position=at + 1)
    if _ORDER[start] > _ORDER[end]:
        first = "current row" if start == "current row" else "following row"
        raise UserError(f"frame starting from {first} cannot have preceding rows", "42P20", position=at + 1)
    if frame.unit == "groups" and not order:
        raise UserError("GROUPS mode requires an ORDER BY clause", "42P20", position=at + 1)
    offsets = [
        None if bound[1] is None else _offset(clause, frame.unit, bind(clause, bound[1]), order, bound[1].at)
        for bound in (frame.start, frame.end)
    ]
    return WindowFrame(frame.unit, (start, offsets[0]), (end, offsets[1]))  # type: ignore[arg-type]


def _offset(clause: Clause, unit: str, value: Expression, order: tuple[SortKey, ...], at: int) -> Expression:
    """The distance to a frame's bound: rows, or in the units of the sort key."""
    if free_column_ids(value) & clause.scope.local_ids():
        raise UserError(f"argument of {unit.upper()} must not contain variables", "42P10", position=at + 1)
    if unit != "range":
        if not castable(value.type, INT8, "implicit"):
            shown = type_name(value.type)
            raise UserError(
                f"argument of {unit.upper()} must be type bigint, not type {shown}", "42804", position=at + 1
            )
        return coerce(clause.planning, value, INT8, at)
    if len(order) != 1:
        raise UserError(
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            "42P20",
            position=at + 1,
        )
    wanted = _distance(order[0].expression.type, at)
    if not castable(value.type, wanted, "implicit"):
        raise UserError(
            f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type"
            f" {type_name(order[0].expression.type)} and offset type {type_name(value.type)}",
            "0A000",
            position=at + 1,
        )
    return coerce(clause.planning, value, wanted, at)


def _distance(type_: SqlType, at: int) -> SqlType:
    if type_.kind in _TIMES:
        return INTERVAL
    if type_.kind in _COUNTED and not (type_.kind == "numeric" and type_.scale is None):
        return type_
    raise not_supported(f"RANGE with an offset over {type_name(type_)}", position=at + 1)
