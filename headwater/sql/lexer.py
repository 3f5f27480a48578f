r"""Tokens of a SQL text, with their places in it: of statements and of the queries inside of them.

PostgreSQL's lexical rules, in one pass over the text:

    word        abc, Straße         ASCII letters in lower case; a keyword or a name, the grammar decides
    quoted      "Abc ""x"" y"  U&"\0041"          a name as written
    string      'it''s'  E'\n'  U&'\0041'  N'x'  $tag$...$tag$    the value, also when continued on a new line
    hex         X'1F'  B'01'
    number      1  .5  1.5e-3
    parameter   $1
    symbol      ( ) [ ] , ; . .. : :: := and operators such as <> ->> =>
    end         after the last one

Operators are the longest run of operator characters, cut before a comment, and without
a trailing + or - unless a character is in it that no standard operator has: `a<-1`,
`j->>'k'` and `x@>y` fall apart where they should.  `!=` is read as `<>`.

Whitespace and comments (`--` and nested `/* */`) are dropped.  A place is a number
of characters from the start of the text.  Every failure is a UserError with its
position; time and memory are proportional to the text, and bounded: so many tokens and no more.

Not here: anything about the order of tokens.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from headwater.core import pace
from headwater.core.errors import UserError, syntax_error
from headwater.core.limits import (
    ERROR_TOKEN_CHARACTERS_MAX,
    IDENTIFIER_BYTES_MAX,
    PLAN_AT_ONCE_CHARACTERS_MAX,
    STATEMENT_TOKENS_MAX,
)
from headwater.sql.words import KEYWORDS

TokenKind = Literal["word", "quoted", "string", "hex", "number", "parameter", "symbol", "end"]


class Token(NamedTuple):
    """One token: its meaning in `value`, its place [start, end)."""

    kind: TokenKind
    value: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word in capitals; empty for everything that is not a bare word."""
        # Beyond ASCII capitals are not letter by letter: that of "croß" is no CROSS.
        return self.value.upper() if self.kind == "word" and self.value.isascii() else ""

    @property
    def operator(self) -> bool:
        """Whether it is a symbol of operator characters, not one of the grammar's own marks."""
        return self.kind == "symbol" and self.value[0] in _OPERATOR_CHARACTERS

    def __str__(self) -> str:
        """As errors name what they found."""
        match self.kind:
            case "word" if self.keyword in KEYWORDS:
                return self.keyword
            case "word" | "quoted":
                return name_shown(self.value)
            case "string":
                return f'string literal "{_shortened(self.value)}"'
            case "hex":
                return f'hex string literal "{_shortened(self.value)}"'
            case "number" | "parameter":
                return f'{self.kind} "{_shortened(self.value)}"'
            case "end":
                return self.value
            case _:
                return symbol_name(self.value)


_OPERATOR_CHARACTERS: Final = frozenset("-+*/<>=~!@#%^&|`?")
# An operator with one of these may end in + or -.
_SPECIAL_CHARACTERS: Final = frozenset("~!@#%^&|`?")
_SYMBOL_NAMES: Final = {
    "(": "left parenthesis",
    ")": "right parenthesis",
    "[": "left square bracket",
    "]": "right square bracket",
    ",": "comma",
    ";": "semicolon",
    ".": "dot",
    ":": "colon",
    "::": "double colon",
    "=": "equals sign",
    "*": "star",
    "=>": "arrow",
}


def _shortened(value: str) -> str:
    return value if len(value) <= ERROR_TOKEN_CHARACTERS_MAX else value[:ERROR_TOKEN_CHARACTERS_MAX] + "..."


def name_shown(name: str) -> str:
    """How errors show a name that they found."""
    return f'identifier "{_shortened(name)}"'


def symbol_name(symbol: str) -> str:
    """How errors call a symbol."""
    return _SYMBOL_NAMES.get(symbol, f'operator "{symbol}"')


# Letters are those of ASCII, the underscore, and every character beyond ASCII that is no space.
_LETTER: Final = r"[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f\s]"
_LETTER_OR_DIGIT: Final = r"[^\x00-\x23\x25-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]"

_TOKENS_PER_STEP: Final = 16

