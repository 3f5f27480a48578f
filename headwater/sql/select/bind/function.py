"""Binds calls by name: scalar functions, aggregates, window functions, set-returning functions.

Not here: session functions (bind/session.py), windows (bind/window.py), the choice among
entries (resolve.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.limits import GROUPING_ARGUMENTS_MAX
from headwater.core.types import BOOL, INT4, TEXT, SqlType, kind_of_name
from headwater.sql.select.bind.catalog import catalog_function
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import castable, coerce, require_boolean, unified
from headwater.sql.select.bind.grouping_sets import GROUPING
from headwater.sql.select.bind.named_objects import named_object
from headwater.sql.select.bind.operator import equal
from headwater.sql.select.bind.planning import reference
from headwater.sql.select.bind.resolve import Chosen, choose, no_function
from headwater.sql.select.bind.session import session_function
from headwater.sql.select.bind.sorting import sort_key
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.bind.window import window_call
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.functions.time import extracting
from headwater.sql.select.parse.syntax import FunctionCall, OrderItem, Star, Syntax
from headwater.sql.select.plan.nodes import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Constant,
    Expression,
    OutputColumn,
    SortKey,
    TableFunction,
)
from headwater.sql.select.plan.walk import free_column_ids

Bind = Callable[[Clause, Syntax], Expression]

_SCHEMAS: Final = ("pg_catalog", "mz_catalog", "mz_internal", "information_schema", "mz_unsafe")
# There is one kind of document, however it is asked for.
_DOCUMENTS: Final = {
    "json_agg": "jsonb_agg",
    "json_build_array": "jsonb_build_array",
    "json_build_object": "jsonb_build_object",
    "json_object_agg": "jsonb_object_agg",
    "row_to_json": "to_jsonb",
    "to_json": "to_jsonb",
}
_IN_ORDER: Final = ("array_agg", "jsonb_agg", "list_agg", "string_agg")
"""Aggregates whose result shows the order of their input."""
_ORDERED_SETS: Final = ("percentile_cont", "percentile_disc")
_OF_ONE: Final = ("min", "max")
"""Aggregates whose answer is one of their values, so that DISTINCT says nothing."""
_COMMON: Final = ("coalesce", "greatest", "least")


def function_name(call: FunctionCall) -> str:
    """The bare name; only system schemas have functions."""
    if len(call.name) > 1 and call.name[-2] not in _SCHEMAS:
        raise UserError(f'schema "{call.name[-2]}" does not exist', "3F000", position=call.at + 1)
    return _DOCUMENTS.get(call.name[-1], call.name[-1])


def bind_call(clause: Clause, call: FunctionCall, bind: Bind) -> Expression:
    """A call in an expression."""
    name = function_name(call)
    entries = FUNCTIONS.get(name, ())
    shapes = {entry.shape for entry in entries}
    if call.over is not None:
        return window_call(clause, call, aggregate_call(clause.within_window(), call, name, bind), bind)
    if "aggregate" in shapes:
        return _aggregate(clause, call, name, bind)
    if "window" in shapes:
        raise UserError(f"window function {name} requires an OVER clause", "42809", position=call.at + 1)
    if entries or not call.within_group:
        _refuse_aggregate_words(call, name)
    if call.star:
        raise UserError(
            f"{name}(*) specified, but {name} is not an aggregate function", "42809", position=call.at + 1
        )
    if name == "grouping":
        return _grouping(clause, call, bind)
    inner = clause.without_sets(name.upper()) if name in _COMMON else clause
    arguments = tuple(bind(inner, argument) for argument in call.arguments)
    session = session_function(clause.planning, name, arguments, call.at)
    session = session or named_object(clause.planning, name, arguments, call.at)
    if session is None:
        session = catalog_function(clause, name, arguments, call.at, bind)
    if session is not None:
        return session
    if name == "pg_typeof" and len(arguments) == 1:
        return Constant(type_name(arguments[0].type), TEXT)
    if call.variadic:
        raise not_supported("VARIADIC", position=call.at + 1)
    if name in _COMMON and arguments:
        arguments = unified(clause.planning, arguments, name.upper(), call.at)
    if name == "nullif" and len(arguments) == 2:
        return _nullif(clause, arguments, call.at)
    if shapes == {"table"}:
        return _set_value(clause, call, name, arguments)
    return scalar_call(clause, name, arguments, call.at)


def scalar_call(clause: Clause, name: str, arguments: tuple[Expression, ...], at: int) -> Expression:
    """A scalar function, or a type's name used as one."""
    entries = [entry for entry in FUNCTIONS.get(name, ()) if entry.shape == "scalar"]
    chosen = choose(entries, arguments, operator=False)
    if chosen is None:
        converted = _conversion(clause, name, arguments, at)
        if converted is not None:
            return converted
        raise no_function(name, entries, arguments, at)
    given = coerced(clause, chosen, arguments, at)
    function = chosen.function
    if name == "extract" and isinstance(given[0], Constant) and given[0].value is not None:
        function = extracting(function, given[0].value)
    return Call(function, given, function.return_type(tuple(a.type for a in given)))


