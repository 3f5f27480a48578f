"""Binds ORDER BY and DISTINCT ON: positions, names of output columns, expressions.

An expression that is not an output column becomes a hidden one: the node puts it out, the
query does not show it.

Not here: where NULLs go (sorting.py), the rest of a SELECT (bind/select.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.core.errors import UserError
from headwater.sql.select.bind.coerce import resolved_unknown
from headwater.sql.select.bind.planning import Planning, reference
from headwater.sql.select.bind.sorting import sort_key
from headwater.sql.select.parse.syntax import Name, Number, OrderItem, String, Syntax
from headwater.sql.select.plan.nodes import Expression, OutputColumn, SortKey
from headwater.sql.select.plan.sameness import expression_form


@dataclass(slots=True)
class Outputs:
    """The columns of a SELECT, visible ones first, and how more are added."""

    planning: Planning
    columns: list[tuple[OutputColumn, Expression]]
    visible: int
    bind: Callable[[Syntax], Expression]

    def find(self, item: Syntax, what: str, hidden_allowed: bool) -> OutputColumn:
        """The output column an item of ORDER BY or DISTINCT ON means."""
        shown = self.columns[: self.visible]
        if isinstance(item, Number) and item.text.isdigit():
            index = int(item.text)
            if not 1 <= index <= self.visible:
                raise UserError(
                    f"{what} position {index} is not in select list", "42P10", position=item.at + 1
                )
            return shown[index - 1][0]
        if isinstance(item, Number | String):
            raise UserError(f"non-integer constant in {what}", "42601", position=item.at + 1)
        if isinstance(item, Name) and len(item.parts) == 1:
            found = [(column, value) for column, value in shown if column.name == item.parts[0]]
            if any(value != found[0][1] for _, value in found):
                raise UserError(f'{what} "{item.parts[0]}" is ambiguous', "42702", position=item.at + 1)
            if found:
                return found[0][0]
        return self._by_value(resolved_unknown(self.planning, self.bind(item)), what, hidden_allowed, item.at)

    def _by_value(self, value: Expression, what: str, hidden_allowed: bool, at: int) -> OutputColumn:
        form = expression_form(value)
        for column, known in self.columns:
            if known == value or (form is not value and expression_form(known) == form):
                return column
        if not hidden_allowed:
            raise UserError(
                f"for SELECT DISTINCT, {what} expressions must appear in select list",
                "42P10",
                position=at + 1,
            )
        column = self.planning.column("order", value.type)
        self.columns.append((column, value))
        return column


def order_keys(outputs: Outputs, items: Sequence[OrderItem], hidden_allowed: bool) -> tuple[SortKey, ...]:
    """The keys of an ORDER BY over output columns; a column sorted by twice counts once."""
    keys: list[SortKey] = []
    for item in items:
        column = outputs.find(item.expression, "ORDER BY", hidden_allowed)
        key = sort_key(outputs.planning, reference(column), item)
        if all(known.expression != key.expression for known in keys):
            keys.append(key)
    return tuple(keys)


def distinct_on(
    outputs: Outputs, items: Sequence[Syntax], keys: tuple[SortKey, ...]
) -> tuple[Expression, ...]:
    """The expressions of DISTINCT ON, which must lead the ORDER BY."""
    found: list[Expression] = []
    for item in items:
        value = reference(outputs.find(item, "SELECT DISTINCT ON", hidden_allowed=True))
        if value not in found:
            found.append(value)
    leading = [key.expression for key in keys]
    for place, expression in enumerate(leading):
        if place >= len(found):
            break
        if expression not in found:
            at = items[0].at
            raise UserError(
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                "42P10",
                position=at + 1,
            )
    return tuple(found)


def output_keys(
    planning: Planning, columns: Sequence[OutputColumn], items: Sequence[OrderItem], what: str
) -> tuple[SortKey, ...]:
    """ORDER BY over a set operation or VALUES, where only output columns may be named."""

    def refuse(item: Syntax) -> Expression:
        if isinstance(item, Name) and len(item.parts) == 1:
            raise UserError(f'column "{item.parts[0]}" does not exist', "42703", position=item.at + 1)
        raise UserError(
            f"invalid {what} ORDER BY clause",
            "0A000",
            detail="Only result column names can be used, not expressions or functions.",
            hint=f"Add the expression/function to every SELECT, or move the {what} into a FROM clause.",
            position=item.at + 1,
        )

    pairs: list[tuple[OutputColumn, Expression]] = [(column, reference(column)) for column in columns]
    return order_keys(Outputs(planning, pairs, len(pairs), refuse), items, hidden_allowed=False)
