"""Reads expressions, by PostgreSQL's operator precedence.

    OR < AND < NOT < IS < comparison < BETWEEN IN LIKE < other operators
       < + - < * / % < ^ < AT TIME ZONE < COLLATE < unary minus < [ ] < ::

Chains of one level are read in a loop, so only what is really nested is deep.

Not here: functions and words with a grammar of their own (parse/function.py),
queries (parse/query.py), meaning (bind/).
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from headwater.core.errors import not_supported, syntax_error
from headwater.sql.select.parse.cursor import Cursor
from headwater.sql.select.parse.syntax import (
    BetweenTest,
    CastTo,
    Collated,
    DistinctFrom,
    FieldOf,
    FunctionCall,
    InTest,
    IsTest,
    Junction,
    Number,
    Operation,
    PatternTest,
    Quantified,
    QuerySyntax,
    RowOf,
    String,
    Subscript,
    SubscriptPlace,
    Syntax,
)
from headwater.sql.select.parse.type_name import parse_type

OR, AND, NOT, IS, COMPARISON, PATTERN, OTHER, PLUS, TIMES, POWER, AT, COLLATE, MINUS, INDEX, CAST = range(15)

_OPERATOR_LEVELS: Final = {
    **dict.fromkeys(("<", ">", "=", "<=", ">=", "<>"), COMPARISON),
    **dict.fromkeys(("+", "-"), PLUS),
    **dict.fromkeys(("*", "/", "%"), TIMES),
    "^": POWER,
}
_WORD_LEVELS: Final = {
    "or": OR,
    "and": AND,
    "is": IS,
    "isnull": IS,
    "notnull": IS,
    "overlaps": PATTERN,
    "between": PATTERN,
    "in": PATTERN,
    "like": PATTERN,
    "ilike": PATTERN,
    "similar": PATTERN,
    "collate": COLLATE,
    "operator": OTHER,
}
_NEGATABLE: Final = ("between", "in", "like", "ilike", "similar")


class Grammar(Protocol):
    """What expressions need of the rest of the grammar."""

    cursor: Cursor

    def primary(self) -> Syntax:
        """A literal, name, call or anything in parentheses."""

    def query_in_parentheses(self) -> QuerySyntax | None:
        """The query behind `(` if there is one here, with its parentheses."""


def expression(grammar: Grammar, level: int = OR, left: Syntax | None = None) -> Syntax:
    """An expression whose loosest operator binds at least as tightly as `level`."""
    cursor = grammar.cursor
    cursor.enter()
    if left is None:
        literal = cursor.take_literal()
        if literal is not None:  # a short way for what long lists are made of
            cursor.leave()
            return (Number if literal.kind == "number" else String)(literal.value, literal.start)
        left = _prefix(grammar)
    height = 0
    last_level = -1
    while (found := _infix_level(cursor)) is not None and found >= level:
        if found == last_level and found in (COMPARISON, PATTERN):
            raise cursor.expected("end of expression")
        height += found not in (OR, AND)
        cursor.check_height(cursor.depth + height)
        left = _infix(grammar, left, found)
        last_level = found
    cursor.leave()
    return left


def _prefix(grammar: Grammar) -> Syntax:
    cursor = grammar.cursor
    token = cursor.token
    if token.kind == "word" and token.value == "not":
        cursor.take()
        return Junction("not", (expression(grammar, NOT),), token.start)
    if token.operator and token.value != "*":
        cursor.take()
        if token.value in ("+", "-"):
            operand = expression(grammar, MINUS)
            if isinstance(operand, Number):
                text = operand.text if token.value == "+" else f"-{operand.text}".removeprefix("--")
                return Number(text, token.start)
        else:
            operand = expression(grammar, PLUS)
        return Operation(token.value, (operand,), token.start)
    return grammar.primary()


def _infix_level(cursor: Cursor) -> int | None:
    """How tightly the operator here binds; None when there is none."""
    token = cursor.token
    if token.operator:
        return None if token.value == "=>" else _OPERATOR_LEVELS.get(token.value, OTHER)
    if token.kind == "symbol":
        return {"::": CAST, "[": INDEX, ".": INDEX}.get(token.value)
    if token.kind != "word":
        return None
    if token.value == "not":
        return PATTERN if cursor.word(*_NEGATABLE, ahead=1) else None
    if token.value == "at":
        return AT if cursor.word("time", ahead=1) else None
    if token.value == "operator" and not cursor.mark("(", ahead=1):
        return None
    return _WORD_LEVELS.get(token.value)


def _infix(grammar: Grammar, left: Syntax, level: int) -> Syntax:
    cursor = grammar.cursor
    at = cursor.token.start
    if level in (OR, AND):
        return _junction(grammar, left, "or" if level == OR else "and")
    if cursor.token.operator or cursor.word("operator"):
        return _operation(grammar, left, level)
    if level == IS:
        return _is(grammar, left)
    if level == PATTERN:
        return _pattern(grammar, left)
    if level == AT:
        cursor.take()
        cursor.take()
        cursor.expect_word("zone")
        return FunctionCall(("timezone",), (expression(grammar, COLLATE), left), at)
    if cursor.take_word("collate"):
        return Collated(left, _qualified(cursor), at)
    if cursor.take_mark("::"):
        return CastTo(left, parse_type(cursor), at)
    if cursor.take_mark("."):
        return FieldOf(left, "*" if cursor.take_mark("*") else cursor.label(), at)
    return _subscript(grammar, left)


def _qualified(cursor: Cursor) -> tuple[str, ...]:
    parts = [cursor.label()]
    while cursor.take_mark("."):
        parts.append(cursor.label())
    return tuple(parts)


def _junction(grammar: Grammar, left: Syntax, word: Literal["and", "or"]) -> Syntax:
    at = grammar.cursor.token.start
    operands = [left]
    while grammar.cursor.take_word(word):
        operands.append(expression(grammar, NOT if word == "and" else AND))
    return Junction(word, tuple(operands), at)


def _operation(grammar: Grammar, left: Syntax, level: int) -> Syntax:
    cursor = grammar.cursor
    token = cursor.take()
    operator = token.value
    if token.kind == "word":
        cursor.expect_mark("(")
        while cursor.token.kind in ("word", "quoted"):
            schema = cursor.take().value
            if schema != "pg_catalog":
                raise not_supported(f'operators of schema "{schema}"', position=token.start + 1)
            cursor.expect_mark(".")
        if not cursor.token.operator:
            raise cursor.expected("an operator")
        operator = cursor.take().value
        cursor.expect_mark(")")
    if cursor.word("any", "some", "all") and cursor.mark("(", ahead=1):
        return _quantified(grammar, left, operator, token.start)
    return Operation(operator, (left, expression(grammar, level + 1)), token.start)


def _quantified(grammar: Grammar, left: Syntax, operator: str, at: int) -> Syntax:
    cursor = grammar.cursor
    quantifier: Literal["any", "all"] = "all" if cursor.take().value == "all" else "any"
    query = grammar.query_in_parentheses()
    if query is not None:
        return Quantified(operator, left, quantifier, query, at)
    cursor.expect_mark("(")
    right = expression(grammar)
    cursor.expect_mark(")")
    return Quantified(operator, left, quantifier, right, at)


def _is(grammar: Grammar, left: Syntax) -> Syntax:
    cursor = grammar.cursor
    token = cursor.take()
    if token.value != "is":
        return IsTest(left, "null", token.value == "notnull", token.start)
    negated = cursor.take_word("not") is not None
    if cursor.word("distinct"):
        cursor.take()
        cursor.expect_word("from")
        return DistinctFrom(left, expression(grammar, COMPARISON), negated, token.start)
    for word in ("null", "true", "false", "unknown"):
        if cursor.take_word(word):
            return IsTest(left, word, negated, token.start)
    if cursor.word("json", "document", "normalized", "of"):
        raise not_supported(f"IS {cursor.token.value.upper()}", position=token.start + 1)
    raise cursor.expected("NULL or TRUE or FALSE or UNKNOWN or DISTINCT FROM")


def _pattern(grammar: Grammar, left: Syntax) -> Syntax:
    cursor = grammar.cursor
    at = cursor.token.start
    negated = cursor.take_word("not") is not None
    word = cursor.take().value
    if word == "between":
        symmetric = cursor.take_word("symmetric") is not None
        cursor.take_word("asymmetric")
        low = expression(grammar, OTHER)
        cursor.expect_word("and")
        return BetweenTest(left, low, expression(grammar, OTHER), negated, symmetric, at)
    if word == "in":
        return _in(grammar, left, negated, at)
    if word == "overlaps":
        right = expression(grammar, OTHER)
        if not (isinstance(left, RowOf) and isinstance(right, RowOf)):
            raise syntax_error("wrong number of parameters on a side of OVERLAPS expression", at + 1)
        return FunctionCall(("overlaps",), left.fields + right.fields, at)
    if word == "similar":
        cursor.expect_word("to")
    if cursor.word("any", "some", "all") and cursor.mark("(", ahead=1) and word != "similar":
        operator = ("!" if negated else "") + ("~~" if word == "like" else "~~*")
        return _quantified(grammar, left, operator, at)
    pattern = expression(grammar, OTHER)
    escape = expression(grammar, OTHER) if cursor.take_word("escape") else None
    return PatternTest(word, left, pattern, escape, negated, at)  # type: ignore[arg-type]


def _in(grammar: Grammar, left: Syntax, negated: bool, at: int) -> Syntax:
    cursor = grammar.cursor
    query = grammar.query_in_parentheses()
    if query is not None:
        return InTest(left, (), query, negated, at)
    cursor.expect_mark("(")
    items = [expression(grammar)]
    while cursor.take_mark(","):
        items.append(expression(grammar))
    cursor.expect_mark(")")
    return InTest(left, tuple(items), None, negated, at)


def _subscript(grammar: Grammar, left: Syntax) -> Syntax:
    cursor = grammar.cursor
    at = cursor.token.start
    places = []
    while cursor.take_mark("["):
        low = None if cursor.mark(":") else expression(grammar)
        high, sliced = None, bool(cursor.take_mark(":"))
        if sliced:
            high = None if cursor.mark("]") else expression(grammar)
        cursor.expect_mark("]")
        places.append(SubscriptPlace(low, high, sliced))
    return Subscript(left, tuple(places), at)
