r"""Tokens of a SQL text, with their places in it.

PostgreSQL's lexical rules, in one pass over the text:

    word        abc, Straße         folded to lower case; a keyword or a name, the grammar decides
    quoted      "Abc ""x"" y"       a name as written
    string      'it''s'  E'\n'  $tag$...$tag$     the value, also when continued on a new line
    hex         X'1F'  B'01'
    number      1  .5  1.5e-3
    parameter   $1
    symbol      ( ) [ ] , ; . : :: := and operators such as <> ->> =>
    end         after the last one

Whitespace and comments (`--` and nested `/* */`) are dropped.  A place is a number
of characters from the start of the text.  Every failure is a UserError with its
position; time and memory are proportional to the text.

Not here: anything about the order of tokens.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from headwater.core.errors import syntax_error
from headwater.core.limits import ERROR_TOKEN_CHARACTERS_MAX, IDENTIFIER_BYTES_MAX
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
        return self.value.upper() if self.kind == "word" else ""

    def __str__(self) -> str:
        """As errors name what they found."""
        match self.kind:
            case "word" if self.keyword in KEYWORDS:
                return self.keyword
            case "word" | "quoted":
                return f'identifier "{_shortened(self.value)}"'
            case "string":
                return f'string literal "{_shortened(self.value)}"'
            case "hex":
                return f'hex string literal "{_shortened(self.value)}"'
            case "number" | "parameter":
                return f'{self.kind} "{_shortened(self.value)}"'
            case "end":
                return self.value
            case _:
                return _SYMBOL_NAMES.get(self.value, f'operator "{self.value}"')


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


def symbol_name(symbol: str) -> str:
    """How errors call a symbol."""
    return _SYMBOL_NAMES.get(symbol, f'operator "{symbol}"')


# Letters are those of ASCII, the underscore, and every character beyond ASCII that is no space.
_LETTER: Final = r"[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f\s]"
_LETTER_OR_DIGIT: Final = r"[^\x00-\x23\x25-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]"

# Repetitions are possessive (`*+`): they never give back, so no text makes the match retry.
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>     \s++ | --[^\n\r]*+ )
  | (?P<comment>   /\* )
  | (?P<escaped>   [eE]'[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+ (?P<escaped_end>')? )
  | (?P<hex>       [xXbB]'[^']*+ (?P<hex_end>')? )
  | (?P<word>      {_LETTER}{_LETTER_OR_DIGIT}*+ )
  | (?P<string>    '[^']*+(?:''[^']*+)*+ (?P<string_end>')? )
  | (?P<quoted>    "[^"]*+(?:""[^"]*+)*+ (?P<quoted_end>")? )
  | (?P<number>    (?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)? )
  | (?P<parameter> \$[0-9]++ )
  | (?P<dollar>    \$(?:{_LETTER}[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]*+)?\$ )
  | (?P<symbol>    ::|:=|[()\[\],;.:] )
  | (?P<operator>  [-+*/<>=~!@#%^&|`?]{{1,64}} )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_CONTINUED: Final = re.compile(r"(?:[^\S\n\r]|--[^\n\r]*+)*+[\n\r](?:\s|--[^\n\r]*+)*+(?=')")
_ESCAPE: Final = re.compile(
    r"''|\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL
)
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def tokenize(text: str) -> list[Token]:
    """All tokens of a text, the last one is `end`."""
    zero = text.find("\0")
    if zero >= 0:
        raise syntax_error("a statement cannot contain a zero character", zero + 1)
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise syntax_error(f'character "{text[place]}" cannot begin a word', place + 1)
        place = _take(text, found, tokens)
    tokens.append(Token("end", "EOF", len(text), len(text)))
    return tokens


def _take(text: str, found: re.Match[str], tokens: list[Token]) -> int:
    """Append the token that was found, if it is one, and say where the next begins."""
    start, end = found.span()
    piece = found.group()
    match found.lastgroup:
        case "symbol":
            tokens.append(Token("symbol", piece, start, end))
        case "space":
            pass
        case "number":
            tokens.append(Token("number", piece, start, end))
        case "word":
            tokens.append(Token("word", _name(piece.lower(), start), start, end))
        case "comment":
            return _comment_end(text, start)
        case "parameter":
            tokens.append(Token("parameter", piece, start, end))
        case "operator":
            end = start + _operator_length(piece)
            tokens.append(Token("symbol", text[start:end], start, end))
        case "quoted":
            _require(found, "quoted_end", "unterminated quoted identifier")
            if end - start == 2:
                raise syntax_error("zero-length quoted identifier", start + 1)
            tokens.append(Token("quoted", _name(piece[1:-1].replace('""', '"'), start), start, end))
        case "hex":
            _require(found, "hex_end", "unterminated bit string literal")
            tokens.append(Token("hex", piece[2:-1], start, end))
        case "dollar":
            end = text.find(piece, end)
            if end < 0:
                raise syntax_error("unterminated dollar-quoted string", start + 1)
            tokens.append(Token("string", text[start + len(piece) : end], start, end + len(piece)))
            return end + len(piece)
        case _:
            return _string(text, found, tokens)
    return end


def _string(text: str, found: re.Match[str], tokens: list[Token]) -> int:
    """A string literal, with its continuations on further lines."""
    start, end = found.span()
    escaped = found.lastgroup == "escaped"
    _require(found, "escaped_end" if escaped else "string_end", "unterminated quoted string")
    parts = [_unescape(text, start, end) if escaped else found.group()[1:-1].replace("''", "'")]
    while gap := _CONTINUED.match(text, end):
        more = _TOKEN.match(text, gap.end())
        if more is None or more.lastgroup != "string":
            break
        _require(more, "string_end", "unterminated quoted string")
        end = more.end()
        parts.append(more.group()[1:-1].replace("''", "'"))
    tokens.append(Token("string", "".join(parts), start, end))
    return end


def _require(found: re.Match[str], ending: str, message: str) -> None:
    if found.group(ending) is None:
        raise syntax_error(message, found.start() + 1)


def _name(name: str, start: int) -> str:
    # A character has at most four bytes: most names need no encoding to be seen as short.
    if len(name) * 4 > IDENTIFIER_BYTES_MAX:
        length_bytes = len(name.encode("utf-8", "surrogatepass"))
        if length_bytes > IDENTIFIER_BYTES_MAX:
            raise syntax_error(f"identifier length exceeds {IDENTIFIER_BYTES_MAX} bytes", start + 1)
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
    if not any(character in "~!@#%^&|`?" for character in piece):
        piece = piece[0] + piece[1:].rstrip("+-")
    return len(piece)


def _unescape(text: str, start: int, end: int) -> str:
    """The value of an E'' string whose literal is text[start:end]."""
    parts: list[bytes] = []
    place = start + 2
    for escape in _ESCAPE.finditer(text, place, end - 1):
        parts.append(text[place : escape.start()].encode("utf-8", "surrogatepass"))
        parts.append(_escaped_bytes(escape.group(), escape.start()))
        place = escape.end()
    parts.append(text[place : end - 1].encode("utf-8", "surrogatepass"))
    try:
        value = b"".join(parts).decode("utf-8", "surrogatepass")
        # \uD83D\uDE00 are two halves of one character; a half alone is none.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise syntax_error("escapes of a string do not make characters of UTF-8", start + 1) from None


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
