"""Binds GROUP BY, and what a grouped SELECT may then say.

Expressions are bound as if nothing were grouped; afterwards every part that is one of the
group's expressions becomes that group's column.  What still refers to a column of the
input is an error, unless the primary key of its table is grouped by: then the column is
one more group, because it cannot make more of them.

Not here: collecting aggregates (clause.py), the other clauses (bind_select.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.errors import UserError
from headwater.sql.select.bind_expression import bind
from headwater.sql.select.clause import Clause
from headwater.sql.select.coerce import resolved_unknown
from headwater.sql.select.plan import ColumnId, ColumnRef, Expression, OutputColumn
from headwater.sql.select.planning import Planning, reference
from headwater.sql.select.scope import Scope, column_names
from headwater.sql.select.syntax import Name, Number, RowOf, Syntax
from headwater.sql.select.types_by_name import type_name
from headwater.sql.select.walk import column_ids, rewrite_expression


def group_expressions(
    clause: Clause, items: tuple[Syntax, ...], outputs: Sequence[tuple[str, Expression]]
) -> list[Expression]:
    """What is grouped by: positions and names of output columns, and expressions."""
    flat = [part for item in items for part in (item.fields if isinstance(item, RowOf) else (item,))]
    return [_group(clause, item, outputs) for item in flat]


def _group(clause: Clause, item: Syntax, outputs: Sequence[tuple[str, Expression]]) -> Expression:
    value: Expression
    if isinstance(item, Number) and item.text.isdigit():
        index = int(item.text)
        if not 1 <= index <= len(outputs):
            raise UserError(f"GROUP BY position {index} is not in select list", "42P10", position=item.at + 1)
        value = outputs[index - 1][1]
    else:
        value = _by_name(clause, item, outputs)
    made = {column.id for column, _ in (*clause.collected.aggregates, *clause.collected.windows)}
    if column_ids(value) & made:
        raise UserError("aggregate functions are not allowed in GROUP BY", "42803", position=item.at + 1)
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

    def __init__(self, planning: Planning, scope: Scope, expressions: Sequence[Expression]) -> None:
        self._planning = planning
        self._scope = scope
        self._local = scope.local_ids()
        self._names = column_names(scope)
        self._columns: dict[Expression, OutputColumn] = {}
        for expression in expressions:
            if expression not in self._columns:
                self._columns[expression] = planning.column(self._name(expression), expression.type)

    def _name(self, expression: Expression) -> str:
        if isinstance(expression, ColumnRef):
            return self._names.get(expression.id, "group").rpartition(".")[2]
        return "group"

    def groups(self) -> tuple[tuple[OutputColumn, Expression], ...]:
        """For the Aggregate node; read after all expressions have been rewritten."""
        return tuple((column, expression) for expression, column in self._columns.items())

    def rewritten(self, value: Expression, at: int) -> Expression:
        """The value in terms of groups and aggregates."""

        def change(expression: Expression) -> Expression | None:
            column = self._columns.get(expression)
            if column is not None:
                return reference(column)
            if isinstance(expression, ColumnRef) and expression.id in self._local:
                return self._dependent(expression, at)
            return None

        return rewrite_expression(value, change)

    def _dependent(self, expression: ColumnRef, at: int) -> Expression:
        if not self._determined(expression.id):
            raise UserError(
                f'column "{self._names[expression.id]}" must appear in the GROUP BY clause'
                " or be used in an aggregate function",
                "42803",
                position=at + 1,
            )
        column = self._planning.column(self._name(expression), expression.type)
        self._columns[expression] = column
        return reference(column)

    def _determined(self, column: ColumnId) -> bool:
        """Whether the column's table is grouped by its primary key."""
        for item in self._scope.items:
            values = [seen.value for seen in item.columns]
            if not item.key or not any(isinstance(v, ColumnRef) and v.id == column for v in values):
                continue
            if all(values[position] in self._columns for position in item.key):
                return True
        return False
