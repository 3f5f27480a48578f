"""Reads FROM: tables, queries, functions, joins, aliases.

Not here: the rest of a query (parse/query.py), which relation a name means (bind/from_clause.py).
"""

from __future__ import annotations

from typing import Literal, Protocol

from headwater.core.errors import not_supported
from headwater.sql.select.parse.expression import Grammar, expression
from headwater.sql.select.parse.function import KEYWORD_FUNCTIONS, call
from headwater.sql.select.parse.syntax import (
    Alias,
    Body,
    CommonTable,
    DerivedTable,
    FromItem,
    FunctionCall,
    FunctionTable,
    JoinedTable,
    QuerySyntax,
    ShownTable,
    TableName,
)
from headwater.sql.select.parse.words import column_name

JoinKind = Literal["inner", "left", "right", "full", "cross"]

_QUERY_WORDS = ("select", "with", "values", "table")
_JOIN_WORDS = ("join", "inner", "left", "right", "full", "cross", "natural")
_AFTER_BODY = ("union", "intersect", "except", "order", "limit", "offset", "fetch")


class QueryGrammar(Grammar, Protocol):
    """What FROM needs of the grammar of queries."""

    def query(self) -> QuerySyntax:
        """A query from its first word."""

    def set_operations(self, level: int, left: Body | None = None) -> Body:
        """Terms joined by UNION, EXCEPT and INTERSECT."""

    def tail(self, body: Body, at: int, with_items: tuple[CommonTable, ...] = ()) -> QuerySyntax:
        """ORDER BY, LIMIT and OFFSET after a body."""


def from_items(grammar: QueryGrammar) -> tuple[FromItem, ...]:
    """What follows FROM."""
    items = [_joined(grammar)]
    while grammar.cursor.take_mark(","):
        items.append(_joined(grammar))
    return tuple(items)


def _joined(grammar: QueryGrammar) -> FromItem:
    return _joins(grammar, _item(grammar))


def _joins(grammar: QueryGrammar, left: FromItem) -> FromItem:
    """Joins follow one another from the left."""
    cursor = grammar.cursor
    height = 0
    while cursor.word(*_JOIN_WORDS):
        height += 1
        cursor.check_height(cursor.depth + height)
        left = _join(grammar, left)
    return left


def _join(grammar: QueryGrammar, left: FromItem) -> FromItem:
    """One join; `a JOIN b JOIN c ON .. ON ..` nests to the right."""
    cursor = grammar.cursor
    cursor.enter()
    at = cursor.token.start
    natural = cursor.take_word("natural") is not None
    kind = _join_kind(grammar)
    right = _item(grammar)
    condition, using = None, None
    if kind != "cross" and not natural:
        right = _joins(grammar, right)
        if cursor.take_word("on"):
            condition = expression(grammar)
        elif cursor.take_word("using"):
            using = cursor.names_in_parentheses()
            if cursor.word("as"):
                raise not_supported("an alias after USING", position=cursor.token.start + 1)
        else:
            raise cursor.expected("ON, or USING after JOIN")
    cursor.leave()
    return JoinedTable(kind, left, right, condition, using, natural, None, at)


def _join_kind(grammar: QueryGrammar) -> JoinKind:
    cursor = grammar.cursor
    word = cursor.take_word("inner", "left", "right", "full", "cross") or "inner"
    if word in ("left", "right", "full"):
        cursor.take_word("outer")
    cursor.expect_word("join")
    return word  # type: ignore[return-value]


def _item(grammar: QueryGrammar) -> FromItem:
    cursor = grammar.cursor
    at = cursor.token.start
    lateral = cursor.take_word("lateral") is not None
    if cursor.mark("("):
        return _parenthesised(grammar, lateral)
    if cursor.words("rows", "from") and cursor.mark("(", ahead=2):
        raise not_supported("ROWS FROM", position=at + 1)
    begin = cursor.token.start
    cursor.take_word("only")
    if cursor.word(*KEYWORD_FUNCTIONS):
        name = cursor.take().value
        function = FunctionCall((name,), (), at, keyword=True)
        return FunctionTable(function, lateral, _ordinality(grammar), _alias(grammar), at)
    at = cursor.token.start
    if cursor.token.kind == "word" and cursor.mark("(", ahead=1):
        parts = [cursor.label()]
    else:
        parts = [cursor.name("a table name, a function or a subquery")]
    while cursor.take_mark("."):
        parts.append(cursor.label())
    end = cursor.tokens[cursor.index - 1].end
    if cursor.mark("("):
        value = call(grammar, tuple(parts), at)
        return FunctionTable(value, lateral, _ordinality(grammar), _alias(grammar), at)
    if cursor.mark("*"):
        end = cursor.take().end
    alias = _alias(grammar)
    if cursor.word("tablesample"):
        raise not_supported("TABLESAMPLE", position=cursor.token.start + 1)
    return TableName(tuple(parts), alias, at, end, begin)


