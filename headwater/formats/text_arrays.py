"""SQL arrays as text: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`.

Ordinary arrays (formats/arrays.py) are printed and read a column at a time.  Python looks at single texts
only where there are quotes, blanks, inner braces or bounds, once for each distinct one, by PostgreSQL's rules
and with its words for what is no array.

The elements' own text is made and read by whoever calls (text.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.formats.arrays import (
    DIMENSIONS_MAX,
    SHAPE_TYPE,
    elements_of,
    odd_rows,
    ordinary,
    shape_of,
    too_many_dimensions,
    with_shapes,
)
from headwater.formats.sliced import by_slices, texts_of
from headwater.formats.text_nested import (
    SPACE,
    FromText,
    ToText,
    list_from_text,
    list_of_words,
    list_to_text,
    malformed,
    unescaped,
)

_INT4_MAX: Final = 2**31 - 1


def array_to_text(array: pa.Array, element: SqlType, to_text: ToText) -> pa.Array:
    """`{...}` of each array, with its bounds before it where they do not begin at 1."""
    lists = elements_of(array)
    texts = list_to_text(lists, element, to_text)
    odd = odd_rows(array)
    if not odd:
        return texts
    rows = [row for row, _, _ in odd]
    # As {"a"} each, so that no element's own comma or brace is met.
    words = _words(lists.take(pa.array(rows)), element, to_text)
    shown = [
        bounds_text(lengths, lowers) + braces(lengths, some)
        for (_, lengths, lowers), some in zip(odd, words, strict=True)
    ]
    mask = np.zeros(len(array), bool)
    mask[rows] = True
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(shown, pa.string()))


def _words(lists: pa.Array, element: SqlType, to_text: ToText) -> list[list[str]]:
    """The elements of each list as they stand between the braces."""
    alone = pa.ListArray.from_arrays(pa.array(np.arange(len(lists.values) + 1, dtype=np.int32)), lists.values)
    words = [word[1:-1] for word in list_to_text(alone, element, to_text).to_pylist()]
    offsets = lists.offsets.to_pylist()
    return [words[low:high] for low, high in pairwise(offsets)]


def bounds_text(lengths: Sequence[int], lowers: Sequence[int]) -> str:
    """`[0:1][5:6]=`; nothing where all dimensions begin at 1."""
    if all(lower == 1 for lower in lowers):
        return ""
    bounds = (f"[{low}:{low + length - 1}]" for length, low in zip(lengths, lowers, strict=True))
    return "".join(bounds) + "="


def braces(lengths: Sequence[int], words: Sequence[str]) -> str:
    """Words that come row by row, in braces for each dimension."""
    if len(lengths) > 1:
        step = len(words) // lengths[0]
        words = [braces(lengths[1:], words[at : at + step]) for at in range(0, len(words), step)]
    return "{" + ",".join(words) + "}"


# Reading


def array_from_text(array: pa.Array, type_: SqlType, element: SqlType, from_text: FromText) -> pa.Array:
    """Arrays of their texts."""
    if element.kind == "list":  # whose braces are not ours
        return ordinary(list_from_text(array, type_, element, from_text))
    plain = pc.match_substring_regex(array, r'^\{[^{}"\\\s\v]+\}$')
    gaps = pc.match_substring_regex(array, r"[{,][,}]")
    odd = pc.fill_null(pc.or_(pc.invert(plain), gaps), False)
    if odd.true_count == 0:
        return ordinary(list_of_words(array, element, from_text))
    if odd.true_count == len(array):
        return _read(array, element, from_text)
    usual = ordinary(list_of_words(array.filter(pc.invert(odd)), element, from_text))
    unusual = _read(array.filter(odd), element, from_text)
    is_odd = odd.to_numpy(zero_copy_only=False)
    places = np.where(is_odd, len(usual) + np.cumsum(is_odd) - 1, np.cumsum(~is_odd) - 1)
    return pa.concat_arrays([usual, unusual]).take(pa.array(places))


def _read(texts: pa.Array, element: SqlType, from_text: FromText) -> pa.Array:
    """Each distinct text by itself, and all of their elements at once."""
    encoded = texts.dictionary_encode()
    parsed = [parse_array(text) for text in encoded.dictionary.to_pylist()]
    lengths = [len(words) for words, _ in parsed]
    words = texts_of([word for words, _ in parsed for word in words])
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths, dtype=np.int32))), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, by_slices(lambda some: from_text(some, element), words))
    distinct = with_shapes(lists, pa.array([shape for _, shape in parsed], SHAPE_TYPE))
    return distinct.take(encoded.indices)


_BOUND: Final = re.compile(r"[\d+-]*", re.ASCII)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[{},]|[ \t\n\r\v\f]+|[^{}",\\ \t\n\r\v\f]+', re.DOTALL)


def parse_array(text: str) -> tuple[list[str | None], list[int] | None]:
    """The words of an array's text, row by row, and its shape."""
    at, lengths, lowers = _bounds(text)
    given = list(lengths)
    if given:
        if text[at : at + 1] != "=":
            raise malformed("array", text, 'Missing "=" after array dimensions.')
        at = _after_space(text, at + 1)
    if text[at : at + 1] != "{":
        detail = 'Array value must start with "{" or dimension information.'
        raise malformed("array", text, 'Array contents must start with "{".' if given else detail)
    found = _Contents(text)
    lengths = found.read(at)
    if given and lengths != given:
        raise malformed("array", text, "Specified array dimensions do not match array contents.")
    for low, length in zip(lowers, lengths, strict=False):
        if low + length > _INT4_MAX:
            raise UserError(f"array lower bound is too large: {low}", "54000")
    shape = shape_of(lengths, lowers or [1] * len(lengths)) if lengths else None
    return found.words, shape


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in SPACE:
        at += 1
    return at


