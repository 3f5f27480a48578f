"""A query's rows, each once and with how often it occurs: what SUBSCRIBE begins with.

Rows are counted together only if they are the same: 0 and -0 are equal, and two rows.  Counting needs all
of them at once; of rows that cannot be there twice it is known without, and they pass one by one.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from headwater.core.types import FLOATS, INT8
from headwater.sql.select.bind.planning import reference
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.exact import ANY_FLOAT, FIRST_PRESENT
from headwater.sql.select.passes.total_order import ambiguous, spelling
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    ColumnId,
    Constant,
    Expression,
    OutputColumn,
    Project,
    Query,
)
from headwater.sql.select.plan.walk import highest_id


def count_rows(query: Query, name: str, different: bool = False) -> Query:
    """The query's different rows, with their count in a last column of this name.

    They may be known to be `different`, all of them.
    """
    made = map(ColumnId, itertools.count(highest_id(query.root) + 1))
    counted = OutputColumn(next(made), name, INT8, False)
    if different:
        passed: list[tuple[OutputColumn, Expression]] = [
            (replace(column, id=next(made)), reference(column)) for column in query.output
        ]
        passed.append((counted, Constant("1", INT8)))
        root = Project(query.root, tuple(passed))
        return replace(query, root=root, output=tuple(column for column, _ in passed))
    groups: list[tuple[OutputColumn, Expression]] = []
    calls: list[tuple[OutputColumn, AggregateCall]] = []
    shown: list[OutputColumn] = []
    for column in query.output:
        value = reference(column)
        shown.append(replace(column, id=next(made)))
        keys = spelling(value) if ambiguous(column.type) else ()
        groups += [(replace(column, id=next(made), type=k.expression.type), k.expression) for k in keys]
        if column.type.kind in FLOATS:
            calls.append((shown[-1], AggregateCall(ANY_FLOAT, (value,), column.type)))
        elif keys and (column.type.element is not None or column.type.fields):
            calls.append((shown[-1], AggregateCall(FIRST_PRESENT, (value,), column.type)))
        else:
            groups.append((shown[-1], value))
    call = next(entry for entry in FUNCTIONS["count"] if not entry.arguments)
    calls.append((counted, AggregateCall(call, (), INT8)))
    grouped = Aggregate(query.root, tuple(groups), tuple(calls))
    return replace(query, root=grouped, output=(*shown, counted))
