"""Binds expressions: syntax in a clause becomes a typed expression of the plan.

Not here: operators (bind/operator.py), calls (bind/function.py), casts (bind/cast.py), queries
(bind/query.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.core import pace
from headwater.core.errors import UserError, not_supported
from headwater.core.types import BOOL, INT2VECTOR, TEXTS, UNKNOWN, SqlType, array_of, list_of
from headwater.sql.select.bind import operator as operators
from headwater.sql.select.bind.cast import cast_to, type_cast
from headwater.sql.select.bind.clause import Clause
from headwater.sql.select.bind.coerce import coerce, common_type, require_boolean, resolved_unknown, unified
from headwater.sql.select.bind.function import bind_call, truth
from headwater.sql.select.bind.planning import BoundQuery
from headwater.sql.select.bind.scope import find_column
from headwater.sql.select.bind.types_by_name import resolve_type, type_name
from headwater.sql.select.parse.syntax import (
    BetweenTest,
    CaseOf,
    CastTo,
    Collated,
    DistinctFrom,
    FieldOf,
    FunctionCall,
    InTest,
    IsTest,
    Junction,
    ListOf,
    MapOf,
    Name,
    Number,
    Operation,
    PatternTest,
    Positional,
    Quantified,
    QuerySyntax,
    QueryValue,
    RowOf,
    Star,
    String,
    Subscript,
    Syntax,
    Word,
)
from headwater.sql.select.plan import literals
from headwater.sql.select.plan.nodes import (
    ArrayOf,
    Case,
    Constant,
    Expression,
    Logical,
    RecordOf,
    Subquery,
)

_COLLATED = (*TEXTS, UNKNOWN.kind)
_COLLATIONS = ("default", "C", "POSIX", "ucs_basic", "c")


def bind(clause: Clause, syntax: Syntax) -> Expression:
    """The typed expression behind a piece of syntax."""
    pace.step()
    match syntax:
        case Name():
            return find_column(clause.scope, syntax)
        case Number():
            return literals.number(syntax.text)
        case String():
            return Constant(syntax.text, UNKNOWN, syntax.at)
        case Word():
            return _word(syntax)
        case Positional():
            return clause.planning.parameter(syntax.number, syntax.at)
        case Operation():
            _agreed(*syntax.operands)
            operands = tuple(_comparable(clause, operand) for operand in syntax.operands)
            return operators.operation(clause.planning, syntax.operator, operands, syntax.at)
        case FunctionCall():
            _agreed(*syntax.arguments)
            return bind_call(clause, syntax, bind)
        case CastTo(input=ListOf() as items) if _list_target(syntax) is not None:
            return list_value(clause, items, _list_target(syntax))
        case CastTo():
            return type_cast(clause, syntax, bind)
        case Junction():
            return _junction(clause, syntax)
        case CaseOf():
            return _case(clause, syntax)
        case QueryValue():
            return _query_value(clause, syntax)
        case _:
            return _test(clause, syntax)


def _test(clause: Clause, syntax: Syntax) -> Expression:
    planning = clause.planning
    match syntax:
        case IsTest():
            return _is(clause, syntax)
        case DistinctFrom():
            return _distinct(clause, syntax)
        case BetweenTest():
            for bound in (syntax.low, syntax.high):
                _agreed(syntax.input, bound)
            value, low, high = (_comparable(clause, part) for part in (syntax.input, syntax.low, syntax.high))
            tested = operators.between(planning, value, low, high, syntax.symmetric, syntax.at)
            return operators.negation(tested, syntax.negated)
        case InTest():
            return operators.negation(_in(clause, syntax), syntax.negated)
        case PatternTest():
            _agreed(syntax.input, syntax.pattern)
            value, pattern = bind(clause, syntax.input), bind(clause, syntax.pattern)
            escape = None if syntax.escape is None else bind(clause, syntax.escape)
            tested = operators.like(planning, syntax.word, value, pattern, escape, syntax.at)
            return operators.negation(tested, syntax.negated)
        case Quantified():
            return _quantified(clause, syntax)
        case _:
            return _constructor(clause, syntax)


def _constructor(clause: Clause, syntax: Syntax) -> Expression:
    match syntax:
        case ListOf():
            return list_value(clause, syntax, None)
        case MapOf():
            return _map(clause, syntax)
        case RowOf():
            return _row(resolved_unknown(clause.planning, bind(clause, field)) for field in syntax.fields)
        case Subscript():
            value = bind(clause, syntax.input)
            return _subscripted(clause, value, syntax)
        case FieldOf():
            if syntax.field == "*":
                raise not_supported("(record).*", position=syntax.at + 1)
            return operators.field_of(bind(clause, syntax.input), syntax.field, syntax.at)
        case Collated():
            return _collated(clause, syntax)
        case Star():
            raise UserError('"*" cannot be used here', "42601", position=syntax.at + 1)
    raise not_supported(type(syntax).__name__)


def _subscripted(clause: Clause, value: Expression, syntax: Subscript) -> Expression:
    """All subscripts at once if they are an array's; else each is one of what the one before gives."""
    places: list[operators.Place] = [
        (
            None if place.low is None else bind(clause, place.low),
            None if place.high is None else bind(clause, place.high),
            place.slice,
        )
        for place in syntax.places
    ]
    if value.type.kind in ("array", INT2VECTOR.kind):
        inner = value.type.element
        own = 1 if inner is not None and inner.kind in ("list", "map") else len(places)
        value = operators.array_part(clause.planning, value, places[:own], syntax.at)
        places = places[own:]
    for low, high, sliced in places:
        value = operators.subscript(clause.planning, value, low, high, sliced, syntax.at)
    return value


