"""The tokens of a query: PostgreSQL's lexical rules, with the place of every token.

Operators are read as PostgreSQL reads them (the longest run of operator characters,
cut before a comment, without a trailing + or - unless a special character is in it),
so `a<-1`, `j->>'k'` and `x@>y` fall apart where they should.

Not here: which words are reserved where (words.py), what tokens mean (parse_*.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.errors import UserError, syntax_error

TokenKind = Literal["word", "quoted", "string", "bits", "number", "operator", "mark", "parameter", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is the word folded to lower case, the string's content, the number's digits, ..."""

    kind: TokenKind
    value: str
    start: int
    end: int

    def described(self) -> str:
        """As a syntax error names what it found."""
        match self.kind:
            case "end":
                return "EOF"
            case "word":
                return f'identifier "{self.value}"'
            case "quoted":
                return f'identifier "{self.value}"'
            case "string" | "bits":
                return f'string literal "{self.value}"'
            case "number":
                return f'number "{self.value}"'
            case "parameter":
                return f"parameter ${self.value}"
            case _:
                return f'operator "{self.value}"' if self.kind == "operator" else self.value


_SPACE: Final = re.compile(r"(?:[ \t\r\n\f\v]+|--[^\r\n]*)+")
_WORD: Final = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*")
_NUMBER: Final = re.compile(r"(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_PARAMETER: Final = re.compile(r"\$(\d+)")
_DOLLAR: Final = re.compile(r"\$(?:[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*)?\$")
_OPERATOR: Final = re.compile(r"[-+*/<>=~!@#%^&|`?]+")
_SPECIAL: Final = frozenset("~!@#%^&|`?")
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
_JOINT: Final = re.compile(r"(?:[ \t\f\v]|--[^\r\n]*)*[\r\n](?:[ \t\r\n\f\v]|--[^\r\n]*)*(?=')")


def tokenize(text: str) -> list[Token]:
    """All tokens of a text, the last one of kind `end`."""
    tokens: list[Token] = []
    position = _skip_space(text, 0)
    while position < len(text):
        token = _read(text, position)
        tokens.append(token)
        position = _skip_space(text, token.end)
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


def _skip_space(text: str, position: int) -> int:
    while True:
        match = _SPACE.match(text, position)
        if match:
            position = match.end()
        if not text.startswith("/*", position):
            return position
        position = _skip_comment(text, position)


def _skip_comment(text: str, start: int) -> int:
    """Block comments nest."""
    depth, position = 1, start + 2
    while depth:
        opening, closing = text.find("/*", position), text.find("*/", position)
        if closing < 0:
            raise syntax_error("unterminated /* comment", start + 1)
        if 0 <= opening < closing:
            depth, position = depth + 1, opening + 2
        else:
            depth, position = depth - 1, closing + 2
    return position


def _read(text: str, start: int) -> Token:
    first = text[start]
    if first == "'":
        return _string(text, start, start, escaped=False)
    if first == '"':
        value, end = _quoted(text, start, '"', "unterminated quoted identifier")
        if not value:
            raise syntax_error("zero-length delimited identifier", start + 1)
        return Token("quoted", value, start, end)
    if first in "eE" and text.startswith("'", start + 1):
        return _string(text, start, start + 1, escaped=True)
    if first in "bBxX" and text.startswith("'", start + 1):
        value, end = _quoted(text, start + 1, "'", "unterminated bit string literal")
        return Token("bits", value, start, end)
    if first in "nN" and text.startswith("'", start + 1):
        return _string(text, start, start + 1, escaped=False)
    if first in "uU" and text.startswith("&", start + 1) and text[start + 2 : start + 3] in ("'", '"'):
        return _unicode(text, start)
    return _read_plain(text, start)


def _read_plain(text: str, start: int) -> Token:
    if match := _WORD.match(text, start):
        return Token("word", _fold(match.group()), start, match.end())
    if match := _NUMBER.match(text, start):
        if _WORD.match(text, match.end()):
            raise syntax_error(
                f'trailing junk after numeric literal at or near "{text[start : match.end() + 1]}"', start + 1
            )
        return Token("number", match.group(), start, match.end())
    if match := _PARAMETER.match(text, start):
        return Token("parameter", match.group(1), start, match.end())
    if match := _DOLLAR.match(text, start):
        closing = text.find(match.group(), match.end())
        if closing < 0:
            raise syntax_error("unterminated dollar-quoted string", start + 1)
        return Token("string", text[match.end() : closing], start, closing + len(match.group()))
    for mark in ("::", ":=", ".."):
        if text.startswith(mark, start):
            return Token("mark", mark, start, start + 2)
    if text[start] in "()[],;.:":
        return Token("mark", text[start], start, start + 1)
    if match := _OPERATOR.match(text, start):
        return _operator(match.group(), start)
    raise syntax_error(f'unexpected character "{text[start]}"', start + 1)


def _fold(word: str) -> str:
    """Only ASCII letters fold, as in a C locale."""
    return word.lower() if word.isascii() else "".join(c.lower() if c.isascii() else c for c in word)


def _operator(run: str, start: int) -> Token:
    for comment in ("--", "/*"):
        at = run.find(comment)
        if at > 0:
            run = run[:at]
    if len(run) > 1 and run[-1] in "+-" and not _SPECIAL.intersection(run):
        run = run.rstrip("+-") or run[0]
    if run == "!=":
        return Token("operator", "<>", start, start + 2)
    return Token("operator", run, start, start + len(run))


def _quoted(text: str, start: int, quote: str, unterminated: str) -> tuple[str, int]:
    """The content between quotes, in which a doubled quote is one; and the place after it."""
    parts: list[str] = []
    position = start + 1
    while True:
        closing = text.find(quote, position)
        if closing < 0:
            raise syntax_error(unterminated, start + 1)
        parts.append(text[position:closing])
        if not text.startswith(quote, closing + 1):
            return "".join(parts), closing + 1
        parts.append(quote)
        position = closing + 2


def _string(text: str, start: int, quote_at: int, escaped: bool) -> Token:
    """A string literal with the pieces that follow it on later lines."""
    pieces: list[str] = []
    while True:
        if escaped:
            value, end = _escaped(text, quote_at)
        else:
            value, end = _quoted(text, quote_at, "'", "unterminated quoted string")
        pieces.append(value)
        joint = _JOINT.match(text, end)
        if joint is None:
            return Token("string", _checked("".join(pieces), start), start, end)
        quote_at = joint.end()


def _checked(value: str, start: int) -> str:
    if "\0" in value:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021", position=start + 1)
    return value


def _escaped(text: str, start: int) -> tuple[str, int]:
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == "'":
            if not text.startswith("'", position + 1):
                break
            position += 2
        else:
            position += 1
    if position >= len(text):
        raise syntax_error("unterminated quoted string", start + 1)
    body = text[start + 1 : position].replace("''", "'") if "''" in text[start + 1 : position] else None
    return _unescape(body if body is not None else text[start + 1 : position]), position + 1


def _unescape(body: str) -> str:
    def one(match: re.Match[str]) -> str:
        octal, hexadecimal, short, long, other = match.groups()
        if octal or hexadecimal:
            return chr(int(octal, 8) & 0xFF if octal else int(hexadecimal, 16))
        if short or long:
            return chr(int(short or long, 16))
        return _ESCAPES.get(other, other)

    return _ESCAPE.sub(one, body)


def _unicode(text: str, start: int) -> Token:
    """U&'...' and U&"..." with the default escape character."""
    quote = text[start + 2]
    value, end = _quoted(text, start + 2, quote, "unterminated quoted string")
    value = re.sub(
        r"\\(?:\\|\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4}))",
        lambda m: "\\" if m.group() == "\\\\" else chr(int(m.group(1) or m.group(2), 16)),
        value,
    )
    return Token("string" if quote == "'" else "quoted", _checked(value, start), start, end)
