"""Whether two plans say the same, and what a plan reads: which columns, and if it does no more than that.

A plan numbers all columns that come into sight, so one column more in a relation gives other numbers to all
that come after it.  Two plans are the same if they differ in nothing but that, in the order of the columns
that a scan lists, and in whether NULL may stand in a column.

Not here: planning (bind/), other texts for the same meaning (names.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from headwater.core.types import SqlType
from headwater.sql.select.depth import deep
from headwater.sql.select.plan import nodes
from headwater.sql.select.plan.nodes import (
    ColumnId,
    ColumnRef,
    Expression,
    FoundRows,
    Node,
    OutputColumn,
    Project,
    Query,
    Scan,
)
from headwater.sql.select.plan.walk import (
    free_column_ids,
    rebuild_expression,
    rebuild_node,
    rewrite_expression,
)

_IDS = frozenset(("column", "ordinality", "left_columns", "right_columns", "base_columns", "step_columns"))
"""Fields of nodes and expressions that have numbers of columns in them."""


@deep
def same_meaning(one: Query, other: Query, relations: Mapping[str, str]) -> bool:
    """Whether both say the same, where each relation of the first is the one that `relations` has for it."""
    return bool(_canonical(one, relations) == _canonical(other, {}))


def expression_form(value: Expression) -> Any:
    """What two expressions have in common that say the same: the queries inside number their own columns."""
    if not any(isinstance(part, nodes.Subquery) for part in _parts(value)):
        return value
    return _form({}, {id_: -id_ for id_ in free_column_ids(value)})(value)


def _parts(value: Expression) -> Iterator[Expression]:
    found: list[Expression] = []
    rewrite_expression(value, lambda part: found.append(part))
    return iter(found)


def _canonical(query: Query, relations: Mapping[str, str]) -> Any:
    canonical = _form(relations, {})
    # From the bottom, where columns come into sight, so that numbers follow the tree and not the output.
    root = canonical(query.root)
    return (root, tuple(map(canonical, query.output)))


def _form(relations: Mapping[str, str], numbers: dict[ColumnId, int]) -> Callable[[Any], Any]:
    """Turns parts of one plan into values to compare; `numbers` has the columns that keep theirs."""

    def number(id_: ColumnId) -> int:
        return numbers.setdefault(id_, len(numbers))

    def column(value: OutputColumn) -> tuple[str, SqlType, int]:
        return (value.name, value.type, number(value.id))

    def part(name: str, value: Any) -> Any:
        if name in _IDS and value is not None:
            return tuple(map(number, value)) if isinstance(value, tuple) else number(value)
        return canonical(value)

    def canonical(value: Any) -> Any:
        match value:
            case OutputColumn():
                return column(value)
            case ColumnRef():
                return ("ref", number(value.id))
            case Scan():
                listed = sorted(value.columns, key=lambda c: c.name)
                return ("scan", relations.get(value.relation_id, value.relation_id), *map(column, listed))
            case FoundRows():
                return (
                    "found",
                    value.number,
                    *((column(mine), number(theirs)) for mine, theirs in value.columns),
                )
            case tuple():
                return tuple(map(canonical, value))
        if is_dataclass(value) and type(value).__module__ == nodes.__name__:
            return (type(value), *(part(field.name, getattr(value, field.name)) for field in fields(value)))
        return value

    return canonical


@deep
def used_columns(query: Query) -> dict[str, tuple[OutputColumn, ...]]:
    """By relation: the columns whose values the query needs."""
    used: dict[str, dict[str, OutputColumn]] = {}
    for scan in _scans(query.root):
        used.setdefault(scan.relation_id, {}).update({column.name: column for column in scan.columns})
    return {id_: tuple(columns.values()) for id_, columns in used.items()}


def picked_columns(query: Query) -> tuple[str, tuple[str, ...]] | None:
    """The relation and its columns, in the order of the result, if that is all there is to the query."""
    wanted = [column.id for column in query.output]
    node = query.root
    while isinstance(node, Project):
        values = {column.id: value for column, value in node.columns}
        below = [values[id_] for id_ in wanted]
        if not all(isinstance(value, ColumnRef) for value in below):
            return None
        wanted = [value.id for value in below if isinstance(value, ColumnRef)]
        node = node.input
    if not isinstance(node, Scan):
        return None
    names = {column.id: column.name for column in node.columns}
    return node.relation_id, tuple(names[id_] for id_ in wanted)


def _scans(root: Node) -> Iterator[Scan]:
    found: list[Scan] = []

    def on_node(node: Node) -> Node:
        if isinstance(node, Scan):
            found.append(node)
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: nodes.Expression) -> nodes.Expression:
        return rebuild_expression(expression, on_expression, on_node)

    on_node(root)
    return iter(found)
