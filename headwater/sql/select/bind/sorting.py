"""Sort keys: where NULLs go, and that a value can be ordered at all.

Not here: which expressions are sorted by (bind/order.py), how an engine orders (the generators).
"""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.sql.select.bind.coerce import resolved_unknown
from headwater.sql.select.bind.planning import Planning
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.parse.syntax import OrderItem
from headwater.sql.select.plan.nodes import Expression, SortKey


def sort_key(planning: Planning, value: Expression, item: OrderItem) -> SortKey:
    """NULLs come last when ascending and first when descending, unless said otherwise."""
    value = resolved_unknown(planning, value)
    require_order(value, item.at)
    nulls_first = item.descending if item.nulls_first is None else item.nulls_first
    return SortKey(value, item.descending, nulls_first)


def require_order(value: Expression, at: int) -> None:
    """Refuse types without an order."""
    if value.type.kind == "json":
        raise UserError(
            f"could not identify an ordering operator for type {type_name(value.type)}",
            "42883",
            hint="Use an explicit ordering operator or modify the query.",
            position=at + 1,
        )