def _ordinality(grammar: QueryGrammar) -> bool:
    return grammar.cursor.take_words("with", "ordinality")


def _parenthesised(grammar: QueryGrammar, lateral: bool) -> FromItem:
    """`(query) alias` or `(a JOIN b)`."""
    cursor = grammar.cursor
    cursor.enter()
    at = cursor.token.start
    if (
        cursor.word("show", ahead=1)
        and cursor.peek(2).kind == "word"
        and not cursor.word(*_JOIN_WORDS, ahead=2)
    ):
        shown = _shown(grammar)
        cursor.leave()
        return ShownTable(shown, _alias(grammar), at + 1)
    inner = _query_or_join(grammar)
    cursor.leave()
    alias = _alias(grammar)
    if isinstance(inner, QuerySyntax):
        return DerivedTable(inner, lateral, alias, at)
    if alias is None:
        return inner
    if isinstance(inner, JoinedTable):
        return JoinedTable(
            inner.kind, inner.left, inner.right, inner.condition, inner.using, inner.natural, alias, at
        )
    raise cursor.expected("a join between the parentheses")


def _shown(grammar: QueryGrammar) -> str:
    """The text of a SHOW statement between parentheses."""
    cursor = grammar.cursor
    start = cursor.expect_mark("(").end
    depth = 0
    while depth or not cursor.mark(")"):
        if cursor.token.kind == "end":
            raise cursor.expected("right parenthesis")
        depth += cursor.mark("(") - cursor.mark(")")
        cursor.take()
    return cursor.text[start : cursor.expect_mark(")").start]


def _query_or_join(grammar: QueryGrammar) -> QuerySyntax | FromItem:
    """Between parentheses: a query, or joined items; both may begin with another parenthesis."""
    cursor = grammar.cursor
    at = cursor.expect_mark("(").start
    inner: QuerySyntax | FromItem
    if cursor.word(*_QUERY_WORDS):
        inner = grammar.query()
    elif cursor.mark("("):
        cursor.enter()
        inner = _query_or_join(grammar)
        cursor.leave()
        if isinstance(inner, QuerySyntax) and cursor.word(*_AFTER_BODY):
            body = grammar.set_operations(1, inner)
            inner = grammar.tail(grammar.set_operations(0, body), at)
        elif not cursor.mark(")"):
            alias = _alias(grammar)
            left: FromItem = (
                DerivedTable(inner, False, alias, at) if isinstance(inner, QuerySyntax) else inner
            )
            inner = _joins(grammar, left)
    else:
        inner = _joined(grammar)
    cursor.expect_mark(")")
    return inner


def _alias(grammar: QueryGrammar) -> Alias | None:
    cursor = grammar.cursor
    token = cursor.token
    if cursor.take_word("as"):
        if cursor.mark("("):
            raise not_supported("a column definition list", position=cursor.token.start + 1)
        name = cursor.name()
    elif token.kind == "word" and token.value == "options" and cursor.mark("(", ahead=1):
        return None  # OPTIONS (...) belongs to the SELECT
    elif token.kind == "quoted" or (token.kind == "word" and column_name(token.value)):
        name = cursor.take().value
    else:
        return None
    at, end = cursor.tokens[cursor.index - 1].start, cursor.tokens[cursor.index - 1].end
    if not cursor.mark("("):
        return Alias(name, (), at, end)
    cursor.take()
    columns = [cursor.name()]
    while True:
        if not (cursor.mark(",") or cursor.mark(")")):
            raise not_supported("a column definition list", position=cursor.token.start + 1)
        if not cursor.take_mark(","):
            break
        columns.append(cursor.name())
    cursor.expect_mark(")")
    return Alias(name, tuple(columns), at, end)
