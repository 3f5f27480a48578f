"""Binds operators, comparisons of rows, and what is written with them: IN, BETWEEN, LIKE, ANY.

Not here: calls by name (bind/function.py), the other expressions (bind/expression.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from headwater.core.errors import UserError, not_supported
from headwater.core.quoting import backquoted, literal
from headwater.core.types import (
    BOOL,
    BYTEA,
    FACTS,
    FLOAT8,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    JSONB,
    MZ_TIMESTAMP,
    NUMBERS,
    SIGNED,
    TEXT,
    UINT8,
    UNKNOWN,
    UNSIGNED,
    SqlType,
    array_of,
    numeric,
)
from headwater.formats.arrays import DIMENSIONS_MAX, too_many_dimensions
from headwater.sql.select.bind.coerce import (
    castable,
    coerce,
    common_numeric,
    common_type,
)
from headwater.sql.select.bind.planning import BoundQuery, Planning, reference
from headwater.sql.select.bind.resolve import Chosen, choose, no_operator
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.plan.nodes import (
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnRef,
    Constant,
    Expression,
    Filter,
    InList,
    Logical,
    Node,
    Project,
    RecordOf,
    Subquery,
    TableFunction,
)

COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "is distinct from")

_SIGNED: Final = frozenset(SIGNED)
_UNSIGNED: Final = frozenset(UNSIGNED)
_NUMBERS: Final = frozenset(NUMBERS)


def operation(planning: Planning, symbol: str, operands: tuple[Expression, ...], at: int) -> Expression:
    """An operator over one or two operands; comparisons of rows go field by field."""
    rows = [operand for operand in operands if isinstance(operand, RecordOf)]
    if len(rows) == 2 and symbol in COMPARISONS:
        return _compare_rows(planning, symbol, rows[0], rows[1], at)
    if len(operands) == 2:
        operands = _met(planning, operands[0], operands[1], at)
    chosen = find_operator(symbol, operands, at)
    if symbol in COMPARISONS:
        return _comparison(planning, chosen, operands, at)
    arguments = tuple(
        coerce(planning, operand, type_, at) for operand, type_ in zip(operands, chosen.types, strict=True)
    )
    types = tuple(argument.type for argument in arguments)
    return Call(chosen.function, arguments, chosen.function.return_type(types))


def _met(planning: Planning, left: Expression, right: Expression, at: int) -> tuple[Expression, Expression]:
    """Two types that PostgreSQL, or the dialect, has operators for across types.

    A real that meets another type of number is computed in double precision, an unsigned integer
    that meets a signed one in a type that holds both, and whatever meets an mz_timestamp becomes one.
    """
    kinds = {left.type.kind, right.type.kind}
    times = all(castable(side.type, MZ_TIMESTAMP, "implicit") for side in (left, right))
    if MZ_TIMESTAMP.kind in kinds and len(kinds) == 2 and times:
        return coerce(planning, left, MZ_TIMESTAMP, at), coerce(planning, right, MZ_TIMESTAMP, at)
    if kinds & _UNSIGNED and kinds & _SIGNED:
        return _signed(planning, left, right, at)
    if "float4" in kinds and len(kinds & _NUMBERS) == 2:
        if left.type.kind == "float4":
            left = coerce(planning, left, FLOAT8, at)
        else:
            right = coerce(planning, right, FLOAT8, at)
    return left, right


def _signed(
    planning: Planning, left: Expression, right: Expression, at: int
) -> tuple[Expression, Expression]:
    """Unsigned with signed: a literal joins the unsigned side if it can, else both become wider."""
    unsigned, other = (left, right) if left.type.kind in _UNSIGNED else (right, left)
    if isinstance(other, Constant) and other.value is not None and not other.value.startswith("-"):
        literal = Constant(other.value, unsigned.type)
        if int(other.value) < 2 ** (8 * FACTS[unsigned.type.kind].size):
            return (unsigned, literal) if unsigned is left else (literal, unsigned)
    wide = numeric(0) if unsigned.type == UINT8 else INT8
    return coerce(planning, left, wide, at), coerce(planning, right, wide, at)


def find_operator(symbol: str, operands: tuple[Expression, ...], at: int) -> Chosen:
    """The entry an operator means for these operands."""
    candidates = [f for f in FUNCTIONS.get(symbol, ()) if f.shape == "operator"]
    chosen = choose(candidates, operands, operator=True)
    if chosen is None:
        raise no_operator(symbol, candidates, operands, at)
    return chosen


def _comparison(planning: Planning, chosen: Chosen, operands: tuple[Expression, ...], at: int) -> Expression:
    """Both sides of a comparison have one type, scales included."""
    types = chosen.types
    if any(type_.kind == "numeric" for type_ in types):
        types = (common_numeric(operands),) * 2
    arguments = tuple(
        coerce(planning, operand, type_, at) for operand, type_ in zip(operands, types, strict=True)
    )
    return Call(chosen.function, arguments, BOOL)


def equal(planning: Planning, left: Expression, right: Expression, at: int) -> Expression:
    """`left = right`."""
    return operation(planning, "=", (left, right), at)


def conjunction(terms: Sequence[Expression], operator: Literal["and", "or"] = "and") -> Expression:
    """AND or OR over any number of terms; over none it is true, or false."""
    if not terms:
        return Constant("t" if operator == "and" else "f", BOOL)
    return terms[0] if len(terms) == 1 else Logical(operator, tuple(terms))


def negation(value: Expression, negated: bool = True) -> Expression:
    """NOT, if it is wanted."""
    return Logical("not", (value,)) if negated else value


# Rows


def _compare_rows(planning: Planning, symbol: str, left: RecordOf, right: RecordOf, at: int) -> Expression:
    if len(left.fields) != len(right.fields):
        raise UserError("unequal number of entries in row expressions", "42601", position=at + 1)
    if not left.fields:
        raise not_supported("comparison of empty rows", position=at + 1)
    pairs = list(zip(left.fields, right.fields, strict=True))
    if symbol in ("=", "<>", "is distinct from"):
        terms = [operation(planning, symbol, pair, at) for pair in pairs]
        return conjunction(terms, "and" if symbol == "=" else "or")
    strict = symbol[0]
    result = operation(planning, symbol, pairs[-1], at)
    for pair in reversed(pairs[:-1]):
        tie = Logical("and", (operation(planning, "=", pair, at), result))
        result = Logical("or", (operation(planning, strict, pair, at), tie))
    return result


# IN, ANY, ALL


def in_items(planning: Planning, value: Expression, items: tuple[Expression, ...], at: int) -> Expression:
    """`value IN (items)`."""
    if isinstance(value, RecordOf) or any(isinstance(item, RecordOf) for item in items):
        return conjunction([equal(planning, value, item, at) for item in items], "or")
    try:
        target = common_type((value, *items), "IN", at)
    except UserError:
        return conjunction([equal(planning, value, item, at) for item in items], "or")
    if target.kind == "char":
        target = TEXT
    value = coerce(planning, value, target, at)
    coerced = tuple(coerce(planning, item, target, at) for item in items)
    find_operator("=", (value, value), at)
    return InList(value, coerced)


def compare_any_item(
    planning: Planning,
    symbol: str,
    value: Expression,
    array: Expression,
    quantifier: Literal["any", "all"],
    at: int,
) -> Expression:
    """`value operator ANY (array)`."""
    if array.type == UNKNOWN:
        element = value.type if value.type != UNKNOWN else TEXT
        array = coerce(planning, array, array_of(element), at)
    if array.type == INT2VECTOR:
        array = coerce(planning, array, array_of(INT2), at)
    if array.type.kind not in ("array", "list"):
        raise UserError(
            f"op {quantifier.upper()}/ALL (array) requires array on right side", "42809", position=at + 1
        )
    flat = isinstance(array, ArrayOf) and not any(item.type.kind == "array" for item in array.elements)
    if isinstance(array, ArrayOf) and flat and symbol == "=" and quantifier == "any" and array.elements:
        return in_items(planning, value, array.elements, at)
    unnest = choose([f for f in FUNCTIONS.get("unnest", ()) if f.shape == "table"], (array,), operator=False)
    if unnest is None or array.type.element is None:
        raise not_supported(f"ANY over {type_name(array.type)}", position=at + 1)
    column = planning.column("unnest", array.type.element)
    node = TableFunction(unnest.function, (array,), (column,))
    tested = compare_query(planning, symbol, value, BoundQuery(node, (column,)), quantifier, at)
    return Case(((Logical("is null", (array,)), Constant(None, BOOL)),), tested, BOOL)


def compare_query(
    planning: Planning,
    symbol: str,
    value: Expression,
    query: BoundQuery,
    quantifier: Literal["any", "all"],
    at: int,
) -> Expression:
    """`value operator ANY (query)` for a query of one column."""
    column: Expression = reference(query.columns[0])
    chosen = find_operator(symbol, (value, column), at)
    if chosen.function.return_type(chosen.types) != BOOL:
        raise UserError("op ANY/ALL (query) requires operator to yield boolean", "42809", position=at + 1)
    types = chosen.types
    if symbol in COMPARISONS and types[0].kind == "numeric":
        types = (common_numeric((value, column)),) * 2
    operand = coerce(planning, value, types[0], at)
    node, number = _cast_column(planning, query, coerce(planning, column, types[1], at))
    return Subquery(quantifier, node, number.id, BOOL, operand, chosen.function)


def _cast_column(planning: Planning, query: BoundQuery, value: Expression) -> tuple[Node, ColumnRef]:
    if isinstance(value, ColumnRef):
        return query.node, value
    column = planning.column(query.columns[0].name, value.type)
    return Project(query.node, ((column, value),)), reference(column)


def in_query(planning: Planning, value: RecordOf, query: Callable[[], BoundQuery], at: int) -> Expression:
    """`(a, b) IN (query)`: true if a row is equal, else unknown if a row may be equal, else false."""

    def some_row(test: Callable[[Expression], Expression]) -> Expression:
        bound = query()
        if len(bound.columns) != len(value.fields):
            few = len(bound.columns) < len(value.fields)
            raise UserError(f"subquery has too {'few' if few else 'many'} columns", "42601", position=at + 1)
        terms = [
            equal(planning, field, reference(column), at)
            for field, column in zip(value.fields, bound.columns, strict=True)
        ]
        return Subquery("exists", Filter(bound.node, test(conjunction(terms))), None, BOOL)

    found = some_row(lambda same: same)
    possible = some_row(lambda same: Logical("is null", (same,)))
    unknown = Case(((possible, Constant(None, BOOL)),), Constant("f", BOOL), BOOL)
    return Case(((found, Constant("t", BOOL)),), unknown, BOOL)


# BETWEEN and LIKE


def between(
    planning: Planning, value: Expression, low: Expression, high: Expression, symmetric: bool, at: int
) -> Expression:
    """`value BETWEEN low AND high`."""

    def ordered(first: Expression, last: Expression) -> Expression:
        return Logical(
            "and",
            (operation(planning, ">=", (value, first), at), operation(planning, "<=", (value, last), at)),
        )

    if not symmetric:
        return ordered(low, high)
    return Logical("or", (ordered(low, high), ordered(high, low)))


def like(
    planning: Planning,
    word: Literal["like", "ilike", "similar"],
    value: Expression,
    pattern: Expression,
    escape: Expression | None,
    at: int,
) -> Expression:
    """LIKE, ILIKE and SIMILAR TO."""
    if value.type != UNKNOWN and not castable(value.type, TEXT, "implicit") and value.type != BYTEA:
        symbol = "~~*" if word == "ilike" else "~~" if word == "like" else "~"
        raise no_operator(symbol, (), (value, pattern), at)
    if word == "similar":
        escapes = () if escape is None else (escape,)
        pattern = scalar(planning, "similar_to_escape", (pattern, *escapes), at)
        return operation(planning, "~", (value, pattern), at)
    if escape is not None:
        pattern = scalar(planning, "like_escape", (pattern, escape), at)
    return operation(planning, "~~*" if word == "ilike" else "~~", (value, pattern), at)


def scalar(planning: Planning, name: str, arguments: tuple[Expression, ...], at: int) -> Expression:
    """A call of a scalar function that the grammar implies."""
    candidates = [f for f in FUNCTIONS.get(name, ()) if f.shape in ("scalar", "operator")]
    chosen = choose(candidates, arguments, operator=False)
    if chosen is None:
        raise not_supported(name, position=at + 1)
    given = tuple(coerce(planning, a, type_, at) for a, type_ in zip(arguments, chosen.types, strict=True))
    return Call(chosen.function, given, chosen.function.return_type(tuple(a.type for a in given)))


# Subscripts and fields


def subscript(
    planning: Planning,
    value: Expression,
    low: Expression | None,
    high: Expression | None,
    sliced: bool,
    at: int,
) -> Expression:
    """`x[i]`, `x[low:high]` of lists and maps, and `j['k']` for jsonb."""
    if value.type == JSONB:
        return _step(planning, value, low, sliced, at)
    if value.type.kind == "name" and not sliced and low is not None:
        place = operation(planning, "+", (low, Constant("1", INT4)), at)
        letter = scalar(planning, "substr", (Cast(value, TEXT), place, Constant("1", INT4)), at)
        return Cast(letter, SqlType('"char"'))
    if value.type.kind not in ("list", "map"):
        raise UserError(
            f"cannot subscript type {type_name(value.type)} because it does not support subscripting",
            "42804",
            position=at + 1,
        )
    if not sliced and low is not None:
        return scalar(planning, "[]", (value, low), at)
    first = Constant("1", INT4) if low is None else low
    last = Constant(str(2**31 - 1), INT4) if high is None else high
    return scalar(planning, "[:]", (value, first, last), at)


Place: TypeAlias = "tuple[Expression | None, Expression | None, bool]"
"""What is between brackets: low, high, and whether they are sides of a slice."""


def array_part(planning: Planning, value: Expression, places: Sequence[Place], at: int) -> Expression:
    """`a[i][j]`, or a slice if any of them is: `a[low:high][j]`, where `j` means `1:j`."""
    if value.type == INT2VECTOR:
        value = coerce(planning, value, array_of(INT2), at)
    if len(places) > DIMENSIONS_MAX:
        raise too_many_dimensions(len(places))
    for bound in (bound for low, high, _ in places for bound in (low, high) if bound is not None):
        if bound.type != UNKNOWN and not castable(bound.type, INT4, "assignment"):
            raise UserError("array subscript must have type integer", "42804", position=at + 1)
    if not any(sliced for _, _, sliced in places):
        return scalar(planning, "[]", (value, *(_whole(planning, low, at) for low, _, _ in places)), at)
    bounds: list[Expression] = []
    for low, high, sliced in places:
        first, last = (low, high) if sliced else (Constant("1", INT4), low)
        bounds.append(Constant(str(-(2**31)), INT4) if first is None else _whole(planning, first, at))
        bounds.append(Constant(str(2**31 - 1), INT4) if last is None else _whole(planning, last, at))
    return scalar(planning, "[:]", (value, *bounds), at)


def _whole(planning: Planning, subscript: Expression | None, at: int) -> Expression:
    if subscript is None:
        raise UserError("a subscript is missing", "42601", position=at + 1)
    return coerce(planning, subscript, INT4, at)


def _step(planning: Planning, value: Expression, low: Expression | None, sliced: bool, at: int) -> Expression:
    """`j['k']`, `j[0]`: a path of one step, which `#>` knows how to go."""
    if sliced or low is None:
        raise UserError("jsonb subscript does not support slices", "42804", position=at + 1)
    if low.type != UNKNOWN and castable(low.type, INT4, "implicit"):
        key: Expression = Cast(coerce(planning, low, INT4, at), TEXT)
    elif low.type == UNKNOWN or castable(low.type, TEXT, "implicit"):
        key = coerce(planning, low, TEXT, at)
    else:
        raise UserError(
            f"subscript type {type_name(low.type)} is not supported",
            "42804",
            hint="jsonb subscript must be coercible to either integer or text.",
            position=at + 1,
        )
    return operation(planning, "#>", (value, ArrayOf((key,), array_of(TEXT))), at)


def field_of(value: Expression, name: str, at: int) -> Expression:
    """`(record).field`."""
    if isinstance(value, RecordOf):
        for (field, _), expression in zip(value.type.fields, value.fields, strict=True):
            if field == name:
                return expression
    if value.type.kind != "record":
        raise UserError(
            f"column notation .{name} applied to type {type_name(value.type)}, which is not a composite type",
            "42809",
            position=at + 1,
        )
    for field, type_ in value.type.fields:
        if field == name:
            return Call(_field_function(name, type_), (value,), type_)
    raise UserError(f'could not identify column "{name}" in record data type', "42703", position=at + 1)


@lru_cache(maxsize=256)  # the same field is the same function: GROUP BY compares them
def _field_function(name: str, type_: SqlType) -> Function:
    return Function(
        f".{name}",
        ("anyrecord",),
        type_,
        lambda texts, types: f"struct_extract({texts[0]}, {literal(name)})",
        lambda texts, types: f"{texts[0]}.{backquoted(name)}",
    )
