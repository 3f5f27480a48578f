"""Which columns of a plan carry unconstrained numerics with their zeros.

PostgreSQL chooses the digits of a quotient, a root or a logarithm by how many digits its
operands show after the point, needless zeros among them: `sqrt(avg(x))` has more digits than
the root of the same number written shortly.  So a numeric that was computed keeps its zeros on
its way through a query, and loses them (functions/forms.py) wherever anything but another
computation sees it.  What is read from a table has none.  The columns of quantified subqueries,
which are only compared, lose theirs.  So do those of a recursive UNION, whose rows the engine
compares as they are, unless a computation would count them: then they are kept, and whoever
writes the recursion has to see that no two rows differ in them alone.

Naming a column here that has no such zeros would cost time, not truth.

Not here: taking the zeros away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.types import SqlType, unconstrained
from headwater.sql.select.plan.nodes import (
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
    OutputColumn,
    Project,
    Query,
    Recursion,
    SetOperation,
    Subquery,
    Values,
    Window,
)
from headwater.sql.select.plan.walk import node_column_ids, rebuild_expression, rebuild_node

_DIVIDING: Final = ("avg", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop")
_COMPUTING: Final = frozenset(("sum", *_DIVIDING))
_COUNTING: Final = frozenset(("/", "^", "power", "pow", "sqrt", "exp", "ln", "log", "log10", *_DIVIDING))


def zeros(query: Query) -> Query:
    """The query with these columns named, for its generator."""
    return replace(query, with_zeros=columns_with_zeros(query.root))


def columns_with_zeros(root: Node) -> frozenset[ColumnId]:
    """The numbers of such columns."""
    recursive, quantified = _compared(root)
    search = _Search(root, recursive, quantified)
    if search.lost and _counted(root, search.lost):
        search = _Search(root, frozenset(), quantified)
    return frozenset(search.found)


def _compared(root: Node) -> tuple[frozenset[ColumnId], frozenset[ColumnId]]:
    """Columns that are compared as they are: of recursions, and of quantified subqueries."""
    recursive: set[ColumnId] = set()
    quantified: set[ColumnId] = set()

    def on_node(node: Node) -> Node:
        if isinstance(node, Recursion) and not node.all:
            recursive.update(node.base_columns, node.step_columns)
            recursive.update(column.id for column in node.columns)
        return rebuild_node(node, on_node, on_expression)

    def on_expression(expression: Expression) -> Expression:
        if isinstance(expression, Subquery) and expression.kind != "scalar" and expression.column is not None:
            quantified.add(expression.column)
        return rebuild_expression(expression, on_expression, on_node)

    on_node(root)
    return frozenset(recursive), frozenset(quantified)


def _mentioned(*values: Expression) -> frozenset[ColumnId]:
    """The columns that expressions refer to, those which their subqueries answer with among them."""
    return node_column_ids(Values((values,), ()))


def _counted(root: Node, lost: set[ColumnId]) -> bool:
    """Whether digits are chosen anywhere by the zeros of a column that has lost them."""
    found = False

    def look(name: str, arguments: tuple[Expression, ...], type_: SqlType) -> None:
        nonlocal found
        found |= name in _COUNTING and unconstrained(type_) and not lost.isdisjoint(_mentioned(*arguments))

    def on_node(node: Node) -> Node:
        if isinstance(node, Aggregate):
            for _, call in node.aggregates:
                look(call.function.name, call.arguments, call.type)
        if isinstance(node, Window):
            for _, window in node.calls:
                look(window.call.function.name, window.call.arguments, window.call.type)
        return rebuild_node(node, on_node, on_expression)

    def on_expression(value: Expression) -> Expression:
        if isinstance(value, Call):
            look(value.function.name, value.arguments, value.type)
        return rebuild_expression(value, on_expression, on_node)

    on_node(root)
    return found


class _Search:
    """One plan, from its leaves upwards, so that what a column refers to is known before it.

    Columns that are compared as they are would be found and are not; `lost` are those of
    recursions among them, and what is made of these.
    """

    def __init__(self, root: Node, recursive: frozenset[ColumnId], quantified: frozenset[ColumnId]) -> None:
        self.recursive = recursive
        self.quantified = quantified
        self.found: set[ColumnId] = set()
        self.lost: set[ColumnId] = set()
        self._node(root)

    def _node(self, node: Node) -> Node:
        rebuild_node(node, self._node, self._queries)
        if isinstance(node, Recursion):
            self._recursion(node)
        match node:
            case Project():
                for column, value in node.columns:
                    self._make(column, self._computed(value), value)
            case Values() if not node.literal:
                for place, column in enumerate(node.columns):
                    values = [row[place] for row in node.rows]
                    self._make(column, any(map(self._computed, values)), *values)
            case Aggregate():
                for column, value in node.groups:
                    self._make(column, self._computed(value), value)
                for column, call in node.aggregates:
                    self._make(column, self._aggregated(call), *call.arguments)
            case Window():
                for column, window in node.calls:
                    self._make(column, self._aggregated(window.call), *window.call.arguments)
            case SetOperation():
                for column, *sides in zip(node.columns, node.left_columns, node.right_columns, strict=True):
                    self._hand_on(column.id, sides)
            case FoundRows():
                for column, own in node.columns:
                    self._hand_on(column.id, [own])
            case _:
                pass
        return node

    def _recursion(self, node: Recursion) -> None:
        """What the step finds is not known before the step is, so it is gone through until nothing is new."""
        known = -1
        while known != (known := len(self.found) + len(self.lost)):
            for column, *sides in zip(node.columns, node.base_columns, node.step_columns, strict=True):
                self._hand_on(column.id, sides)
            self._node(node.step)

    def _queries(self, value: Expression) -> Expression:
        """Looks into the queries inside an expression."""
        return rebuild_expression(value, self._queries, self._node)

    def _hand_on(self, column: ColumnId, sides: list[ColumnId]) -> None:
        self._note(column, not self.found.isdisjoint(sides), not self.lost.isdisjoint(sides))

    def _note(self, column: ColumnId, computed: bool, lost: bool) -> None:
        if lost or (computed and column in self.recursive):
            self.lost.add(column)
        elif computed and column not in self.quantified:
            self.found.add(column)

    def _make(self, column: OutputColumn, computed: bool, *values: Expression) -> None:
        may_lose = bool(self.lost) and unconstrained(column.type)  # first, because the rest walks the values
        self._note(column.id, computed, may_lose and not self.lost.isdisjoint(_mentioned(*values)))

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
