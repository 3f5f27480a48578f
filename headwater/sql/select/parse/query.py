"""Reads a query: WITH, SELECT, VALUES, TABLE, set operations, ORDER BY, LIMIT.

Not here: FROM (parse/from_clause.py), expressions (parse/expression.py), meaning (bind/).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from headwater.core.errors import UserError, not_supported, syntax_error
from headwater.core.limits import PARAMETERS_MAX
from headwater.sql.select.parse import function as functions
from headwater.sql.select.parse.cursor import Cursor
from headwater.sql.select.parse.expression import Grammar, expression
from headwater.sql.select.parse.from_clause import from_items
from headwater.sql.select.parse.syntax import (
    Body,
    CastTo,
    CommonTable,
    FunctionCall,
    GroupingSets,
    GroupItem,
    Name,
    Number,
    Positional,
    QuerySyntax,
    QueryValue,
    RowOf,
    SelectBody,
    SelectItem,
    SetBody,
    Star,
    String,
    Syntax,
    TableName,
    ValuesBody,
    WindowSpec,
    Word,
)
from headwater.sql.select.parse.type_name import LITERAL_STARTS, parse_type
from headwater.sql.select.parse.words import FUNCTION_OR_TYPE, NOT_BARE_LABEL, RESERVED

_DIGITS_SHOWN_MAX: Final = 20
_QUERY_WORDS: Final = ("select", "with", "values", "table")
_AFTER_BODY: Final = ("union", "intersect", "except", "order", "limit", "offset", "fetch", "for")
_STARTS: Final[dict[str, Callable[[Grammar], Syntax]]] = {
    "case": functions.case_of,
    "exists": functions.exists_of,
    "array": functions.list_of,
}


@lru_cache(maxsize=1)  # INSERT asks for the width of long lists of values, and then for all of it
def parse_query(text: str) -> QuerySyntax:
    """The query that a text is; an end mark may follow it."""
    parser = Parser(text)
    query = parser.query()
    parser.finish()
    return query


def parse_scalar(text: str) -> Syntax:
    """The expression that a text is."""
    parser = Parser(text)
    value = expression(parser)
    parser.finish()
    return value


class Parser:
    """The grammar of queries over one cursor."""

    def __init__(self, text: str) -> None:
        self.cursor = Cursor(text)

    def finish(self) -> None:
        while self.cursor.take_mark(";"):
            pass
        if self.cursor.token.kind != "end":
            raise self.cursor.expected("end of statement")

    # Queries

    def query(self) -> QuerySyntax:
        cursor = self.cursor
        cursor.enter()
        at = cursor.token.start
        with_items = self._with() if cursor.word("with") else ()
        query = self.tail(self.set_operations(0), at, with_items)
        cursor.leave()
        return query

    def query_in_parentheses(self) -> QuerySyntax | None:
        """The query behind `(` if there is one here; several parentheses are seen through."""
        cursor = self.cursor
        ahead = 0
        while cursor.mark("(", ahead=ahead):
            ahead += 1
        if ahead == 0 or not cursor.word(*_QUERY_WORDS, ahead=ahead):
            return None
        start = cursor.index
        value = self._parenthesised()
        if isinstance(value, QueryValue):
            return value.query
        cursor.index = start
        return None

    def _with(self) -> tuple[CommonTable, ...]:
        cursor = self.cursor
        cursor.expect_word("with")
        if cursor.words("mutually", "recursive"):
            raise not_supported("WITH MUTUALLY RECURSIVE", position=cursor.token.start + 1)
        recursive = cursor.take_word("recursive") is not None
        items = [self._common_table(recursive)]
        while cursor.take_mark(","):
            items.append(self._common_table(recursive))
        return tuple(items)

    def _common_table(self, recursive: bool) -> CommonTable:
        cursor = self.cursor
        at = cursor.token.start
        name = cursor.name()
        columns = cursor.names_in_parentheses() if cursor.mark("(") else ()
        cursor.expect_word("as")
        cursor.take_word("not")
        cursor.take_word("materialized")
        cursor.expect_mark("(")
        query = self.query()
        cursor.expect_mark(")")
        if recursive and cursor.word("search", "cycle"):
            raise not_supported(f"{cursor.token.value.upper()} in WITH RECURSIVE", position=at + 1)
        return CommonTable(name, columns, query, at, recursive)

    def set_operations(self, level: int, left: Body | None = None) -> Body:
        """UNION and EXCEPT bind alike (level 0), INTERSECT more tightly (level 1)."""
        cursor = self.cursor
        if left is None:
            left = self.set_operations(1) if level == 0 else self._term()
        words = ("union", "except") if level == 0 else ("intersect",)
        height = 0
        while cursor.word(*words):
            height += 1
            cursor.check_height(cursor.depth + height)
            token = cursor.take()
            all_rows = cursor.take_word("all", "distinct") == "all"
            right = self.set_operations(1) if level == 0 else self._term()
            left = SetBody(token.value, all_rows, left, right, token.start)  # type: ignore[arg-type]
        return left

    def _term(self) -> Body:
        cursor = self.cursor
        if cursor.mark("("):
            cursor.take()
            query = self.query()
            cursor.expect_mark(")")
            return query
        if cursor.word("select"):
            return self._select()
        if cursor.word("values"):
            return self._values()
        if cursor.word("table"):
            at = cursor.take().start
            return _whole_table(self._table_name(at), at)
        raise cursor.expected("SELECT, VALUES, or a subquery in the query body")

    def tail(self, body: Body, at: int, with_items: tuple[CommonTable, ...] = ()) -> QuerySyntax:
        cursor = self.cursor
        order = functions.order_by(self)
        limit = offset = None
        seen: set[str] = set()
        while cursor.word("limit", "offset", "fetch"):
            clause = "OFFSET" if cursor.word("offset") else "LIMIT"
            if clause in seen:
                raise syntax_error(f"multiple {clause} clauses not allowed", cursor.token.start + 1)
            seen.add(clause)
            if cursor.word("fetch"):
                limit = self._fetch()
            elif cursor.take_word("limit"):
                limit = None if cursor.take_word("all") else expression(self)
            else:
                cursor.take()
                offset = expression(self)
                cursor.take_word("row", "rows")
        if cursor.word("for"):
            raise not_supported("FOR UPDATE and FOR SHARE", position=cursor.token.start + 1)
        return QuerySyntax(with_items, body, order, limit, offset, at)

    def _fetch(self) -> Syntax:
        cursor = self.cursor
        at = cursor.take().start
        if cursor.take_word("first", "next") is None:
            raise cursor.expected("FIRST or NEXT")
        count: Syntax = Number("1", at) if cursor.word("row", "rows") else expression(self)
        if cursor.take_word("row", "rows") is None:
            raise cursor.expected("ROW or ROWS")
        if cursor.take_words("with", "ties"):
            raise not_supported("FETCH ... WITH TIES", position=at + 1)
        cursor.expect_word("only")
        return count

    # SELECT and VALUES

    def _select(self) -> SelectBody:
        cursor = self.cursor
        at = cursor.take().start
        distinct = False
        distinct_on: tuple[Syntax, ...] = ()
        if cursor.take_word("distinct"):
            distinct = True
            if cursor.take_word("on"):
                cursor.expect_mark("(")
                distinct_on = functions.expressions(self)
                cursor.expect_mark(")")
        else:
            cursor.take_word("all")
        items = self._select_items()
        if cursor.word("into"):
            raise not_supported("SELECT INTO", position=cursor.token.start + 1)
        sources = from_items(self) if cursor.take_word("from") else ()
        where = expression(self) if cursor.take_word("where") else None
        group_by: tuple[GroupItem, ...] = ()
        groups_distinct = False
        if cursor.take_words("group", "by"):
            groups_distinct = cursor.take_word("all", "distinct") == "distinct"
            group_by = self._group_items()
        having = expression(self) if cursor.take_word("having") else None
        self._options()
        windows = []
        if cursor.take_word("window"):
            windows.append(self._named_window())
            while cursor.take_mark(","):
                windows.append(self._named_window())
        return SelectBody(
            items,
            sources,
            where,
            group_by,
            having,
            tuple(windows),
            distinct,
            distinct_on,
            at,
            groups_distinct,
        )

    def _named_window(self) -> tuple[str, WindowSpec]:
        name = self.cursor.name()
        self.cursor.expect_word("as")
        return name, functions.window_spec(self)

    def _select_items(self) -> tuple[SelectItem, ...]:
        cursor = self.cursor
        if cursor.word("from", "where", "union") or cursor.mark(")") or cursor.token.kind == "end":
            return ()
        items = [self._select_item()]
        while cursor.take_mark(","):
            items.append(self._select_item())
        return tuple(items)

    def _select_item(self) -> SelectItem:
        cursor = self.cursor
        at = cursor.token.start
        value = expression(self)
        if cursor.take_word("as"):
            return SelectItem(value, cursor.label(), at)
        token = cursor.token
        if token.kind == "quoted" or (token.kind == "word" and token.value not in NOT_BARE_LABEL):
            return SelectItem(value, cursor.take().value, at)
        return SelectItem(value, None, at)

    def _group_items(self) -> tuple[GroupItem, ...]:
        items = [self._group_item()]
        while self.cursor.take_mark(","):
            items.append(self._group_item())
        return tuple(items)

    def _group_item(self) -> GroupItem:
        cursor = self.cursor
        at = cursor.token.start
        if cursor.mark("(") and cursor.mark(")", ahead=1):
            cursor.take()
            cursor.take()
            return RowOf((), at)
        kind: Literal["rollup", "cube", "sets"]
        if cursor.take_words("grouping", "sets"):
            kind = "sets"
        elif cursor.word("rollup", "cube") and cursor.mark("(", ahead=1):
            kind = "rollup" if cursor.take_word("rollup") else "cube"
            cursor.take_word("cube")
        else:
            return expression(self)
        cursor.enter()
        cursor.expect_mark("(")
        items = self._group_items()
        cursor.expect_mark(")")
        cursor.leave()
        return GroupingSets(kind, items, at)

    def _options(self) -> None:
        """`OPTIONS (LIMIT INPUT GROUP SIZE = 10)`: advice that we do not need."""
        cursor = self.cursor
        if cursor.word("options") and cursor.mark("(", ahead=1):
            while not cursor.mark(")") and cursor.token.kind != "end":
                cursor.take()
            cursor.expect_mark(")")

    def _values(self) -> ValuesBody:
        cursor = self.cursor
        at = cursor.take().start
        rows = []
        while True:
            cursor.expect_mark("(")
            rows.append(functions.expressions(self))
            cursor.expect_mark(")")
            if not cursor.take_mark(","):
                break
        if any(len(row) != len(rows[0]) for row in rows):
            raise syntax_error("VALUES lists must all be the same length", at + 1)
        return ValuesBody(tuple(rows), at)

    def _table_name(self, begin: int) -> TableName:
        cursor = self.cursor
        at = cursor.token.start
        parts = [cursor.name()]
        while cursor.take_mark("."):
            parts.append(cursor.label())
        return TableName(tuple(parts), None, at, cursor.tokens[cursor.index - 1].end, begin, whole=True)

    # Primary expressions

    def primary(self) -> Syntax:
        cursor = self.cursor
        token = cursor.token
        match token.kind:
            case "number":
                cursor.take()
                return Number(token.value, token.start)
            case "string":
                cursor.take()
                return String(token.value, token.start)
            case "hex":
                raise not_supported("bit strings", position=token.start + 1)
            case "parameter":
                cursor.take()
                return Positional(_parameter_number(token.value[1:], token.start), token.start)
            case "symbol" if token.value == "*":
                cursor.take()
                return Star((), token.start)
            case "symbol" if token.value == "(":
                return self._parenthesised()
            case "word":
                return self._word()
            case "quoted":
                return self._name()
        raise cursor.expected("an expression")

    def _word(self) -> Syntax:
        cursor = self.cursor
        token = cursor.token
        word = token.value
        if word in ("null", "true", "false", "default"):
            cursor.take()
            return Word(word, token.start)  # type: ignore[arg-type]
        if word in ("list", "map") and cursor.mark("[", ahead=1):
            return functions.list_of(self) if word == "list" else functions.map_of(self)
        if word in _STARTS and (word != "exists" or cursor.mark("(", ahead=1)):
            return _STARTS[word](self)
        if word in functions.KEYWORD_FUNCTIONS:
            return self._keyword_function()
        if word == "interval":
            literal = functions.interval_literal(cursor)
            if literal is not None:
                return literal
        if word in LITERAL_STARTS:
            literal = self._typed_literal()
            if literal is not None:
                return literal
        if (word in RESERVED and word != "cast") or (
            word in FUNCTION_OR_TYPE and not cursor.mark("(", ahead=1)
        ):
            raise cursor.expected("an expression")
        return self._name()

    def _keyword_function(self) -> Syntax:
        cursor = self.cursor
        token = cursor.take()
        arguments: tuple[Syntax, ...] = ()
        if cursor.mark("(") and (
            cursor.mark(")", ahead=1) or token.value.startswith(("current_t", "localt"))
        ):
            cursor.take()
            arguments = () if cursor.mark(")") else functions.expressions(self)
            cursor.expect_mark(")")
        return FunctionCall((token.value,), arguments, token.start, keyword=True)

    def _typed_literal(self) -> Syntax | None:
        """`double precision '1'`, `numeric(10,2) '1.5'`: a type, then a string."""
        cursor = self.cursor
        start = cursor.index
        at = cursor.token.start
        following = cursor.peek()
        if following.kind not in ("string", "word") and not cursor.mark("(", ahead=1):
            return None
        if cursor.mark("(", ahead=1) and cursor.peek(2).kind != "number":
            return None
        type_name = parse_type(cursor)
        token = cursor.token
        if token.kind == "string":
            cursor.take()
            return CastTo(String(token.value, token.start), type_name, at, literal=True)
        cursor.index = start
        return None

    def _name(self) -> Syntax:
        """A column, `t.*`, a call, or a literal of a named type."""
        cursor = self.cursor
        at = cursor.token.start
        start = cursor.index
        parts = [cursor.take().value]
        while cursor.mark("."):
            cursor.take()
            if cursor.take_mark("*"):
                return Star(tuple(parts), at)
            parts.append(cursor.label())
        if cursor.mark("("):
            return functions.call(self, tuple(parts), at)
        if cursor.token.kind == "string":
            cursor.index = start
            type_name = parse_type(cursor)
            token = cursor.take()
            return CastTo(String(token.value, token.start), type_name, at, literal=True)
        return Name(tuple(parts), at)

    def _parenthesised(self) -> Syntax:
        """`(query)`, `(expression)` or `(a, b)`; the cursor is at the left parenthesis."""
        cursor = self.cursor
        cursor.enter()
        at = cursor.expect_mark("(").start
        if cursor.word(*_QUERY_WORDS):
            value: Syntax = QueryValue("scalar", self.query(), at)
        elif cursor.mark("("):
            value = self._after_inner(self._parenthesised(), at)
        else:
            value = expression(self)
        if cursor.mark(","):
            fields = [value]
            while cursor.take_mark(","):
                fields.append(expression(self))
            value = RowOf(tuple(fields), at)
        cursor.expect_mark(")")
        cursor.leave()
        return value

    def _after_inner(self, inner: Syntax, at: int) -> Syntax:
        """What began with two parentheses: a larger query, or an expression."""
        scalar: Literal["scalar"] = "scalar"
        if isinstance(inner, QueryValue) and inner.kind == scalar and self.cursor.word(*_AFTER_BODY):
            body = self.set_operations(1, inner.query)
            return QueryValue(scalar, self.tail(self.set_operations(0, body), at), at)
        return expression(self, left=inner)


def _whole_table(table: TableName, at: int) -> SelectBody:
    return SelectBody((SelectItem(Star((), at), None, at),), (table,), None, (), None, (), False, (), at)


def _parameter_number(digits: str, at: int) -> int:
    """A statement has a type for each parameter up to the largest that it names."""
    number = int(digits) if len(digits) <= len(str(PARAMETERS_MAX)) else PARAMETERS_MAX + 1
    if number > PARAMETERS_MAX:
        raise UserError(f"there is no parameter ${digits[:_DIGITS_SHOWN_MAX]}", "42P02", position=at + 1)
    return number
