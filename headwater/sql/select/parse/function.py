"""Reads calls of functions, with all that may stand in and after them, and the words
with a grammar of their own: EXTRACT, SUBSTRING, TRIM, CASE, CAST, ARRAY[...], INTERVAL '...'.

Each of those becomes a call of the plain function that PostgreSQL means by it.

Not here: operators (parse/expression.py), queries (parse/query.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from headwater.core.errors import not_supported
from headwater.sql.select.parse.cursor import Cursor
from headwater.sql.select.parse.expression import OTHER, Grammar, expression
from headwater.sql.select.parse.syntax import (
    CaseOf,
    CastTo,
    Frame,
    FunctionCall,
    ListOf,
    MapOf,
    OrderItem,
    QueryValue,
    RowOf,
    String,
    Syntax,
    TypeName,
    WindowSpec,
)
from headwater.sql.select.parse.type_name import interval_fields, modifiers, parse_type
from headwater.sql.select.parse.words import word_set

KEYWORD_FUNCTIONS: Final = word_set(
    """current_catalog current_date current_role current_schema current_time current_timestamp current_user
    localtime localtimestamp session_user user"""
)
"""Functions that are called without parentheses."""


def expressions(grammar: Grammar) -> tuple[Syntax, ...]:
    """One or more, with commas between."""
    items = [expression(grammar)]
    while grammar.cursor.take_mark(","):
        items.append(expression(grammar))
    return tuple(items)


def order_items(grammar: Grammar) -> tuple[OrderItem, ...]:
    """What follows ORDER BY."""
    items = [_order_item(grammar)]
    while grammar.cursor.take_mark(","):
        items.append(_order_item(grammar))
    return tuple(items)


def _order_item(grammar: Grammar) -> OrderItem:
    cursor = grammar.cursor
    at = cursor.token.start
    value = expression(grammar)
    if cursor.word("using"):
        raise not_supported("ORDER BY ... USING", position=cursor.token.start + 1)
    descending = cursor.take_word("asc", "desc") == "desc"
    nulls_first: bool | None = None
    if cursor.take_word("nulls"):
        word = cursor.take_word("first", "last")
        if word is None:
            raise cursor.expected("FIRST or LAST")
        nulls_first = word == "first"
    return OrderItem(value, descending, nulls_first, at)


def order_by(grammar: Grammar) -> tuple[OrderItem, ...]:
    """ORDER BY and its items, if it is here."""
    return order_items(grammar) if grammar.cursor.take_words("order", "by") else ()


def call(grammar: Grammar, name: tuple[str, ...], at: int) -> Syntax:
    """A call whose name has been read; the cursor is at its left parenthesis."""
    cursor = grammar.cursor
    special = _SPECIAL.get(name[0]) if len(name) == 1 else None
    cursor.expect_mark("(")
    if special is not None:
        result = special(grammar, at)
        cursor.expect_mark(")")
        return _followed(grammar, result) if isinstance(result, FunctionCall) else result
    if cursor.take_mark(")"):
        return _followed(grammar, FunctionCall(name, (), at))
    if cursor.mark("*") and cursor.mark(")", ahead=1):
        cursor.take()
        cursor.take()
        return _followed(grammar, FunctionCall(name, (), at, star=True))
    distinct = cursor.take_word("distinct", "all") == "distinct"
    arguments: list[Syntax] = []
    variadic = False
    while True:
        variadic = cursor.take_word("variadic") is not None
        arguments.append(expression(grammar))
        if cursor.mark("=>") or cursor.mark(":="):
            raise not_supported("named arguments", position=cursor.token.start + 1)
        if not cursor.take_mark(","):
            break
    order = order_by(grammar)
    cursor.expect_mark(")")
    return _followed(
        grammar,
        FunctionCall(name, tuple(arguments), at, distinct=distinct, variadic=variadic, order_by=order),
    )


def _followed(grammar: Grammar, function: FunctionCall) -> FunctionCall:
    """WITHIN GROUP, FILTER and OVER after a call."""
    cursor = grammar.cursor
    if cursor.take_words("within", "group"):
        cursor.expect_mark("(")
        function = replace(function, within_group=order_by(grammar))
        cursor.expect_mark(")")
    if cursor.word("filter") and cursor.mark("(", ahead=1):
        cursor.take()
        cursor.take()
        cursor.expect_word("where")
        function = replace(function, filter=expression(grammar))
        cursor.expect_mark(")")
    if cursor.words("ignore", "nulls") or cursor.words("respect", "nulls"):
        raise not_supported(f"{cursor.token.value.upper()} NULLS", position=cursor.token.start + 1)
    if cursor.word("over"):
        at = cursor.take().start
        if cursor.mark("("):
            return replace(function, over=window_spec(grammar))
        name = cursor.name("a window name or left parenthesis")
        return replace(function, over=WindowSpec(name, (), (), None, at, bare=True))
    return function


# Windows


def window_spec(grammar: Grammar) -> WindowSpec:
    """`([base] [PARTITION BY ...] [ORDER BY ...] [frame])`."""
    cursor = grammar.cursor
    at = cursor.expect_mark("(").start
    base = None
    token = cursor.token
    if token.kind == "quoted" or (
        token.kind == "word"
        and token.value not in ("partition", "order", "rows", "range", "groups")
        and not cursor.mark(")")
    ):
        base = cursor.name("a window name")
    partition = expressions(grammar) if cursor.take_words("partition", "by") else ()
    order = order_by(grammar)
    frame = _frame(grammar)
    cursor.expect_mark(")")
    return WindowSpec(base, partition, order, frame, at)


def _frame(grammar: Grammar) -> Frame | None:
    cursor = grammar.cursor
    unit = cursor.take_word("rows", "range", "groups")
    if unit is None:
        return None
    if cursor.take_word("between"):
        start = _bound(grammar)
        cursor.expect_word("and")
        end = _bound(grammar)
    else:
        start, end = _bound(grammar), ("current row", None)
    if cursor.word("exclude") and not cursor.take_words("exclude", "no", "others"):
        raise not_supported("EXCLUDE in a window frame", position=cursor.token.start + 1)
    return Frame(unit, start, end)  # type: ignore[arg-type]


def _bound(grammar: Grammar) -> tuple[str, Syntax | None]:
    cursor = grammar.cursor
    if cursor.take_words("current", "row"):
        return "current row", None
    if cursor.take_word("unbounded"):
        word = cursor.take_word("preceding", "following")
        if word is None:
            raise cursor.expected("PRECEDING or FOLLOWING")
        return f"unbounded {word}", None
    offset = expression(grammar)
    word = cursor.take_word("preceding", "following")
    if word is None:
        raise cursor.expected("PRECEDING or FOLLOWING")
    return word, offset


# Words with a grammar of their own, after `(` and up to `)`


def _extract(grammar: Grammar, at: int) -> Syntax:
    token = grammar.cursor.token
    field = String(token.value if token.kind == "string" else grammar.cursor.label("a field"), token.start)
    if token.kind == "string":
        grammar.cursor.take()
    grammar.cursor.expect_word("from")
    return FunctionCall(("extract",), (field, expression(grammar)), at)


def _substring(grammar: Grammar, at: int) -> Syntax:
    """substring(x FROM a FOR b), substring(x, a, b), substring(x SIMILAR p ESCAPE e)."""
    cursor = grammar.cursor
    arguments = [expression(grammar)]
    if cursor.word("similar"):
        raise not_supported("SUBSTRING ... SIMILAR", position=cursor.token.start + 1)
    start = length = None
    while True:
        if cursor.take_word("from"):
            start = expression(grammar)
        elif cursor.take_word("for"):
            length = expression(grammar)
        else:
            break
    if start is not None or length is not None:
        if start is None:
            raise not_supported("SUBSTRING ... FOR without FROM", position=at + 1)
        arguments.append(start)
        if length is not None:
            arguments.append(length)
    while cursor.take_mark(","):
        arguments.append(expression(grammar))
    return FunctionCall(("substring",), tuple(arguments), at)


def _position(grammar: Grammar, at: int) -> Syntax:
    needle = expression(grammar, OTHER)
    grammar.cursor.expect_word("in")
    return FunctionCall(("position",), (expression(grammar, OTHER), needle), at)


def _overlay(grammar: Grammar, at: int) -> Syntax:
    cursor = grammar.cursor
    arguments = [expression(grammar)]
    if cursor.take_word("placing"):
        arguments.append(expression(grammar))
        cursor.expect_word("from")
        arguments.append(expression(grammar))
        if cursor.take_word("for"):
            arguments.append(expression(grammar))
    while cursor.take_mark(","):
        arguments.append(expression(grammar))
    return FunctionCall(("overlay",), tuple(arguments), at)


def _trim(grammar: Grammar, at: int) -> Syntax:
    cursor = grammar.cursor
    side = cursor.take_word("both", "leading", "trailing") or "both"
    name = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[side]
    if cursor.take_word("from"):
        return FunctionCall((name,), expressions(grammar), at)
    first = expressions(grammar)
    if cursor.take_word("from"):
        return FunctionCall((name,), (*expressions(grammar), *first), at)
    return FunctionCall((name,), first, at)


def _cast(grammar: Grammar, at: int) -> Syntax:
    value = expression(grammar)
    grammar.cursor.expect_word("as")
    return CastTo(value, parse_type(grammar.cursor), at)


def _row(grammar: Grammar, at: int) -> Syntax:
    return RowOf(() if grammar.cursor.mark(")") else expressions(grammar), at)


_SPECIAL: Final[dict[str, Callable[[Grammar, int], Syntax]]] = {
    "extract": _extract,
    "substring": _substring,
    "position": _position,
    "overlay": _overlay,
    "trim": _trim,
    "cast": _cast,
    "row": _row,
}


# Words without a left parenthesis


def case_of(grammar: Grammar) -> Syntax:
    """CASE ... END."""
    cursor = grammar.cursor
    at = cursor.take().start
    operand = None if cursor.word("when") else expression(grammar)
    branches = []
    while cursor.take_word("when"):
        condition = expression(grammar)
        cursor.expect_word("then")
        branches.append((condition, expression(grammar)))
    if not branches:
        raise cursor.expected("WHEN")
    otherwise = expression(grammar) if cursor.take_word("else") else None
    cursor.expect_word("end")
    return CaseOf(operand, tuple(branches), otherwise, at)


def exists_of(grammar: Grammar) -> Syntax:
    """EXISTS (query)."""
    at = grammar.cursor.take().start
    query = grammar.query_in_parentheses()
    if query is None:
        raise grammar.cursor.expected("a query in parentheses")
    return QueryValue("exists", query, at)


def list_of(grammar: Grammar) -> Syntax:
    """ARRAY[...], LIST[...], ARRAY(query)."""
    cursor = grammar.cursor
    token = cursor.take()
    kind: Literal["array", "list"] = "list" if token.value == "list" else "array"
    query = grammar.query_in_parentheses()
    if query is not None:
        if kind == "list":
            raise not_supported("LIST(query)", position=token.start + 1)
        return QueryValue("array", query, token.start)
    return _elements(grammar, kind, token.start)


def _elements(grammar: Grammar, kind: Literal["array", "list"], at: int) -> Syntax:
    cursor = grammar.cursor
    cursor.enter()
    cursor.expect_mark("[")
    elements: list[Syntax] = []
    while not cursor.mark("]"):
        if elements:
            cursor.expect_mark(",")
        inner_at = cursor.token.start
        elements.append(_elements(grammar, kind, inner_at) if cursor.mark("[") else expression(grammar))
    cursor.take()
    cursor.leave()
    return ListOf(kind, tuple(elements), at)


def map_of(grammar: Grammar) -> Syntax:
    """MAP['k' => v, ...]."""
    cursor = grammar.cursor
    at = cursor.take().start
    cursor.expect_mark("[")
    entries: list[tuple[Syntax, Syntax]] = []
    while not cursor.mark("]"):
        if entries:
            cursor.expect_mark(",")
        key = expression(grammar)
        cursor.expect_mark("=>")
        entries.append((key, expression(grammar)))
    cursor.take()
    return MapOf(tuple(entries), at)


def interval_literal(cursor: Cursor) -> Syntax | None:
    """INTERVAL '...' [fields], if that is what stands here."""
    at = cursor.token.start
    digits: tuple[int, ...] = ()
    if cursor.mark("(", ahead=1) and cursor.peek(4).kind == "string":
        cursor.take()
        digits = modifiers(cursor)
    elif cursor.peek().kind == "string":
        cursor.take()
    else:
        return None
    token = cursor.take()
    fields = None
    if not digits:
        fields, digits = interval_fields(cursor)
    name = TypeName(("interval",), digits, at, fields=fields)
    return CastTo(String(token.value, token.start), name, at, literal=True)
