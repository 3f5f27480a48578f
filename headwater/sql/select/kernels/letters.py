"""Kernels over the case of letters, and LIKE.

PostgreSQL maps one character to one character (`ß` has no upper case, `Σ` is `σ` at the end of
a word too), as the C library does in a UTF-8 locale.  Python's own mappings may make several
characters of one; where they do, the character has a single counterpart in its title form, as
some Greek letters have, or none.

LIKE raises for an escape at a pattern's end only when the matching gets there, so `'' LIKE '\\'`
is false.

Not here: patterns without a backslash, which the engines match as PostgreSQL does
(functions/strings.py), regular expressions (regex.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import regex

from headwater.core import pace
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import REGEX_QUICK_CHARACTERS_MAX, REGEX_SEARCH_S_MAX
from headwater.sql.select.kernels import text_columns
from headwater.sql.select.kernels.kernel import Kernel, columnar, pieces, row_wise

_LOWER_ODD: Final = {"İ": "i"}
# Enclosed letters count as letters though their category is that of symbols.
_ENCLOSED: Final = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
_DIACRITICS: Final = range(0x300, 0x370)
_IOTA_BELOW: Final = 0x345


def lower_letter(letter: str) -> str:
    """One character's lower case."""
    lower = letter.lower()
    return lower if len(lower) == 1 else _LOWER_ODD.get(letter, letter)


def upper_letter(letter: str) -> str:
    """One character's upper case."""
    for form in (letter.upper(), letter.title()):
        if len(form) == 1:
            return form
    return letter


def lower(text: str) -> str:
    """Every character's lower case."""
    if text.isascii():
        return text.lower()
    return "".join("".join(map(lower_letter, piece)) for piece in pieces(text))


def upper(text: str) -> str:
    """Every character's upper case."""
    if text.isascii():
        return text.upper()
    return "".join("".join(map(upper_letter, piece)) for piece in pieces(text))


def letters_of_word() -> str:
    """All for which `of_word` is true, as the inside of a bracket expression of the `regex` package."""
    enclosed = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ENCLOSED)
    return rf"\p{{L}}\p{{Nd}}\p{{Nl}}\u{_IOTA_BELOW:04x}{enclosed}"


def of_word(letter: str) -> bool | None:
    """Whether a character is a letter or digit; None where only a table of Unicode's would tell."""
    category = unicodedata.category(letter)
    if category[0] == "L" or category in ("Nd", "Nl"):
        return True
    if category in ("Mn", "Mc"):
        if ord(letter) in _DIACRITICS:
            return ord(letter) == _IOTA_BELOW
        return None
    return category == "So" and any(first <= ord(letter) <= last for first, last in _ENCLOSED)


def _initcap(text: str) -> str:
    made: list[str] = []
    inside: bool | None = False
    for letter in chain.from_iterable(pieces(text)):
        small, large = lower_letter(letter), upper_letter(letter)
        if inside is None and small != large:
            raise not_supported("initcap() of a letter behind such a combining mark")
        made.append(small if inside else large)
        inside = of_word(letter)
    return "".join(made)


def _mapped(name: str, ascii_only: Callable[[pa.Array], pa.Array], function: Callable[[str], str]) -> Kernel:
    """A mapping of letters; a column of ASCII goes at once."""

    def run(texts: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
            return ascii_only(texts)
        values = [None if text is None else function(text) for text in texts.to_pylist()]
        return pa.array(values, pa.string())

    return Kernel(name, ("text",), "text", run, raises=False)


# LIKE


def _no_escape() -> UserError:
    return UserError("LIKE pattern must not end with escape character", "22025")


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[tuple[str, ...], bool]:
    """What stands between the %, as regular expressions; whether an escape ends the pattern."""
    parts = [""]
    escaped = False
    for character in pattern:
        if escaped:
            parts[-1] += re.escape(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "%":
            parts.append("")
        else:
            parts[-1] += "." if character == "_" else re.escape(character)
    return tuple(parts), escaped


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    """A pattern as a regular expression that looks for each piece once, from the left."""
    parts, _ = _pieces(pattern)
    if len(parts) == 1:
        return regex.compile(parts[0], regex.DOTALL)
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1] if part)
    return regex.compile(f"{parts[0]}{middle}.*{parts[-1]}", regex.DOTALL)


def like(text: str, pattern: str) -> bool:
    """LIKE."""
    if _pieces(pattern)[1]:
        return bool(_walked(text, pattern, 0, 0))
    if len(text) <= REGEX_QUICK_CHARACTERS_MAX:
        return _compiled(pattern).fullmatch(text) is not None
    try:
        found = _compiled(pattern).fullmatch(text, timeout=REGEX_SEARCH_S_MAX, concurrent=True)
    except TimeoutError:
        raise UserError(
            f'the pattern "{pattern}" takes too long with a text of {len(text)} characters',
            "54001",
            hint="Match shorter texts, or with fewer %.",
        ) from None
    return found is not None


def _walked(text: str, pattern: str, at: int, place: int) -> bool | None:
    """Matching step by step, to raise where PostgreSQL would; None: nor can it match further on."""
    while at < len(text) and place < len(pattern):
        sign = pattern[place]
        if sign == "%":
            return _behind_percent(text, pattern, at, place + 1)
        if sign == "\\":
            place += 1
            if place == len(pattern):
                raise _no_escape()
        if sign != "_" and pattern[place] != text[at]:
            return False
        at, place = at + 1, place + 1
    if at < len(text):
        return False
    return True if not pattern[place:].strip("%") else None


def _behind_percent(text: str, pattern: str, at: int, place: int) -> bool | None:
    while place < len(pattern) and pattern[place] in "%_":
        if pattern[place] == "_":
            if at == len(text):
                return None
            at += 1
        place += 1
    if place == len(pattern):
        return True
    first = place
    if pattern[place] == "\\":
        first += 1
        if first == len(pattern):
            raise _no_escape()
    for start in range(at, len(text)):
        pace.step()
        if text[start] == pattern[first]:
            matched = _walked(text, pattern, start, place)
            if matched is not False:
                return matched
    return None


def _ilike(text: str, pattern: str) -> bool:
    return like(lower(text), lower(pattern))


_TEXT2: Final[tuple[Any, ...]] = ("text", "text")

KERNELS: Final[tuple[Kernel, ...]] = (
    _mapped("hw_lower", pc.ascii_lower, lower),
    _mapped("hw_upper", pc.ascii_upper, upper),
    columnar(row_wise("hw_initcap", ("text",), "text", _initcap), text_columns.capitalized),
    row_wise("hw_like", _TEXT2, "bool", like),
    row_wise("hw_ilike", _TEXT2, "bool", _ilike),
)
