"""A query's rows, each once and with how often it occurs: what SUBSCRIBE begins with."""

from __future__ import annotations

from dataclasses import replace

from headwater.core.types import INT8
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.plan import Aggregate, AggregateCall, ColumnId, OutputColumn, Query
from headwater.sql.select.planning import reference
from headwater.sql.select.walk import highest_id


def count_rows(query: Query, name: str) -> Query:
    """The query's different rows, with their count in a last column of this name."""
    number = highest_id(query.root)
    groups = []
    for column in query.output:
        number += 1
        groups.append((replace(column, id=ColumnId(number)), reference(column)))
    counted = OutputColumn(ColumnId(number + 1), name, INT8, False)
    call = next(entry for entry in FUNCTIONS["count"] if not entry.arguments)
    root = Aggregate(query.root, tuple(groups), ((counted, AggregateCall(call, (), INT8)),))
    return replace(query, root=root, output=(*(column for column, _ in groups), counted))