def coerced(
    clause: Clause, chosen: Chosen, arguments: Sequence[Expression], at: int
) -> tuple[Expression, ...]:
    """Arguments in exactly the types an entry wants."""
    return tuple(
        coerce(clause.planning, argument, type_, at)
        for argument, type_ in zip(arguments, chosen.types, strict=True)
    )


def _conversion(clause: Clause, name: str, arguments: tuple[Expression, ...], at: int) -> Expression | None:
    """`text(x)`, `int4('5')`: the name of a type called with one argument is a cast."""
    kind = kind_of_name(name)
    if kind is None or len(arguments) != 1 or kind in ("array", "list", "map", "record", "void"):
        return None
    target = SqlType(kind)
    if not castable(arguments[0].type, target, "explicit"):
        return None
    value = coerce(clause.planning, arguments[0], target, at, explicit=True)
    return value if isinstance(value, Constant) or value.type == target else Cast(value, target)


def _nullif(clause: Clause, arguments: tuple[Expression, ...], at: int) -> Expression:
    left, right = arguments
    if left.type.kind == "unknown":
        left, right = unified(clause.planning, (left, right), "NULLIF", at)
    same = equal(clause.planning, left, right, at)
    if isinstance(same, Call) and left.type.kind != "float4":
        left = same.arguments[0]  # as the comparison sees it
    return Case(((same, Constant(None, left.type)),), left, left.type)


def _refuse_aggregate_words(call: FunctionCall, name: str) -> None:
    for word, given in (
        ("DISTINCT", call.distinct),
        ("ORDER BY", bool(call.order_by)),
        ("WITHIN GROUP", bool(call.within_group)),
        ("FILTER", call.filter is not None),
    ):
        if given:
            raise UserError(
                f"{word} specified, but {name} is not an aggregate function", "42809", position=call.at + 1
            )


# Aggregates


def _aggregate(clause: Clause, call: FunctionCall, name: str, bind: Bind) -> Expression:
    position = call.at + 1
    if clause.inside == "aggregate":
        raise UserError("aggregate function calls cannot be nested", "42803", position=position)
    bound = aggregate_call(clause.within_aggregate(), call, name, bind)
    used = frozenset[int]().union(*(free_column_ids(a) for a in (*bound.arguments, *_filters(bound))))
    if used and not used & clause.scope.local_ids():
        raise not_supported("an aggregate over the columns of an outer query", position=position)
    if not clause.aggregates:
        raise UserError(f"aggregate functions are not allowed in {clause.name}", "42803", position=position)
    return clause.collected.aggregate(clause.planning, bound)


def _grouping(clause: Clause, call: FunctionCall, bind: Bind) -> Expression:
    """GROUPING(a, b), whose value is known when the groups are."""
    position = call.at + 1
    if clause.inside == "aggregate":
        raise UserError("aggregate function calls cannot be nested", "42803", position=position)
    if not clause.aggregates:
        raise UserError(f"grouping operations are not allowed in {clause.name}", "42803", position=position)
    if not call.arguments:
        raise UserError("GROUPING needs an argument", "42601", position=position)
    if len(call.arguments) > GROUPING_ARGUMENTS_MAX:
        raise UserError("GROUPING must have fewer than 32 arguments", "54023", position=position)
    clause.collected.groupings = True
    return Call(GROUPING, tuple(bind(clause, argument) for argument in call.arguments), INT4)


def _filters(call: AggregateCall) -> tuple[Expression, ...]:
    return () if call.filter is None else (call.filter,)


