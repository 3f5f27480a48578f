"""Puts arguments in the places of parameters.

An argument comes as text and is read as a literal of its parameter's type would be, with the
same errors; afterwards the plan can be generated.  Arguments of one type are read together: an INSERT may
bring 65,535 of them.  A driver that sends a small number as smallint means no cast, so where a cast would not
change a value there is none: rows of constants alone are handed to an engine as data.

Not here: finding out what type a parameter has (planning.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.limits import PLAN_AT_ONCE_CHARACTERS_MAX
from headwater.core.types import FACTS, SqlType
from headwater.sql.select.plan.literals import canonical, canonicals
from headwater.sql.select.plan.nodes import Cast, Constant, Expression, Limit, Node, Parameter, Query
from headwater.sql.select.plan.walk import inputs, rewrite

_TEXTS: Final = ("text", "varchar")


def put_arguments(query: Query, arguments: tuple[str | None, ...]) -> Query:
    """The query with constants for its parameters."""
    if len(arguments) != len(query.parameters):
        raise UserError(
            f"bind message supplies {len(arguments)} parameters,"
            f" but the statement requires {len(query.parameters)}",
            "08P01",
        )
    try:
        values = _together(query, arguments)
    except UserError:
        values = _one_by_one(query, arguments)  # the error is that of the first that is wrong

    def change(expression: Expression) -> Expression | None:
        if isinstance(expression, Parameter):
            return Constant(values[expression.number - 1], expression.type)
        if isinstance(expression, Cast) and isinstance(expression.input, Parameter):
            value = values[expression.input.number - 1]
            if _is_kept(value, expression.input.type, expression.type):
                return Constant(value, expression.type)
        return None

    root = rewrite(query.root, change)
    _check_limits(root)
    return replace(query, root=root, parameters=())


def _together(query: Query, arguments: tuple[str | None, ...]) -> list[str | None]:
    """The arguments' canonical texts, read type by type."""
    places: dict[SqlType, list[int]] = {}
    size = 0
    for place, (text, type_) in enumerate(zip(arguments, query.parameters, strict=True)):
        if text is not None:
            places.setdefault(type_, []).append(place)
            size += 1 + len(text)
    if size > PLAN_AT_ONCE_CHARACTERS_MAX:
        pace.stride()
    values: list[str | None] = [None] * len(arguments)
    for type_, of_type in places.items():
        texts = [text for place in of_type if (text := arguments[place]) is not None]
        pace.look()
        for place, value in zip(of_type, canonicals(texts, type_, query.zone), strict=True):
            values[place] = value
    return values


def _one_by_one(query: Query, arguments: tuple[str | None, ...]) -> list[str | None]:
    """The same, in the order they were given in."""
    values: list[str | None] = []
    for text, type_ in zip(arguments, query.parameters, strict=True):
        pace.step()
        values.append(None if text is None else canonical(text, type_, query.zone))
    return values


def _is_kept(value: str | None, of: SqlType, wanted: SqlType) -> bool:
    """Whether a cast leaves the value's text as it is, and cannot fail."""
    if value is None:
        return True
    if of.kind in _TEXTS and wanted.kind in _TEXTS:
        return wanted.length is None
    bounds = FACTS[wanted.kind].bounds
    if FACTS[of.kind].family != "signed" or FACTS[wanted.kind].family != "signed" or bounds is None:
        return False
    return bounds[0] <= int(value) <= bounds[1]


def _check_limits(node: Node) -> None:
    """LIMIT and OFFSET must not be negative, and NULL means none."""
    if isinstance(node, Limit):
        for value, what, sqlstate in ((node.count, "LIMIT", "2201W"), (node.offset, "OFFSET", "2201X")):
            if isinstance(value, Constant) and value.value is not None and int(value.value) < 0:
                raise UserError(f"{what} must not be negative", sqlstate)
    for inner in inputs(node):
        _check_limits(inner)
