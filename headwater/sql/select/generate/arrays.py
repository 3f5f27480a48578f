"""Arrays that a query makes, in both engines: ARRAY[...], LIST[...] and ARRAY(SELECT ...)."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.types import SqlType, list_of
from headwater.sql.select.functions.array_forms import empty, listed, packed, stacked
from headwater.sql.select.functions.forms import cast_to
from headwater.sql.select.plan.nodes import Expression, Subquery
from headwater.sql.select.plan.walk import output_columns


def array_value(engine: str, items: str, elements: Sequence[Expression], type_: SqlType) -> str:
    """An array or list of a list of the engine's; if the elements are arrays, one of one more dimension."""
    if type_.kind != "array" or type_.element is None:
        return cast_to(engine, items, type_)
    if elements and elements[0].type.kind == "array":
        return stacked(engine, items, type_, accumulated=False)
    return packed(engine, cast_to(engine, items, list_of(type_.element)))


def gathered(engine: str, rows: str, plan: Subquery) -> str:
    """The array of a query's values, which are a list of the engine's; no rows, no elements."""
    column = next(column for column in output_columns(plan.root) if column.id == plan.column)
    if column.type.kind == "array":
        made = stacked(engine, rows, plan.type, accumulated=True)
        return f"coalesce({made}, {empty(engine, plan.type)})"
    nothing = cast_to(engine, listed(engine, ""), list_of(column.type))
    return packed(engine, f"coalesce({rows}, {nothing})")