def _row(values: Iterable[Expression]) -> RecordOf:
    fields = tuple(values)
    return RecordOf(
        fields, SqlType("record", fields=tuple((f"f{i}", f.type) for i, f in enumerate(fields, 1)))
    )


def _comparable(clause: Clause, syntax: Syntax) -> Expression:
    """One side of a comparison: a row's literals wait for the fields they are compared with."""
    if isinstance(syntax, RowOf):
        return _row(bind(clause, field) for field in syntax.fields)
    return bind(clause, syntax)


def condition(clause: Clause, syntax: Syntax) -> Expression:
    """A condition of WHERE, ON, HAVING; the clause's name tells the error which."""
    what = "JOIN/ON" if clause.name == "JOIN conditions" else clause.name
    return require_boolean(clause.planning, bind(clause, syntax), what, syntax.at)


def _word(syntax: Word) -> Expression:
    if syntax.word == "default":
        raise UserError("DEFAULT is not allowed in this context", "42601", position=syntax.at + 1)
    return Constant(None, UNKNOWN) if syntax.word == "null" else truth(syntax.word == "true")


def _junction(clause: Clause, syntax: Junction) -> Expression:
    word = syntax.operator.upper()
    terms = tuple(
        require_boolean(clause.planning, bind(clause, operand), word, operand.at)
        for operand in syntax.operands
    )
    return Logical(syntax.operator, terms)


def _is(clause: Clause, syntax: IsTest) -> Expression:
    if syntax.test != "null":
        word = f"IS {'NOT ' if syntax.negated else ''}{syntax.test.upper()}"
        value = require_boolean(clause.planning, bind(clause, syntax.input), word, syntax.input.at)
        match syntax.test:
            case "true":
                return operators.negation(Logical("is true", (value,)), syntax.negated)
            case "false":
                return operators.negation(Logical("is false", (value,)), syntax.negated)
        return Logical("is not null" if syntax.negated else "is null", (value,))
    value = resolved_unknown(clause.planning, bind(clause, syntax.input))
    test = Logical("is not null" if syntax.negated else "is null", (value,))
    if isinstance(value, RecordOf):
        # A row is null when all its fields are, and not null when none is.
        terms = [Logical(test.operator, (field,)) for field in value.fields]
        return operators.conjunction(terms)
    if value.type.kind == "record":
        raise not_supported("IS NULL of a record", position=syntax.at + 1)
    return test


def _distinct(clause: Clause, syntax: DistinctFrom) -> Expression:
    left, right = _comparable(clause, syntax.left), _comparable(clause, syntax.right)
    for value, other in ((left, right), (right, left)):
        if isinstance(other, Constant) and other.value is None and other.type == UNKNOWN:
            value = resolved_unknown(clause.planning, value)
            return Logical("is null" if syntax.negated else "is not null", (value,))
    tested = operators.operation(clause.planning, "is distinct from", (left, right), syntax.at)
    return operators.negation(tested, syntax.negated)


# Queries in expressions


def _bound_query(clause: Clause, query: QuerySyntax) -> BoundQuery:
    return clause.planning.query(clause.planning, query, clause.scope)


def _one_column(bound: BoundQuery, at: int) -> BoundQuery:
    if len(bound.columns) != 1:
        raise UserError("subquery must return only one column", "42601", position=at + 1)
    return bound


def _query_value(clause: Clause, syntax: QueryValue) -> Expression:
    bound = _bound_query(clause, syntax.query)
    if syntax.kind == "exists":
        return Subquery("exists", bound.node, None, BOOL)
    column = _one_column(bound, syntax.at).columns[0]
    if syntax.kind == "scalar":
        return Subquery("scalar", bound.node, column.id, column.type)
    type_ = column.type if column.type.kind == "array" else array_of(column.type)
    return Subquery("array", bound.node, column.id, type_)


def _in(clause: Clause, syntax: InTest) -> Expression:
    value = _comparable(clause, syntax.input)
    if syntax.query is None:
        items = tuple(_comparable(clause, item) for item in syntax.items)
        return operators.in_items(clause.planning, value, items, syntax.at)
    query = syntax.query
    if isinstance(value, RecordOf) and len(value.fields) > 1:
        return operators.in_query(clause.planning, value, lambda: _bound_query(clause, query), syntax.at)
    bound = _bound_query(clause, query)
    if len(bound.columns) != 1:
        raise UserError("subquery has too many columns", "42601", position=syntax.at + 1)
    return operators.compare_query(clause.planning, "=", value, bound, "any", syntax.at)


