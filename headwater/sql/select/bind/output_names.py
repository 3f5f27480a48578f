"""What a SELECT's column is called when nobody names it: PostgreSQL's rules.

Not here: binding the column (bind/select.py).
"""

from __future__ import annotations

from headwater.core.errors import UserError
from headwater.core.types import FACTS
from headwater.sql.select.bind.types_by_name import resolve_type
from headwater.sql.select.parse.syntax import (
    CaseOf,
    CastTo,
    Collated,
    FieldOf,
    FunctionCall,
    ListOf,
    MapOf,
    Name,
    QueryValue,
    RowOf,
    SelectBody,
    Subscript,
    Syntax,
)

UNNAMED = "?column?"


def output_name(syntax: Syntax) -> str:
    """The name of a column made by this expression."""
    return _named(syntax)[0] or UNNAMED


def _named(syntax: Syntax) -> tuple[str | None, bool]:
    """A name, and whether it is a strong one: a cast's or CASE's own name gives way to it."""
    match syntax:
        case Name():
            return syntax.parts[-1], True
        case FieldOf() if syntax.field != "*":
            return syntax.field, True
        case FunctionCall():
            return syntax.name[-1], True
        case CastTo():
            name, strong = _named(syntax.input)
            return (name, True) if strong else (_type_name(syntax), False)
        case CaseOf():
            name, strong = (None, False) if syntax.otherwise is None else _named(syntax.otherwise)
            return (name, True) if strong else ("case", False)
        case Subscript() | Collated():
            return _named(syntax.input)
        case QueryValue():
            return _query_name(syntax)
        case ListOf():
            return syntax.kind, True
        case MapOf():
            return "map", True
        case RowOf():
            return "row", True
    return None, False


def _type_name(syntax: CastTo) -> str:
    try:
        type_ = resolve_type(syntax.type)
    except UserError:
        return syntax.type.parts[-1]
    element = type_.element if type_.kind == "array" and type_.element is not None else type_
    return FACTS[element.kind].pg_name


def _query_name(syntax: QueryValue) -> tuple[str | None, bool]:
    if syntax.kind != "scalar":
        return syntax.kind, True
    body = syntax.query.body
    if isinstance(body, SelectBody) and len(body.items) == 1:
        item = body.items[0]
        return (item.alias, True) if item.alias is not None else _named(item.expression)
    return None, False
