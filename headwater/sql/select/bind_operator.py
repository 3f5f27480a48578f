"""Binds operators, comparisons of rows, and what is written with them: IN, BETWEEN, LIKE, ANY.

Not here: calls by name (bind_function.py), the other expressions (bind_expression.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from headwater.core.errors import UserError, not_supported
from headwater.core.types import (
    BOOL,
    FACTS,
    FLOAT8,
    INT4,
    INT8,
    JSONB,
    MZ_TIMESTAMP,
    TEXT,
    UNKNOWN,
    SqlType,
    array_of,
    numeric,
)
from headwater.sql.select.coerce import (
    castable,
    coerce,
    common_numeric,
    common_type,
    resolved_unknown,
)
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.plan import (
    ArrayOf,
    Call,
    Case,
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
from headwater.sql.select.planning import BoundQuery, Planning, reference
from headwater.sql.select.resolve import Chosen, choose, no_operator
from headwater.sql.select.types_by_name import type_name

COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "is distinct from")

_SIGNED: Final = frozenset(("int2", "int4", "int8"))
_UNSIGNED: Final = frozenset(("uint2", "uint4", "uint8"))
_NUMBERS: Final = frozenset(
    ("int2", "int4", "int8", "uint2", "uint4", "uint8", "float4", "float8", "numeric")
)


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
    if "mz_timestamp" in kinds and len(kinds) == 2 and times:
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
    wide = numeric(0) if unsigned.type.kind == "uint8" else INT8
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
    if array.type.kind == "int2vector":
        array = coerce(planning, array, array_of(SqlType("int2")), at)
    if array.type.kind not in ("array", "list"):
        raise UserError(
            f"op {quantifier.upper()}/ALL (array) requires array on right side", "42809", position=at + 1
        )
    if isinstance(array, ArrayOf) and symbol == "=" and quantifier == "any" and array.elements:
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
    if value.type != UNKNOWN and not castable(value.type, TEXT, "implicit") and value.type.kind != "bytea":
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
    """`x[i]`, `x[low:high]`, and `j['k']` for jsonb."""
    if value.type == JSONB and not sliced and low is not None:
        return operation(planning, "->", (value, resolved_unknown(planning, low)), at)
    if value.type.kind == "int2vector":
        value = coerce(planning, value, array_of(SqlType("int2")), at)
    if value.type.kind not in ("array", "list", "map"):
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


def _field_function(name: str, type_: SqlType) -> Function:
    quoted_duckdb, quoted_spark = name.replace("'", "''"), name.replace("`", "``")
    return Function(
        f".{name}",
        ("anyrecord",),
        type_,
        lambda texts, types: f"struct_extract({texts[0]}, '{quoted_duckdb}')",
        lambda texts, types: f"{texts[0]}.`{quoted_spark}`",
    )