def _quantified(clause: Clause, syntax: Quantified) -> Expression:
    value = bind(clause, syntax.left)
    if isinstance(value, RecordOf):
        raise not_supported("a row compared by ANY or ALL", position=syntax.at + 1)
    if isinstance(syntax.right, QuerySyntax):
        bound = _bound_query(clause, syntax.right)
        if len(bound.columns) != 1:
            raise UserError("subquery has too many columns", "42601", position=syntax.at + 1)
        return operators.compare_query(
            clause.planning, syntax.operator, value, bound, syntax.quantifier, syntax.at
        )
    array = bind(clause, syntax.right)
    return operators.compare_any_item(
        clause.planning, syntax.operator, value, array, syntax.quantifier, syntax.at
    )


# CASE, arrays, maps


def _case(clause: Clause, syntax: CaseOf) -> Expression:
    planning = clause.planning
    clause = clause.without_sets("CASE")
    operand = None if syntax.operand is None else bind(clause, syntax.operand)
    if operand is not None:
        operand = resolved_unknown(planning, operand)
    conditions = []
    for when, _ in syntax.branches:
        value = bind(clause, when)
        if operand is None:
            conditions.append(require_boolean(planning, value, "CASE/WHEN", when.at))
        else:
            conditions.append(operators.equal(planning, operand, value, when.at))
    otherwise = Constant(None, UNKNOWN) if syntax.otherwise is None else bind(clause, syntax.otherwise)
    # PostgreSQL looks at ELSE first when it chooses the type.
    results = unified(
        planning, (otherwise, *(bind(clause, result) for _, result in syntax.branches)), "CASE", syntax.at
    )
    branches = tuple(zip(conditions, results[1:], strict=True))
    return Case(branches, results[0], results[0].type)


def _list_target(syntax: CastTo) -> SqlType | None:
    """The type of a cast around ARRAY[...], when it says what the elements are."""
    target = resolve_type(syntax.type)
    same = isinstance(syntax.input, ListOf) and target.kind == syntax.input.kind
    return target if same else None


def list_value(clause: Clause, syntax: ListOf, wanted: SqlType | None) -> Expression:
    """ARRAY[...] or LIST[...]; `wanted` is the type of a cast around it."""
    make = array_of if syntax.kind == "array" else list_of
    element = wanted.element if wanted is not None and wanted.kind == syntax.kind else None
    values = []
    for item in syntax.elements:
        within = wanted if syntax.kind == "array" else element  # the same type, however many dimensions
        inner = list_value(clause, item, within) if isinstance(item, ListOf) else bind(clause, item)
        values.append(inner)
    if element is not None and syntax.kind == "array" and any(v.type.kind == "array" for v in values):
        element = wanted
    if element is None:
        if not values:
            raise UserError(
                f"cannot determine type of empty {syntax.kind}",
                "42P18",
                hint=f"Explicitly cast to the desired type, for example {syntax.kind.upper()}[]::integer"
                + ("[]." if syntax.kind == "array" else " list."),
                position=syntax.at + 1,
            )
        element = common_type(values, syntax.kind.upper(), syntax.at)
        elements = tuple(coerce(clause.planning, value, element, syntax.at) for value in values)
    else:
        elements = tuple(cast_to(clause, value, element, syntax.at, bind) for value in values)
    return ArrayOf(elements, element if syntax.kind == element.kind == "array" else make(element))


def _map(clause: Clause, syntax: MapOf) -> Expression:
    flat: list[Expression] = []
    keys = [bind(clause, key) for key, _ in syntax.entries]
    values = unified(clause.planning, [bind(clause, value) for _, value in syntax.entries], "MAP", syntax.at)
    for key, value in zip(keys, values, strict=True):
        flat += [resolved_unknown(clause.planning, key), value]
    return operators.scalar(clause.planning, "map_build", tuple(flat), syntax.at)


def _agreed(*operands: Syntax) -> None:
    """An error if two operands are said to have different collations.

    Of the operands themselves: what is put together of several with a collation is not looked into.
    """
    said = [operand for operand in operands if isinstance(operand, Collated)]
    for other in said[1:]:
        if other.collation[-1] != said[0].collation[-1]:
            names = f'"{said[0].collation[-1]}" and "{other.collation[-1]}"'
            raise UserError(
                f"collation mismatch between explicit collations {names}", "42P21", position=other.at + 1
            )


def _collated(clause: Clause, syntax: Collated) -> Expression:
    """Everything is ordered by bytes; collations that mean that are accepted."""
    value = bind(clause, syntax.input)
    element = value.type.element if value.type.kind == "array" else value.type
    if element is None or element.kind not in _COLLATED:
        raise UserError(
            f"collations are not supported by type {type_name(value.type)}", "42804", position=syntax.at + 1
        )
    name = syntax.collation[-1]
    if name not in _COLLATIONS:
        raise UserError(
            f'collation "{name}" for encoding "UTF8" does not exist', "42704", position=syntax.at + 1
        )
    return value
