"""Text to statements.

    parse_statements(text)   all statements of a text, each with its own text
    parse_statement(text)    exactly one
    parse_show(text)         exactly one SHOW, for its use as a relation
    render(statement)        canonical SQL; parsing it gives an equal statement

A statement is found by its first words in one tree of all phrases, and parsed by its
own file.  Errors are `UserError`s whatever the text is, and their position is one
in the text that was given; the places inside a statement (`SqlText.offset`,
`Name.position`) are places in the statement's own text, which begins at its first word.

Not here: what the statements are (statements/), expressions and queries (select/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError, syntax_error
from headwater.core.limits import STATEMENT_BYTES_MAX
from headwater.sql.cursor import Cursor
from headwater.sql.lexer import Token, tokenize
from headwater.sql.refused import REFUSED
from headwater.sql.statement import Statement
from headwater.sql.statements import STATEMENT_FILES
from headwater.sql.statements.show_columns import ShowColumns
from headwater.sql.statements.show_create import ShowCreate
from headwater.sql.statements.show_objects import ShowObjects
from headwater.sql.statements.show_privileges import ShowPrivileges
from headwater.sql.statements.show_variable import ShowVariable
from headwater.sql.words import ANYTHING, NAME, Branch, tree

Show = ShowColumns | ShowCreate | ShowObjects | ShowPrivileges | ShowVariable
"""The statements that can be relations: `SELECT * FROM (SHOW TABLES)`."""

_Parse = Callable[[Cursor], Statement]


@dataclass(frozen=True, slots=True)
class Parsed:
    """One statement of a text."""

    statement: Statement
    text: str  # from its first word to its last
    offset: int  # characters before it in the text it came from


def parse_statements(text: str) -> tuple[Parsed, ...]:
    """All statements of a text, without the empty ones between semicolons."""
    # A character has at most four bytes, so only long texts need to be measured.
    if len(text) * 4 > STATEMENT_BYTES_MAX:
        length_bytes = len(text.encode("utf-8", "surrogatepass"))
        if length_bytes > STATEMENT_BYTES_MAX:
            message = f"statement of {length_bytes} bytes is longer than {STATEMENT_BYTES_MAX} bytes"
            raise UserError(message, "54000", position=1)
    parsed = []
    tokens: list[Token] = []
    for token in tokenize(text):
        if token.kind != "end" and not (token.kind == "symbol" and token.value == ";"):
            tokens.append(token)
        elif tokens:
            end = tokens[-1].end
            offset = tokens[0].start
            name = "EOF" if token.kind == "end" else "semicolon"
            tokens.append(Token("end", name, end if token.kind == "end" else token.start, token.end))
            statement = _parse_tokens(text, tokens, offset)
            parsed.append(Parsed(statement, text[offset:end], offset))
            tokens = []
    return tuple(parsed)


def parse_statement(text: str) -> Statement:
    """The one statement of a text."""
    parsed = parse_statements(text)
    if not parsed:
        raise syntax_error("Expected a keyword at the beginning of a statement, found EOF", 1)
    if len(parsed) > 1:
        raise syntax_error("Expected a single statement", parsed[1].offset + 1)
    return parsed[0].statement


def parse_show(text: str) -> Show:
    """A SHOW by its text, as it stands in the parentheses of a FROM clause."""
    statement = parse_statement(text)
    if not isinstance(statement, Show):
        raise syntax_error("Expected SHOW", 1)
    return statement


def render(statement: Statement) -> str:
    """Canonical SQL, one clause per line."""
    return statement.render()


def _parse_tokens(text: str, tokens: list[Token], offset: int) -> Statement:
    cursor = Cursor(text, tokens, offset, parse_nested=_parse_one)
    statement = _parse_one(cursor)
    cursor.expect_end()
    return statement


def _parse_one(cursor: Cursor) -> Statement:
    return _find(_PHRASES, cursor, 0)(cursor)


def _refuse(message: str) -> _Parse:
    def parse(cursor: Cursor) -> Statement:
        raise cursor.refusal(message, "0A000")

    return parse


_PHRASES: Final[Branch[_Parse]] = tree(
    ((phrase, file.parse) for file in STATEMENT_FILES for phrase in file.PHRASES),
    hidden=((phrase, _refuse(message)) for phrase, message in REFUSED.items()),
)


def _find(branch: Branch[_Parse], cursor: Cursor, ahead: int) -> _Parse:
    """The parser of the longest phrase that is under the cursor."""
    best: _Parse | None = None
    while True:
        best = branch.leaf or best
        if ANYTHING in branch.children:
            found = _find_later(branch.children[ANYTHING], cursor, ahead)
            if found is not None:
                return found
        token = cursor.peek(ahead)
        child = branch.children.get(token.value if token.kind == "symbol" else token.keyword)
        if child is not None:
            branch, ahead = child, ahead + 1
        elif NAME in branch.children and cursor.at_identifier(ahead):
            branch, ahead = branch.children[NAME], _after_name(cursor, ahead)
        else:
            break
    if best is not None:
        return best
    if ahead == 0:
        raise cursor.error("a keyword at the beginning of a statement")
    if ANYTHING in branch.children:
        while cursor.peek(ahead).kind != "end":
            ahead += 1
        branch = branch.children[ANYTHING]
    raise cursor.error(*branch.expected(), ahead=ahead)


def _find_later(branch: Branch[_Parse], cursor: Cursor, ahead: int) -> _Parse | None:
    """The parser of a phrase that comes anywhere later, outside of parentheses."""
    depth = 0
    while (token := cursor.peek(ahead)).kind != "end":
        if token.kind == "symbol":
            depth += (token.value in "([") - (token.value in ")]")
        elif depth == 0 and token.keyword in branch.children:
            inner, further = branch, ahead
            while (child := inner.children.get(cursor.peek(further).keyword)) is not None:
                inner, further = child, further + 1
            if inner.leaf is not None:
                return inner.leaf
        ahead += 1
    return None


def _after_name(cursor: Cursor, ahead: int) -> int:
    """How far ahead the token after a name is."""
    ahead += 1
    while cursor.at_symbol(".", ahead) and cursor.peek(ahead + 1).kind in ("word", "quoted"):
        ahead += 2
    return ahead