def _bounds(text: str) -> tuple[int, list[int], list[int]]:
    """Where the contents begin; the lengths and lower bounds that are written before them."""
    lengths: list[int] = []
    lowers: list[int] = []
    at = _after_space(text, 0)
    while text[at : at + 1] == "[":
        if len(lengths) == DIMENSIONS_MAX:
            raise too_many_dimensions(DIMENSIONS_MAX + 1)
        first, at = _bound(text, at + 1, '"[" must introduce explicitly-specified array dimensions.')
        low, high = 1, first
        if text[at : at + 1] == ":":
            low = first
            high, at = _bound(text, at + 1, "Missing array dimension value.")
        if text[at : at + 1] != "]":
            raise malformed("array", text, 'Missing "]" after array dimensions.')
        if high < low:
            raise UserError("upper bound cannot be less than lower bound", "2202E")
        lengths.append(high - low + 1)
        lowers.append(low)
        at = _after_space(text, at + 1)
    return at, lengths, lowers


def _bound(text: str, at: int, lacking: str) -> tuple[int, int]:
    found = _BOUND.match(text, at)
    if found is None or not found.group():
        raise malformed("array", text, lacking)
    # The number is what C's atoi would make of it.
    number = re.match(r"[+-]?\d+", found.group())
    value = int(number.group()) if number else 0
    return max(min(value, _INT4_MAX), -_INT4_MAX - 1), found.end()


@dataclass(slots=True)
class _Contents:
    """What is inside of the braces, token by token; PostgreSQL's own automaton."""

    text: str
    words: list[str | None] = field(default_factory=list)
    state: str = "none"  # or level/element/quoted and started/completed/delimited
    level: int = 0
    dimensions: int = 1
    counts: list[int] = field(default_factory=lambda: [0] * (DIMENSIONS_MAX + 1))
    here: list[int] = field(default_factory=lambda: [1] * (DIMENSIONS_MAX + 1))
    before: list[int] = field(default_factory=lambda: [0] * (DIMENSIONS_MAX + 1))
    word: str = ""
    kept: int = 0  # how much of the word blanks may not be taken from
    quoted: bool = False

    def read(self, at: int) -> list[int]:
        """The lengths of all dimensions; none if there is no element."""
        while True:
            pace.step()
            found = _TOKEN.match(self.text, at)
            if found is None:  # the end, a quote that is not closed, a backslash before the end
                self._piece(self.text[at : at + 1] * 2 or " ")
                raise self._wrong("Unexpected end of input.")
            token, at = found.group(), found.end()
            match token[0]:
                case "{":
                    self._open()
                case "}":
                    self._close()
                    if self.level == 0:
                        break
                case ",":
                    self._delimit()
                case _:
                    self._piece(token)
        if self.text[at:].strip(SPACE):
            raise self._wrong("Junk after closing right brace.")
        return self.counts[: self.dimensions] if self.words else []

    def _wrong(self, detail: str) -> UserError:
        return malformed("array", self.text, detail)

    def _unexpected(self, character: str) -> UserError:
        return self._wrong(f'Unexpected "{character}" character.')

    def _open(self) -> None:
        if self.state not in ("none", "level started", "level delimited"):
            raise self._unexpected("{")
        if self.level == DIMENSIONS_MAX:
            raise too_many_dimensions(DIMENSIONS_MAX + 1)
        self.state = "level started"
        self.counts[self.level] = 0
        self.level += 1
        self.dimensions = max(self.dimensions, self.level)

    def _close(self) -> None:
        if self.state == "level started" and self.level != 1:
            raise self._unexpected("}")
        if self.state not in ("element started", "quoted completed", "level completed", "level started"):
            raise self._unexpected("}")
        self._end_word()
        ended = self.state != "level completed"
        self.state = "level completed"
        self.level -= 1
        if self.before[self.level] not in (0, self.here[self.level]):
            raise self._wrong("Multidimensional arrays must have sub-arrays with matching dimensions.")
        self.counts[self.level] = self.here[self.level]
        self.before[self.level] = self.here[self.level]
        self.here[self.level] = 1
        if ended and self.level + 1 != self.dimensions:
            raise self._wrong("Multidimensional arrays must have sub-arrays with matching dimensions.")

    def _delimit(self) -> None:
        if self.state not in ("element started", "quoted completed", "level completed"):
            raise self._unexpected(",")
        self._end_word()
        self.state = "level delimited" if self.state == "level completed" else "element delimited"
        self.here[self.level - 1] += 1

    def _piece(self, token: str) -> None:
        if token[0] in SPACE:
            if self.state == "element started":
                self.word += token
            return
        begins = self.state in ("level started", "element delimited")
        if token[0] == '"':
            if not begins:
                raise self._wrong("Unexpected array element.")
            self.word, self.quoted = unescaped(token[1:-1]), True
            self.state = "quoted completed"
            return
        if not begins and self.state != "element started":
            raise self._unexpected("\\") if token[0] == "\\" else self._wrong("Unexpected array element.")
        self.state = "element started"
        self.quoted = self.quoted or token[0] == "\\"
        self.word += token[1:] if token[0] == "\\" else token
        self.kept = len(self.word)

    def _end_word(self) -> None:
        if self.state == "element started":
            self.word = self.word[: self.kept]
        elif self.state != "quoted completed":
            return
        is_null = not self.quoted and self.word.lower() == "null"
        self.words.append(None if is_null else self.word)
        self.word, self.kept, self.quoted = "", 0, False
