"""Binds GROUP BY, and what a grouped SELECT may then say.

Expressions are bound as if nothing were grouped; afterwards every part that is one of the
group's expressions becomes that group's column.  What still refers to a column of the
input is an error, unless the primary key of its table is grouped by: then the column is
one more group, because it cannot make more of them.

Not here: ROLLUP and its kin (grouping_sets.py), collecting aggregates (clause.py), the other clauses
(bind/select.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headwater.core.errors import UserError
from headwater.core.types import INT4
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import resolved_unknown
from headwater.sql.select.bind.expression import bind
from headwater.sql.select.bind.grouping_sets import (
    GROUPING,
    Numbered,
    by_number,
    expanded,
    grouped_by_sets,
    holds_grouping,
    without_repeats,
)
from headwater.sql.select.bind.planning import Planning, reference
from headwater.sql.select.bind.scope import Scope, column_names
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.parse.syntax import GroupItem, Name, Number, String, Syntax, Word
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    Call,
    ColumnId,
    ColumnRef,
    Constant,
    Expression,
    Node,
    OutputColumn,
)
from headwater.sql.select.plan.sameness import expression_form
from headwater.sql.select.plan.walk import column_ids, rewrite_expression


def group_expressions(
    clause: Clause,
    items: tuple[GroupItem, ...],
    outputs: Sequence[tuple[str, Expression]],
    distinct: bool = False,
) -> list[list[Expression]]:
    """The grouping sets, most often one: positions and names of output columns, and expressions."""
    bound: dict[Syntax, Expression] = {}

    def expression(item: Syntax) -> Expression:
        if item not in bound:
            bound[item] = _group(clause, item, outputs)
        return bound[item]

    sets = [list(map(expression, items)) for items in expanded(items)]
    return without_repeats(sets) if distinct else sets


def _group(clause: Clause, item: Syntax, outputs: Sequence[tuple[str, Expression]]) -> Expression:
    value: Expression
    if isinstance(item, Number) and re.fullmatch(r"-?\d{1,9}", item.text):
        index = int(item.text)
        if not 1 <= index <= len(outputs):
            raise UserError(f"GROUP BY position {index} is not in select list", "42P10", position=item.at + 1)
        value = outputs[index - 1][1]
    elif isinstance(item, Number | String | Word):
        raise UserError("non-integer constant in GROUP BY", "42601", position=item.at + 1)
    else:
        value = _by_name(clause, item, outputs)
    used = column_ids(value)
    if used & {column.id for column, _ in clause.collected.aggregates} or holds_grouping(value):
        raise UserError("aggregate functions are not allowed in GROUP BY", "42803", position=item.at + 1)
    if used & {column.id for column, _ in clause.collected.windows}:
        raise UserError("window functions are not allowed in GROUP BY", "42P20", position=item.at + 1)
    value = resolved_unknown(clause.planning, value)
    require_equality(value, item.at)
    return value


def _by_name(clause: Clause, item: Syntax, outputs: Sequence[tuple[str, Expression]]) -> Expression:
    """A name means a column of the input, and only if there is none an output column."""
    if not (isinstance(item, Name) and len(item.parts) == 1):
        return bind(clause, item)
    try:
        return bind(clause, item)
    except UserError as error:
        if error.sqlstate != "42703":
            raise
        found = [value for name, value in outputs if name == item.parts[0]]
        if not found:
            raise
        if any(value != found[0] for value in found):
            raise UserError(
                f'GROUP BY "{item.parts[0]}" is ambiguous', "42702", position=item.at + 1
            ) from error
        return found[0]


def require_equality(value: Expression, at: int) -> None:
    """Refuse types that cannot be compared for equality."""
    if value.type.kind == "json":
        raise UserError(
            f"could not identify an equality operator for type {type_name(value.type)}",
            "42883",
            position=at + 1,
        )


class Grouping:
    """The groups of one SELECT, and the rewriting of its expressions to them."""

    def __init__(self, planning: Planning, scope: Scope, sets: Sequence[Sequence[Expression]]) -> None:
        self._planning = planning
        self._scope = scope
        self._local = scope.local_ids()
        self._names = column_names(scope)
        self._columns: dict[Any, tuple[OutputColumn, Expression]] = {}
        for expression in (expression for items in sets for expression in items):
            self._add(expression)
        self._sets = [frozenset(map(expression_form, items)) for items in sets]
        self._number = planning.column("set", INT4)
        self._with_queries = any(form is not value for form, (_, value) in self._columns.items())

    def _add(self, expression: Expression) -> OutputColumn:
        form = expression_form(expression)
        if form not in self._columns:
            column = self._planning.column(self._name(expression), expression.type)
            self._columns[form] = (column, expression)
        return self._columns[form][0]

    def _find(self, expression: Expression) -> OutputColumn | None:
        found = self._columns.get(expression_form(expression) if self._with_queries else expression)
        return None if found is None else found[0]

    def _name(self, expression: Expression) -> str:
        if isinstance(expression, ColumnRef):
            return self._names.get(expression.id, "group").rpartition(".")[2]
        return "group"

    def node(self, below: Node, aggregates: Sequence[tuple[OutputColumn, AggregateCall]]) -> Node:
        """The groups of the rows below; asked for after all expressions have been rewritten."""
        groups = list(self._columns.values())
        if len(self._sets) == 1:
            return Aggregate(below, tuple(groups), tuple(aggregates))
        members = [
            tuple(number for number, items in enumerate(self._sets) if form in items)
            for form in self._columns
        ]
        numbered = Numbered(self._number, len(self._sets), members)
        return grouped_by_sets(self._planning, below, groups, aggregates, numbered)

    def rewritten(self, value: Expression, at: int) -> Expression:
        """The value in terms of groups and aggregates."""

        def change(expression: Expression) -> Expression | None:
            if isinstance(expression, Call) and expression.function == GROUPING:
                return self._grouping(expression, at)
            column = self._find(expression)
            if column is not None:
                return reference(column)
            if isinstance(expression, ColumnRef) and expression.id in self._local:
                return self._dependent(expression, at)
            return None

        return rewrite_expression(value, change)

    def _grouping(self, call: Call, at: int) -> Expression:
        """GROUPING(a, b): a bit for each argument, set in the sets that do not have it."""
        forms = [expression_form(argument) for argument in call.arguments]
        if any(form not in self._columns for form in forms):
            raise UserError(
                "arguments to GROUPING must be grouping expressions of the associated query level",
                "42803",
                position=at + 1,
            )
        bits = [
            sum((form not in items) << place for place, form in enumerate(reversed(forms)))
            for items in self._sets
        ]
        if len(set(bits)) == 1:
            return Constant(str(bits[0]), INT4)
        return by_number(reference(self._number), bits)

    def _dependent(self, expression: ColumnRef, at: int) -> Expression:
        if not self._determined(expression.id):
            raise UserError(
                f'column "{self._names[expression.id]}" must appear in the GROUP BY clause'
                " or be used in an aggregate function",
                "42803",
                position=at + 1,
            )
        column = self._add(expression)
        self._sets = [items | {expression} for items in self._sets]
        return reference(column)

    def _determined(self, column: ColumnId) -> bool:
        """Whether the column's table is grouped by its primary key, in every set."""
        for item in self._scope.items:
            values = [seen.value for seen in item.columns]
            if not item.key or not any(isinstance(v, ColumnRef) and v.id == column for v in values):
                continue
            if all(values[position] in items for position in item.key for items in self._sets):
                return True
        return False