# The first kinds are those that long statements are made of: VALUES, IN lists.
# Repetitions are possessive (`*+`): they never give back, so no text makes the match retry.
_TOKEN: Final = re.compile(
    rf"""
    \s*+ (?:
    (?P<symbol>    ::|:=|\.\.|[()\[\],;:]|\.(?![0-9]) )
  | (?P<number>    (?:[0-9]++(?:\.(?!\.)[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?P<junk>{_LETTER})? )
  | (?P<plain>     '[^']*+'(?!\s*+['-]) )
  | (?P<space>     --[^\n\r]*+ | \Z )
  | (?P<comment>   /\* )
  | (?P<string>    (?:[eEnN]|[uU]&)?' )
  | (?P<hex>       [xXbB]' )
  | (?P<quoted>    (?:[uU]&)?" )
  | (?P<word>      {_LETTER}{_LETTER_OR_DIGIT}*+ )
  | (?P<parameter> \$[0-9]++ )
  | (?P<dollar>    \$(?:{_LETTER}[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]*+)?\$ )
  | (?P<operator>  [-+*/<>=~!@#%^&|`?]{{1,64}} )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
# What follows an opening quote, with the closing one; no match is an end that is missing.
_STRING_REST: Final = re.compile(r"[^']*+(?:''[^']*+)*+'")
_ESCAPED_REST: Final = re.compile(r"[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+'", re.DOTALL)
_QUOTED_REST: Final = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_CONTINUED: Final = re.compile(r"(?:[^\S\n\r]|--[^\n\r]*+)*+[\n\r](?:\s|--[^\n\r]*+)*+(?=')")
_ESCAPE: Final = re.compile(
    r"''|\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL
)
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_ESCAPE: Final = re.compile(r"\\(?:(\\)|\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4})|)")


def tokenize(text: str) -> list[Token]:
    """All tokens of a text, the last one is `end`."""
    if len(text) > PLAN_AT_ONCE_CHARACTERS_MAX:
        pace.stride()
    zero = text.find("\0")
    if zero >= 0:
        raise syntax_error("a statement cannot contain a zero character", zero + 1)
    tokens: list[Token] = []
    place, length = 0, len(text)
    while place < length:
        pace.step()
        if len(tokens) > STATEMENT_TOKENS_MAX:
            raise _too_many(tokens[-1])
        # What stands between two steps is short: a check for each token would cost a tenth.
        for _ in range(_TOKENS_PER_STEP):
            found = _TOKEN.match(text, place)
            if found is None:
                place += len(text[place:]) - len(text[place:].lstrip())
                raise syntax_error(f'character "{text[place]}" cannot begin a word', place + 1)
            kind = found.lastgroup
            if kind == "symbol":
                start, place = found.span("symbol")
                tokens.append(Token("symbol", text[start:place], start, place))
            elif kind == "plain":
                start, place = found.span("plain")
                tokens.append(Token("string", text[start + 1 : place - 1], start, place))
            elif kind == "number" and not found["junk"]:
                start, place = found.span("number")
                tokens.append(Token("number", text[start:place], start, place))
            else:
                place = _take(text, found, tokens)
            if place >= length:
                break
    tokens.append(Token("end", "EOF", length, length))
    return tokens


def _too_many(last: Token) -> UserError:
    return UserError(
        f"statement has more than {STATEMENT_TOKENS_MAX} words, values and signs",
        "54001",
        hint="Rows are sent with COPY ... FROM STDIN, or with several INSERT statements.",
        position=last.start + 1,
    )


def _take(text: str, found: re.Match[str], tokens: list[Token]) -> int:
    """Append the token that was found, if it is one, and say where the next begins."""
    kind = found.lastgroup or ""
    start, end = found.span(kind)
    piece = text[start:end]
    match kind:
        case "word":
            tokens.append(Token("word", _name(_folded(piece), start), start, end))
        case "operator":
            end = start + _operator_length(piece)
            operator = text[start:end]
            tokens.append(Token("symbol", "<>" if operator == "!=" else operator, start, end))
        case "space":
            pass
        case "number":
            raise syntax_error(f'trailing junk after numeric literal at or near "{piece}"', start + 1)
        case "comment":
            return _comment_end(text, start)
        case "parameter":
            tokens.append(Token("parameter", piece, start, end))
        case "dollar":
            end = text.find(piece, end)
            if end < 0:
                raise syntax_error("unterminated dollar-quoted string", start + 1)
            tokens.append(Token("string", text[start + len(piece) : end], start, end + len(piece)))
            return end + len(piece)
        case "quoted":
            tokens.append(_quoted(text, start, end))
            return tokens[-1].end
        case _:
            tokens.append(_string(text, start, end, hexadecimal=kind == "hex"))
            return tokens[-1].end
    return end


def _quoted(text: str, start: int, opened: int) -> Token:
    """A name in double quotes."""
    closed = _QUOTED_REST.match(text, opened)
    if closed is None:
        raise syntax_error("unterminated quoted identifier", start + 1)
    name = closed.group()[:-1].replace('""', '"')
    if not name:
        raise syntax_error("zero-length quoted identifier", start + 1)
    if opened - start > 1:
        name = _unicode_unescaped(name, start)
    return Token("quoted", _name(name, start), start, closed.end())


def _string(text: str, start: int, opened: int, hexadecimal: bool) -> Token:
    """A literal in single quotes, with its continuations on further lines."""
    prefix = text[start : opened - 1].lower()
    rest = _ESCAPED_REST if prefix == "e" else _STRING_REST
    message = "unterminated bit string literal" if hexadecimal else "unterminated quoted string"
    spans: list[tuple[int, int]] = []
    piece_start = start
    while True:
        closed = rest.match(text, opened)
        if closed is None:
            raise syntax_error(message, piece_start + 1)
        end = closed.end()
        spans.append((opened, end - 1))
        gap = _CONTINUED.match(text, end)
        if gap is None:
            break
        piece_start, opened = gap.end(), gap.end() + 1
    if prefix == "e":
        value = _characters(b"".join(_unescaped(text, *span) for span in spans), start)
    else:
        value = "".join(text[slice(*span)] for span in spans).replace("''", "'")
        if prefix == "u&":
            value = _unicode_unescaped(value, start)
    return Token("hex" if hexadecimal else "string", value, start, end)


def _folded(word: str) -> str:
    """Only ASCII letters fold, as in PostgreSQL with UTF-8."""
    return (
        word.lower()
        if word.isascii()
        else word.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    )


def _name(name: str, start: int) -> str:
    # A character has at most four bytes: most names need no encoding to be seen as short.
    if len(name) * 4 > IDENTIFIER_BYTES_MAX:
        length_bytes = len(name.encode("utf-8", "surrogatepass"))
        if length_bytes > IDENTIFIER_BYTES_MAX:
            message = f"identifier length exceeds {IDENTIFIER_BYTES_MAX} bytes"
            raise UserError(message, "42622", position=start + 1)
    return name


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise syntax_error("unterminated multi-line comment", start + 1)


def _operator_length(piece: str) -> int:
    """How much of a run of operator characters is one operator, by PostgreSQL's rules.

    A comment begins inside of a run too; and an operator ends in + or - only when
    it has one of the characters that no standard operator has, so that `1=-1` works.
    """
    for opening in ("--", "/*"):
        at = piece.find(opening)
        if at > 0:
            piece = piece[:at]
    if _SPECIAL_CHARACTERS.isdisjoint(piece):
        piece = piece[0] + piece[1:].rstrip("+-")
    return len(piece)


def _unescaped(text: str, place: int, end: int) -> bytes:
    """What the inside of an E'' string, text[place:end], stands for."""
    parts: list[bytes] = []
    for escape in _ESCAPE.finditer(text, place, end):
        parts.append(text[place : escape.start()].encode("utf-8", "surrogatepass"))
        parts.append(_escaped_bytes(escape.group(), escape.start()))
        place = escape.end()
    parts.append(text[place:end].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _characters(value: bytes, start: int) -> str:
    """The text whose bytes were put together by escapes."""
    try:
        text = value.decode("utf-8", "surrogatepass")
        # \uD83D\uDE00 are two halves of one character; a half alone is none.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise syntax_error("escapes of a string do not make characters of UTF-8", start + 1) from None


def _unicode_unescaped(value: str, start: int) -> str:
    """The value of a U&'' string or name, with the default escape character."""

    def character(escape: re.Match[str]) -> str:
        backslash, long, short = escape.groups()
        if backslash:
            return "\\"
        if not long and not short:
            raise syntax_error("a Unicode escape is \\XXXX or \\+XXXXXX", start + 1)
        code = int(long or short, 16)
        if not 0 < code <= 0x10FFFF:
            raise syntax_error(f"escape {escape.group()} is not a character", start + 1)
        return chr(code)

    return _characters(_UNICODE_ESCAPE.sub(character, value).encode("utf-8", "surrogatepass"), start)


def _escaped_bytes(escape: str, place: int) -> bytes:
    """What an escape stands for: one byte if it is given in hex or octal, otherwise a character."""
    kind = escape[1]
    if escape == "''":
        return b"'"
    if kind in "uU" and len(escape) == 2:
        raise syntax_error("a Unicode escape is \\uXXXX or \\UXXXXXXXX", place + 1)
    if kind in "uU":
        code, largest = int(escape[2:], 16), 0x10FFFF
    elif kind == "x" and len(escape) > 2:
        code, largest = int(escape[2:], 16), 0xFF
    elif kind in "01234567":
        code, largest = int(escape[1:], 8), 0xFF
    else:
        return _ESCAPES.get(kind, kind).encode("utf-8", "surrogatepass")
    if not 0 < code <= largest:
        raise syntax_error(f"escape {escape} is not a character", place + 1)
    return chr(code).encode("utf-8", "surrogatepass") if kind in "uU" else bytes([code])
