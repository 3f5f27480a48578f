"""A cursor over the tokens of one statement: what every statement file parses with.

`accept_*` takes something if it is there and says whether it was; `expect_*` and
the methods named after what they read (`identifier`, `name`, `string`) fail with
`Expected <what>, found <token>` and the token's position.

    if cursor.accept("IF", "NOT", "EXISTS"): ...
    name = cursor.name()
    cursor.expect("FROM")

Expressions and queries are not parsed here.  `span` takes them as text, up to
the next clause outside of parentheses, and whoever understands them (sql/select)
gets the text with its place.

Not here: the shapes that several statements share (parts.py), types (type_names.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar

from headwater.core import pace
from headwater.core.errors import UserError, syntax_error
from headwater.core.quoting import literal, quoted
from headwater.sql.lexer import Token, symbol_name
from headwater.sql.statement import Statement
from headwater.sql.words import QUOTED, RESERVED, Branch

T = TypeVar("T")

NAME_PARTS_MAX: Final = 3
INTEGER_DIGITS_MAX: Final = 19


@dataclass(frozen=True, slots=True)
class SqlText:
    """An expression or query as it was written.

    `offset` counts characters before it in the statement's own text; it is not part
    of the value, so that a rendered statement equals the one it was rendered from.
    """

    text: str
    offset: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Name:
    """A name of one to three parts, the object's own name last.

    `position` is where it stands in the statement's text, from 1; 0 when nobody wrote it.
    """

    parts: tuple[str, ...]
    position: int = field(default=0, compare=False)

    @property
    def item(self) -> str:
        """The last part."""
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(quote_identifier(part) for part in self.parts)


_PLAIN_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz_")
_PLAIN: Final = _PLAIN_LETTERS | frozenset("0123456789$")


def quote_identifier(name: str) -> str:
    """A name as it must be written to be read back: quoted if it is not a plain word."""
    plain = name[:1] in _PLAIN_LETTERS and all(character in _PLAIN for character in name)
    if plain and name and name.upper() not in QUOTED:
        return name
    return quoted(name)


def quote_string(text: str) -> str:
    """A string literal."""
    return literal(text)


class Cursor:
    """A place in the tokens of one statement; the last token is its end."""

    __slots__ = ("_index", "_parse_nested", "_text", "_tokens", "base")

    def __init__(
        self,
        text: str,
        tokens: list[Token],
        base: int = 0,
        parse_nested: Callable[[Cursor], Statement] | None = None,
    ) -> None:
        self._text = text
        self._tokens = tokens
        self._index = 0
        self.base = base  # characters in `text` before this statement
        self._parse_nested = parse_nested

    # Looking

    def peek(self, ahead: int = 0) -> Token:
        """A token not taken yet; beyond the end it is the end."""
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether these keywords (or symbols) come next."""
        for ahead, word in enumerate(words):
            token = self.peek(ahead)
            if token.keyword != word and not (token.kind == "symbol" and token.value == word):
                return False
        return True

    def at_symbol(self, symbol: str, ahead: int = 0) -> bool:
        """Whether this symbol comes next."""
        token = self.peek(ahead)
        return token.kind == "symbol" and token.value == symbol

    def at_end(self) -> bool:
        """Whether all tokens are taken."""
        return self.peek().kind == "end"

    def at_identifier(self, ahead: int = 0) -> bool:
        """Whether a name comes next."""
        token = self.peek(ahead)
        return token.kind == "quoted" or (token.kind == "word" and token.keyword not in RESERVED)

    def position(self) -> int:
        """Where the next token stands in the statement's own text, from 1."""
        return self.peek().start - self.base + 1

    def error_position(self) -> int:
        """Where it stands in the text the client sent, which is what errors say."""
        return self.peek().start + 1

    # Failing

    def error(self, *expected: str, ahead: int = 0) -> UserError:
        """`Expected one of A or B, found X` at a token."""
        wanted = expected[0] if len(expected) == 1 else f"one of {' or '.join(expected)}"
        return self.refusal(f"Expected {wanted}, found {self.peek(ahead)}", "42601", ahead=ahead)

    def refusal(
        self, message: str, sqlstate: str, detail: str | None = None, hint: str | None = None, ahead: int = 0
    ) -> UserError:
        """Any other error that is about the next token."""
        return UserError(message, sqlstate, detail, hint, position=self.peek(ahead).start + 1)

    # Taking

    def take(self) -> Token:
        """The next token, whatever it is."""
        token = self.peek()
        if token.kind != "end":
            self._index += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take these keywords if all of them come next."""
        if not self.at(*words):
            return False
        self._index += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Take one of these keywords, if one comes next."""
        keyword = self.peek().keyword
        if keyword not in words:
            return None
        self._index += 1
        return keyword

    def accept_symbol(self, symbol: str) -> bool:
        """Take a symbol if it comes next."""
        if not self.at_symbol(symbol):
            return False
        self._index += 1
        return True

    def expect(self, *words: str) -> None:
        """Take these keywords."""
        for word in words:
            if not self.accept(word):
                raise self.error(word)

    def expect_any(self, *words: str) -> str:
        """Take one of these keywords."""
        keyword = self.accept_any(*words)
        if keyword is None:
            raise self.error(*words)
        return keyword

    def expect_symbol(self, symbol: str) -> None:
        """Take a symbol."""
        if not self.accept_symbol(symbol):
            raise self.error(symbol_name(symbol))

    def expect_end(self) -> None:
        """Nothing may follow."""
        if not self.at_end():
            raise self.error("end of statement")

    def choose(self, branch: Branch[T]) -> T:
        """Take a phrase of keywords from a tree of them."""
        while True:
            child = branch.children.get(self.peek().keyword)
            if child is None:
                break
            self._index += 1
            branch = child
        if branch.leaf is None:
            raise self.error(*branch.expected())
        return branch.leaf

    # Reading values

    def identifier(self) -> str:
        """One name."""
        if not self.at_identifier():
            raise self.error("identifier")
        return self.take().value

    def name(self, parts_max: int = NAME_PARTS_MAX) -> Name:
        """A name of up to `parts_max` parts; after a dot every word is a name."""
        position = self.position()
        parts = [self.identifier()]
        while self.at_symbol("."):
            if len(parts) == parts_max:
                raise self.error("end of name" if parts_max > 1 else "an unqualified name")
            self._index += 1
            if self.peek().kind not in ("word", "quoted"):
                raise self.error("identifier")
            parts.append(self.take().value)
        return Name(tuple(parts), position)

    def string(self) -> str:
        """A string literal."""
        if self.peek().kind != "string":
            raise self.error("literal string")
        return self.take().value

    def string_or_identifier(self) -> str:
        """A string; a bare name is as good."""
        return self.string() if self.peek().kind == "string" else self._identifier_as_string()

    def _identifier_as_string(self) -> str:
        if not self.at_identifier():
            raise self.error("string")
        return self.take().value

    def integer(self, negative: bool = False) -> int:
        """A whole number; with `negative` it may have a sign."""
        sign = -1 if negative and self.accept_symbol("-") else 1
        token = self.peek()
        if token.kind != "number" or not token.value.isdecimal():
            raise self.error("literal integer")
        if len(token.value) > INTEGER_DIGITS_MAX or int(token.value) >= 2**63:
            raise self.refusal(f'"{token.value[:40]}" is out of range for type bigint', "22003")
        return sign * int(self.take().value)

    def parenthesized(self, item: Callable[[], T]) -> tuple[T, ...]:
        """`(item, ...)`, at least one."""
        self.expect_symbol("(")
        items = self.separated(item)
        self.expect_symbol(")")
        return items

    def separated(self, item: Callable[[], T]) -> tuple[T, ...]:
        """`item, ...`, at least one."""
        items = [item()]
        while self.accept_symbol(","):
            items.append(item())
        return tuple(items)

    def nested(self, *first_words: str) -> Statement:
        """A statement inside of this one, beginning with one of these words (or a parenthesis)."""
        if self.peek().keyword not in first_words and not self.at_symbol("("):
            raise self.error(*first_words)
        if self._parse_nested is None:
            raise syntax_error("a statement cannot stand here", self.error_position())
        return self._parse_nested(self)

    # Reading text that others parse

    def span(self, *stops: str, comma: bool = False, what: str = "an expression") -> SqlText:
        """Text up to the next of the `stops` (phrases of keywords) outside of parentheses.

        It also ends at a parenthesis that closes an outer one, with `comma` at a comma,
        and at the end of the statement.
        """
        phrases = _phrases(stops)
        first = self._index
        closing: list[str] = []
        tokens = self._tokens
        while True:
            token = tokens[self._index]
            if token.kind == "end":
                if closing:
                    raise self.error(symbol_name(closing[-1]))
                break
            if token.kind == "symbol":
                if token.value in _CLOSING:
                    closing.append(_CLOSING[token.value])
                elif token.value in ")]":
                    if not closing:
                        break
                    if closing.pop() != token.value:
                        raise self.error(
                            "right parenthesis" if token.value == "]" else "right square bracket"
                        )
                elif token.value == "," and comma and not closing:
                    break
            elif token.kind == "word" and not closing and self._at_stop(phrases, self._index == first):
                break
            if self._index % 16 == 0:
                pace.step()
            self._index += 1
        if self._index == first:
            raise self.error(what)
        return self._text_between(self._tokens[first].start, self._tokens[self._index - 1].end)

    def query(self, *stops: str) -> SqlText:
        """The text of a query: SELECT, VALUES, WITH, TABLE, or one of them in parentheses."""
        ahead = 0
        while self.at_symbol("(", ahead):
            ahead += 1
        if self.peek(ahead).keyword not in QUERY_WORDS:
            raise self.error(*QUERY_WORDS, ahead=ahead)
        return self.span(*stops)

    def text_since(self, index_start: int) -> SqlText:
        """The text of the tokens taken since `mark`."""
        return self._text_between(self._tokens[index_start].start, self._tokens[self._index - 1].end)

    def mark(self) -> int:
        """The place of the next token, for `text_since`."""
        return self._index

    def _text_between(self, start: int, end: int) -> SqlText:
        return SqlText(self._text[start:end], start - self.base)

    def _at_stop(self, phrases: dict[str, tuple[tuple[str, ...], ...]], first: bool) -> bool:
        keyword = self.peek().keyword
        candidates = phrases.get(keyword)
        if candidates is None:
            return False
        if first:  # NULL and NOT may also begin an expression, a clause's own word may not
            return keyword in RESERVED and keyword not in ("NULL", "NOT")
        # In `t.returning`, `a AS returning`, `IS NOT NULL` and `IS DISTINCT FROM` no clause begins.
        before = self._tokens[self._index - 1]
        if before.keyword in ("AS", "IS", "NOT", "DISTINCT") or (
            before.kind == "symbol" and before.value == "."
        ):
            return False
        return any(self.at(*phrase) and not self._at_alias(phrase) for phrase in candidates)

    def _at_alias(self, phrase: tuple[str, ...]) -> bool:
        """Whether `AS OF` only names a column `of`, which is seen by what follows."""
        if phrase != ("AS", "OF"):
            return False
        after = self.peek(2)
        return after.kind == "end" or after.value in (",", ")") or after.keyword in _AFTER_ALIAS


QUERY_WORDS: Final = ("SELECT", "VALUES", "WITH", "TABLE")
_CLOSING: Final = {"(": ")", "[": "]"}
# What may follow an alias and cannot begin an expression.
_AFTER_ALIAS: Final = frozenset(
    (
        *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR"),
        *("UNION", "EXCEPT", "INTERSECT", "ON", "JOIN", "INNER", "FULL", "CROSS", "NATURAL"),
    )
)


@lru_cache(maxsize=256)
def _phrases(stops: tuple[str, ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Phrases by their first word."""
    by_first: dict[str, tuple[tuple[str, ...], ...]] = {}
    for stop in stops:
        words = tuple(stop.split())
        by_first[words[0]] = (*by_first.get(words[0], ()), words)
    return by_first
