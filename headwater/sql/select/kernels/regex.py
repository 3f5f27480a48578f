"""Asks a text about a regular expression, within a time.

The `regex` package goes back and tries again, which may take longer than anybody lives.  So a text
has its time, and every search in it a part of that: then it is an error.  Until then others may use the
interpreter, and between two searches the statement can be stopped.

Whether the C library calls some marks a part of a word is not known, nor its upper-case letters and
punctuation beyond ASCII: there a text is refused.

Not here: patterns (regex_patterns.py), the functions (texts.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import regex

from headwater.core import pace
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import REGEX_QUICK_CHARACTERS_MAX, REGEX_S_MAX, REGEX_SEARCH_S_MAX
from headwater.sql.select.kernels.kernel import pieces
from headwater.sql.select.kernels.letters import of_word
from headwater.sql.select.kernels.regex_patterns import OF_WORD, Pattern, compiled

__all__ = ["Pattern", "compiled", "find", "find_all", "matches"]


def matches(pattern: str, text: str, flags: str = "") -> bool:
    """Whether the pattern is found anywhere in the text."""
    found = compiled(pattern, flags)
    _check(found, text)
    return _Search(found, text).run(found.compiled.search, 0) is not None


def find(pattern: Pattern, text: str) -> regex.Match[str] | None:
    """The leftmost match, the longest of them."""
    return _searched(pattern, text).find(0)


def find_all(
    pattern: Pattern, text: str, *, start: int = 0, degenerate: bool = True
) -> Iterator[regex.Match[str]]:
    """All matches from a place on that do not overlap.

    Without `degenerate`, no empty one at an end or after another.
    """
    search = _searched(pattern, text)
    place = previous = start
    while place <= len(text):
        found = search.find(place)
        if found is None:
            return
        if degenerate or (found.start() < len(text) and found.end() > previous):
            yield found
        previous = found.end()
        place = previous + (found.start() == found.end())


def _searched(pattern: Pattern, text: str) -> _Search:
    if pattern.refused is not None:
        raise not_supported(pattern.refused)
    _check(pattern, text)
    return _Search(pattern, text)


class _Search:
    """What one pattern is asked about one text, and the time it has left for that."""

    def __init__(self, pattern: Pattern, text: str) -> None:
        self._pattern = pattern
        self._text = text
        quick = pattern.quick and len(text) <= REGEX_QUICK_CHARACTERS_MAX
        self._end_s = None if quick else SYSTEM_CLOCK.monotonic_s() + REGEX_S_MAX

    def run(self, method: Callable[..., Any], *span: int) -> regex.Match[str] | None:
        if self._end_s is None:
            found: regex.Match[str] | None = method(self._text, *span)
            return found
        pace.look()
        left_s = min(self._end_s - SYSTEM_CLOCK.monotonic_s(), REGEX_SEARCH_S_MAX)
        try:
            found = method(self._text, *span, timeout=max(left_s, 0.001), concurrent=True)
        except TimeoutError:
            raise UserError(
                f'the regular expression "{self._pattern.source}" takes too long'
                f" with a text of {len(self._text)} characters",
                "54001",
                hint="Repeat nothing that repeats itself or has alternatives, as (a+)+ and (a|b)* do.",
            ) from None
        return found

    def find(self, place: int) -> regex.Match[str] | None:
        """The leftmost match from a place on, the longest of them."""
        pattern, text = self._pattern, self._text
        found = self.run(pattern.compiled.search, place)
        if found is None or not pattern.longest:
            return found
        for end in range(len(text), found.end(), -1):
            longer = self.run(pattern.compiled.fullmatch, found.start(), end)
            if longer is not None:
                return longer
        return self.run(pattern.compiled.fullmatch, found.start(), found.end())


def _check(pattern: Pattern, text: str) -> None:
    """Refuses a text of which it is not known how PostgreSQL would class it."""
    if not (pattern.words or pattern.ascii_only) or text.isascii():
        return
    if pattern.ascii_only:
        raise not_supported("classes of characters other than letters and digits for text beyond ASCII")
    for character in chain.from_iterable(map(dict.fromkeys, pieces(text))):
        if character > "\x7f" and of_word(character) is not (regex.match(OF_WORD, character) is not None):
            raise not_supported(f'telling whether "{character}" belongs to a word')