def aggregate_call(clause: Clause, call: FunctionCall, name: str, bind: Bind) -> AggregateCall:
    """An aggregate or window function with its arguments; `clause` is the one for them."""
    if name == "count" and not call.arguments and not call.star:
        raise UserError(
            "count(*) must be used to call a parameterless aggregate function", "42809", position=call.at + 1
        )
    arguments = tuple(bind(clause, _countable(call, argument)) for argument in call.arguments)
    keys: tuple[SortKey, ...] = tuple(_key(clause, item, bind) for item in call.order_by)
    if call.within_group:
        keys = tuple(_key(clause, item, bind) for item in call.within_group)
        arguments += tuple(key.expression for key in keys)
    shapes = ("aggregate", "window") if call.over is not None else ("aggregate",)
    entries = [entry for entry in FUNCTIONS.get(name, ()) if entry.shape in shapes]
    if call.over is not None and not entries:
        known = name in FUNCTIONS
        raise (
            UserError(
                f"OVER specified, but {name} is not a window function nor an aggregate function", "42809"
            )
            if known
            else no_function(name, (), arguments, call.at)
        )
    _check_ordered_set(name, call)
    chosen = choose(entries, arguments, operator=False)
    if chosen is None:
        raise no_function(name, entries, arguments, call.at)
    given = coerced(clause, chosen, arguments, call.at)
    if call.within_group:
        keys = tuple(
            SortKey(value, key.descending, key.nulls_first)
            for key, value in zip(keys, given[-len(keys) :], strict=True)
        )
    elif call.distinct and any(key.expression not in given for key in keys):
        raise UserError(
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
            "42P10",
            position=call.at + 1,
        )
    elif call.distinct and name in _IN_ORDER:
        keys += _remaining(keys, given)
    if not call.within_group:  # by what is the same for all rows nothing is sorted, and DuckDB refuses it
        keys = tuple(key for key in keys if not isinstance(key.expression, Constant))
    type_ = chosen.function.return_type(tuple(a.type for a in given))
    distinct = call.distinct and name not in _OF_ONE
    return AggregateCall(chosen.function, given, type_, distinct, keys, _filter(clause, call, bind))


def _check_ordered_set(name: str, call: FunctionCall) -> None:
    if name in _ORDERED_SETS and not call.within_group:
        raise UserError(
            f"WITHIN GROUP is required for ordered-set aggregate {name}", "42809", position=call.at + 1
        )


def _remaining(keys: tuple[SortKey, ...], given: tuple[Expression, ...]) -> tuple[SortKey, ...]:
    """PostgreSQL finds different values by sorting them, and so they come in order."""
    sorted_by = [key.expression for key in keys]
    return tuple(
        SortKey(value, descending=False, nulls_first=False)
        for value in given
        if value not in sorted_by and not isinstance(value, Constant)
    )


def _countable(call: FunctionCall, argument: Syntax) -> Syntax:
    if isinstance(argument, Star):
        raise not_supported(
            f"{call.name[-1]}({'.'.join((*argument.qualifier, '*'))})", position=argument.at + 1
        )
    return argument


def _key(clause: Clause, item: OrderItem, bind: Bind) -> SortKey:
    return sort_key(clause.planning, bind(clause, item.expression), item)


def _filter(clause: Clause, call: FunctionCall, bind: Bind) -> Expression | None:
    if call.filter is None:
        return None
    return require_boolean(clause.planning, bind(clause, call.filter), "FILTER", call.filter.at)


# Set-returning functions


def table_call(clause: Clause, name: str, arguments: tuple[Expression, ...], at: int) -> TableFunction | None:
    """A set-returning function with new columns; None when the name is not one."""
    entries = [entry for entry in FUNCTIONS.get(name, ()) if entry.shape == "table"]
    if not entries:
        return None
    chosen = choose(entries, arguments, operator=False)
    if chosen is None:
        raise no_function(name, entries, arguments, at)
    given = coerced(clause, chosen, arguments, at)
    types = tuple(argument.type for argument in given)
    columns = table_columns(clause, chosen.function, types)
    return TableFunction(chosen.function, given, columns)


def table_columns(clause: Clause, function: Function, types: tuple[SqlType, ...]) -> tuple[OutputColumn, ...]:
    """The columns a set-returning function puts out."""
    planning = clause.planning
    if not function.columns:
        return (planning.column(function.name, function.return_type(types)),)
    return tuple(
        planning.column(name or function.name, rule if isinstance(rule, SqlType) else rule(types))
        for name, rule in function.columns
    )


def _set_value(
    clause: Clause, call: FunctionCall, name: str, arguments: tuple[Expression, ...]
) -> Expression:
    """A set-returning function in a SELECT list: every row meets each of its values."""
    position = call.at + 1
    if not clause.sets:
        place = f"{clause.inside} function arguments" if clause.inside else clause.sets_refused or clause.name
        raise UserError(f"set-returning functions are not allowed in {place}", "0A000", position=position)
    node = table_call(clause, name, arguments, call.at)
    if node is None or len(node.columns) != 1:
        raise not_supported(f"{name} in a SELECT list", position=position)
    clause.collected.sets.append(node)
    return reference(node.columns[0])


def truth(value: bool) -> Constant:
    """TRUE or FALSE."""
    return Constant("t" if value else "f", BOOL)
