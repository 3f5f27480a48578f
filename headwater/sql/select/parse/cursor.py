"""A place in the tokens of a query, with the few moves that every parser makes.

Not here: the tokens (sql/lexer.py), any grammar (parse/).
"""

from __future__ import annotations

from typing import Final

from headwater.core import pace
from headwater.core.errors import UserError, syntax_error
from headwater.core.limits import EXPRESSION_DEPTH_MAX
from headwater.sql.lexer import Token, name_shown, symbol_name, tokenize
from headwater.sql.select.parse.words import RESERVED, column_name

_AFTER_ITEM: Final = (",", ")")


class Cursor:
    """Reads tokens one by one; counts how deep the grammar is nested."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def take_literal(self) -> Token | None:
        """Step over a number or string that is all of an expression in a list, or nothing."""
        token = self.tokens[self.index]
        if token.kind != "number" and token.kind != "string":
            return None
        after = self.tokens[self.index + 1]
        if after.kind != "symbol" or after.value not in _AFTER_ITEM:
            return None
        self.index += 1
        return token

    # Words

    def word(self, *words: str, ahead: int = 0) -> bool:
        """Whether the token is one of these words, written without quotes."""
        token = self.peek(ahead) if ahead else self.token
        return token.kind == "word" and token.value in words

    def words(self, *words: str) -> bool:
        """Whether these words follow one another here."""
        return all(self.word(word, ahead=ahead) for ahead, word in enumerate(words))

    def take_word(self, *words: str) -> str | None:
        """Step over one of these words if it is here."""
        return self.take().value if self.word(*words) else None

    def take_words(self, *words: str) -> bool:
        """Step over all of these words if they follow here."""
        if not self.words(*words):
            return False
        self.index += len(words)
        return True

    def expect_word(self, word: str) -> Token:
        if not self.word(word):
            raise self.expected(word.upper())
        return self.take()

    # Marks and operators

    def mark(self, value: str, ahead: int = 0) -> bool:
        token = self.peek(ahead) if ahead else self.token
        return token.kind == "symbol" and token.value == value

    def take_mark(self, value: str) -> bool:
        if not self.mark(value):
            return False
        self.take()
        return True

    def expect_mark(self, value: str) -> Token:
        if not self.mark(value):
            raise self.expected(symbol_name(value))
        return self.take()

    # Names

    def name(self, what: str = "identifier") -> str:
        """A name of a column or table."""
        token = self.token
        if token.kind == "quoted" or (token.kind == "word" and column_name(token.value)):
            return self.take().value
        raise self.expected(what)

    def label(self, what: str = "identifier") -> str:
        """A name after AS or a dot, where every word will do."""
        if self.token.kind in ("quoted", "word"):
            return self.take().value
        raise self.expected(what)

    def names_in_parentheses(self) -> tuple[str, ...]:
        self.expect_mark("(")
        names = [self.name()]
        while self.take_mark(","):
            names.append(self.name())
        self.expect_mark(")")
        return tuple(names)

    # Errors and depth

    def expected(self, what: str) -> UserError:
        """`Expected what, found token`."""
        token = self.token
        shown = str(token)
        if token.kind == "word":  # here only reserved words are more than names
            shown = token.keyword if token.value in RESERVED else name_shown(token.value)
        return syntax_error(f"Expected {what}, found {shown}", token.start + 1)

    def enter(self) -> None:
        """One level deeper; `leave` goes back."""
        pace.step()
        self.depth += 1
        self.check_height(self.depth)

    def leave(self) -> None:
        self.depth -= 1

    def check_height(self, height: int) -> None:
        """Refuse what later steps could not walk."""
        if height > EXPRESSION_DEPTH_MAX:
            raise UserError(
                "statement is nested too deeply",
                "54001",
                detail=f"At most {EXPRESSION_DEPTH_MAX} levels are allowed.",
                position=self.token.start + 1,
            )
