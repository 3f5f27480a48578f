"""A query's rows, each once and with how often it occurs: what SUBSCRIBE begins with.

Rows are counted together only if they are the same: 0 and -0 are equal, and two rows.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from headwater.core.types import INT8
from headwater.sql.select.bind.planning import reference
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.exact import ANY_FLOAT, FIRST_PRESENT
from headwater.sql.select.passes.total_order import ambiguous, spelling
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    ColumnId,
    Expression,
    OutputColumn,
    Query,
)
from headwater.sql.select.plan.walk import highest_id


def count_rows(query: Query, name: str) -> Query:
    """The query's different rows, with their count in a last column of this name."""
    made = map(ColumnId, itertools.count(highest_id(query.root) + 1))
    groups: list[tuple[OutputColumn, Expression]] = []
    calls: list[tuple[OutputColumn, AggregateCall]] = []
    shown: list[OutputColumn] = []
    for column in query.output:
        value = reference(column)
        shown.append(replace(column, id=next(made)))
        keys = spelling(value) if ambiguous(column.type) else ()
        groups += [(replace(column, id=next(made), type=k.expression.type), k.expression) for k in keys]
        if column.type.kind in ("float4", "float8"):
            calls.append((shown[-1], AggregateCall(ANY_FLOAT, (value,), column.type)))
        elif keys and (column.type.element is not None or column.type.fields):
            calls.append((shown[-1], AggregateCall(FIRST_PRESENT, (value,), column.type)))
        else:
            groups.append((shown[-1], value))
    counted = OutputColumn(next(made), name, INT8, False)
    call = next(entry for entry in FUNCTIONS["count"] if not entry.arguments)
    calls.append((counted, AggregateCall(call, (), INT8)))
    root = Aggregate(query.root, tuple(groups), tuple(calls))
    return replace(query, root=root, output=(*shown, counted))
