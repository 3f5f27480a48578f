"""Puts arguments in the places of parameters.

An argument comes as text and is read as a literal of its parameter's type would be, with the
same errors; afterwards the plan can be generated.

Not here: finding out what type a parameter has (planning.py).
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.errors import UserError
from headwater.sql.select.plan.literals import canonical
from headwater.sql.select.plan.nodes import Constant, Expression, Limit, Node, Parameter, Query
from headwater.sql.select.plan.walk import inputs, rewrite


def put_arguments(query: Query, arguments: tuple[str | None, ...]) -> Query:
    """The query with constants for its parameters."""
    if len(arguments) != len(query.parameters):
        raise UserError(
            f"bind message supplies {len(arguments)} parameters,"
            f" but the statement requires {len(query.parameters)}",
            "08P01",
        )
    constants = tuple(
        Constant(None if text is None else canonical(text, type_, query.zone), type_)
        for text, type_ in zip(arguments, query.parameters, strict=True)
    )

    def change(expression: Expression) -> Expression | None:
        if isinstance(expression, Parameter):
            found = constants[expression.number - 1]
            return Constant(found.value, expression.type)
        return None

    root = rewrite(query.root, change)
    _check_limits(root)
    return replace(query, root=root, parameters=())


def _check_limits(node: Node) -> None:
    """LIMIT and OFFSET must not be negative, and NULL means none."""
    if isinstance(node, Limit):
        for value, what, sqlstate in ((node.count, "LIMIT", "2201W"), (node.offset, "OFFSET", "2201X")):
            if isinstance(value, Constant) and value.value is not None and int(value.value) < 0:
                raise UserError(f"{what} must not be negative", sqlstate)
    for inner in inputs(node):
        _check_limits(inner)
