"""Which columns of a plan carry unconstrained numerics with their zeros.

PostgreSQL chooses the digits of a quotient, a root or a logarithm by how many digits its
operands show after the point, needless zeros among them: `sqrt(avg(x))` has more digits than
the root of the same number written shortly.  So a numeric that was computed keeps its zeros on
its way through a query, and loses them (functions/forms.py) wherever anything but another
computation sees it.  What is read from a table has none, nor have the sides of INTERSECT, EXCEPT
and a recursive UNION, and the columns of quantified subqueries, which are compared by their bare names.

Naming a column here that has no such zeros would cost time, not truth.

Not here: taking the zeros away.
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import SqlType
from headwater.sql.select.plan import (
    Aggregate,
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnId,
    ColumnRef,
    Expression,
    FoundRows,
    Node,
    Project,
    Recursion,
    SetOperation,
    Subquery,
    Values,
    Window,
)
from headwater.sql.select.walk import rebuild_expression, rebuild_node

_COMPUTING: Final = frozenset(
    ("sum", "avg", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop")
)


def columns_with_zeros(root: Node) -> frozenset[ColumnId]:
    """The numbers of such columns."""
    return _Search(_by_name(root)).run(root)


def unconstrained(type_: SqlType) -> bool:
    """Whether values of a type are numerics as text."""
    return type_.kind == "numeric" and type_.scale is None


def _by_name(root: Node) -> frozenset[ColumnId]:
    """Columns that are compared by name: in INTERSECT, EXCEPT and recursions, in quantified subqueries."""
    found: set[ColumnId] = set()

    def on_node(node: Node) -> Node:
        if isinstance(node, SetOperation) and node.kind != "union":
            found.update(node.left_columns, node.right_columns)
        if isinstance(node, Recursion) and not node.all:
            found.update(node.base_columns, node.step_columns)
            found.update(column.id for column in node.columns)
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        if isinstance(expression, Subquery) and expression.kind != "scalar" and expression.column is not None:
            found.add(expression.column)
        return rebuild_expression(expression, on_expression, on_node)

    on_node(root)
    return frozenset(found)


class _Search:
    """One plan, from its leaves upwards, so that what a column refers to is known before it."""

    def __init__(self, excluded: frozenset[ColumnId]) -> None:
        self.excluded = excluded
        self.found: set[ColumnId] = set()

    def run(self, root: Node) -> frozenset[ColumnId]:
        self._node(root)
        return frozenset(self.found)

    def _node(self, node: Node) -> Node:
        if isinstance(node, Recursion):
            # What the step finds is not known before the step is.
            for column in node.columns:
                self._note(column.id, unconstrained(column.type))
        rebuild_node(node, self._node, self._queries)
        match node:
            case Project():
                for column, value in node.columns:
                    self._note(column.id, self._computed(value))
            case Values():
                for place, column in enumerate(node.columns):
                    self._note(column.id, any(self._computed(row[place]) for row in node.rows))
            case Aggregate():
                for column, value in node.groups:
                    self._note(column.id, self._computed(value))
                for column, call in node.aggregates:
                    self._note(column.id, self._aggregated(call))
            case Window():
                for column, window in node.calls:
                    self._note(column.id, self._aggregated(window.call))
            case SetOperation():
                for sides in zip(node.columns, node.left_columns, node.right_columns, strict=True):
                    self._note(sides[0].id, bool(self.found.intersection(sides[1:])))
            case FoundRows():
                for column, own in node.columns:
                    self._note(column.id, own in self.found)
            case _:
                pass
        return node

    def _queries(self, value: Expression) -> Expression:
        """Looks into the queries inside an expression."""
        return rebuild_expression(value, self._queries, self._node)

    def _note(self, column: ColumnId, computed: bool) -> None:
        if computed and column not in self.excluded:
            self.found.add(column)

    def _computed(self, value: Expression) -> bool:
        if not unconstrained(value.type):
            return False
        match value:
            case ColumnRef():
                return value.id in self.found
            case Case():
                results = (*(result for _, result in value.branches), value.otherwise)
                return any(map(self._computed, results))
            case Subquery():
                return value.column in self.found
        return isinstance(value, (Call, Cast))

    def _aggregated(self, call: AggregateCall) -> bool:
        """Sums and the like are computed; min, lag and the like hand on what they are given."""
        if not unconstrained(call.type):
            return False
        return call.function.name in _COMPUTING or any(map(self._computed, call.arguments))
