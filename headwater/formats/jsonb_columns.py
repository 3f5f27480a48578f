"""Canonical texts of a column of JSON documents, all at once.

Documents of a topic have few skeletons: what is left when each string, number and literal is taken out
that is no key.  Python reads each skeleton once and says in which order constants and values make the
canonical text.

    {"b": "x","a":1}   is   {"b": *,"a":*}   with   "x"   and   1,   which makes   {"a":  1  , "b":  "x"  }

Values are looked at as columns of bytes.  One that is not canonical by itself (an exponent, an escape
that needs none) is read by `canonical_jsonb`, once for each distinct one.  Documents that are wrong, or
in doubt, are odd.

Not here: odd documents (jsonb.py says what is wrong with them).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.limits import SKELETON_BYTES_MAX, SKELETON_CACHED_BYTES_MAX
from headwater.formats.jsonb import Number, canonical_jsonb, print_value, too_deep
from headwater.formats.spans import Bytes, Mask, Numbers, bytes_of, joined_pieces, pieces_of, rows_of, spread

_QUOTE, _BACKSLASH, _COLON, _ZERO, _SPACE, _MARK = 34, 92, 58, 48, 32, 1
_ADJACENT: Final = bytes([_MARK, _MARK])
"""Two values with nothing between them are no JSON: their numbers would be read as one."""
_DIGITS_MAX: Final = 1_000
_LITERAL: Final = r"^(?:true|false|null|-?(?:0|[1-9][0-9]{0,99})\.[0-9]{0,99}[1-9]|-[1-9][0-9]{0,99})$"
_NEEDLESS_ZEROS: Final = (
    r"^(?:-?[1-9][0-9]{0,99}\.[0-9]{0,99}0|0\.[0-9]{0,99}0|-0\.[0-9]{0,98}[1-9][0-9]{0,99}0)$"
)


def _table(characters: str) -> Mask:
    return np.isin(np.arange(256), list(characters.encode()))


_BLANK: Final = _table(" \t\r\n")
_DIGIT: Final = _table("0123456789")
_BARE: Final = ~_table(' \t\r\n{}[]:,"')
_ESCAPED: Final = _table('"\\bfnrt')


@dataclass(frozen=True, slots=True)
class _Slots:
    """Where values stand: in the order of the text, with the row of each."""

    starts: Numbers
    ends: Numbers
    cut_ends: Numbers  # without the needless zeros of a number
    rows: Numbers
    firsts: Numbers  # for each row, and for the end, how many slots come before it
    odd: Mask  # not canonical by themselves

    def pieces(self) -> Numbers:
        """Which of the pieces between all bounds is which slot's."""
        return 2 * np.arange(len(self.starts)) + self.rows + 1


@dataclass(frozen=True, slots=True)
class _Plan:
    """Constants, and between each two of them the number of a slot."""

    constants: tuple[bytes, ...]
    slots: Numbers


def canonical_columns(texts: pa.Array) -> tuple[pa.Array, Mask]:
    """The canonical text of each document, and which ones are odd: theirs are not filled in."""
    data, offsets = bytes_of(texts)
    odd = np.zeros(len(texts), np.bool_)
    data = np.append(data, np.uint8(_SPACE))
    quotes, doubtful = _quotes(data, offsets, odd)
    if odd.any():  # an odd row must not disturb the others
        data[spread(offsets[:-1][odd], np.diff(offsets)[odd])] = _SPACE
    slots = _slots(data, offsets, odd, quotes, doubtful)
    return _assembled(data, offsets, odd, slots), odd


def _quotes(data: Bytes, offsets: Numbers, odd: Mask) -> tuple[Numbers, Numbers]:
    """Quotes that open and close strings, by turns; backslashes that should not be there."""
    control = np.flatnonzero(data < _SPACE)
    control = control[~_BLANK[data[control]]]
    if len(control):
        odd[rows_of(control, offsets)] = True
    quotes = np.flatnonzero(data == _QUOTE)
    doubtful = np.zeros(0, np.int64)
    backslashes = np.flatnonzero(data == _BACKSLASH)
    if len(backslashes):
        begins = np.diff(backslashes, prepend=-2) != 1
        place = np.arange(len(backslashes))
        escaping = backslashes[(place - np.maximum.accumulate(np.where(begins, place, 0))) % 2 == 0]
        doubtful = escaping[~_ESCAPED[data[escaping + 1]]]
        quotes = quotes[~np.isin(quotes, escaping + 1, assume_unique=True)]
    counts = np.diff(np.searchsorted(quotes, offsets))
    odd |= counts % 2 == 1
    if odd.any():
        quotes = quotes[~odd[rows_of(quotes, offsets)]]
    return quotes, doubtful


def _slots(data: Bytes, offsets: Numbers, odd: Mask, quotes: Numbers, doubtful: Numbers) -> _Slots:
    opening, closing = quotes[0::2], quotes[1::2]
    turns = np.zeros(len(data) + 1, np.int8)
    turns[opening] += 1
    turns[closing + 1] -= 1
    outside = np.cumsum(turns[:-1], dtype=np.int8) == 0
    broken = np.flatnonzero((data < _SPACE) & ~outside)
    if len(broken):
        odd[rows_of(broken, offsets)] = True
    bare = _BARE[data] & outside
    begins, ends = _runs(bare, offsets)
    after = closing + 1
    while (blank := _BLANK[data[after]] & (after < len(data) - 1)).any():
        after = after + blank
    of_value = data[after] != _COLON
    cut_ends, strange = _checked(data, bare, begins, ends)
    starts = np.concatenate([begins, opening[of_value]])
    order = np.argsort(starts, kind="stable")
    starts = starts[order]
    strange = np.concatenate([strange, np.zeros(int(of_value.sum()), np.bool_)])[order]
    ends = np.concatenate([ends, closing[of_value] + 1])[order]
    cut_ends = np.concatenate([cut_ends, closing[of_value] + 1])[order]
    if len(doubtful) and len(starts):
        within = np.maximum(np.searchsorted(starts, doubtful, "right") - 1, 0)
        strange[within[(starts[within] <= doubtful) & (doubtful < ends[within])]] = True
    return _Slots(starts, ends, cut_ends, rows_of(starts, offsets), np.searchsorted(starts, offsets), strange)


def _runs(bare: Mask, offsets: Numbers) -> tuple[Numbers, Numbers]:
    """Where runs of bare characters begin and end; none goes beyond its row."""
    before = np.concatenate([[False], bare[:-1]])
    before[offsets[:-1]] = False
    after = np.concatenate([bare[1:], [False]])
    after[offsets[1:][offsets[1:] > 0] - 1] = False
    return np.flatnonzero(bare & ~before), np.flatnonzero(bare & ~after) + 1


def _checked(data: Bytes, bare: Mask, begins: Numbers, ends: Numbers) -> tuple[Numbers, Mask]:
    """Ends of numbers without needless zeros; what is neither a canonical number nor a literal."""
    if not len(begins):
        return ends, np.zeros(0, np.bool_)
    lengths = ends - begins
    odd = (lengths > _DIGITS_MAX) | ((data[begins] == _ZERO) & (lengths > 1))
    letters = np.flatnonzero(bare & ~_DIGIT[data])
    if not len(letters):
        return ends, odd
    mixed = np.unique(np.searchsorted(begins, letters, "right") - 1)
    bounds = np.ravel(np.column_stack([begins[mixed], ends[mixed]]))
    words = pieces_of(data, bounds).take(pa.array(np.arange(0, len(bounds), 2))).cast(pa.string())
    odd[mixed] = ~pc.match_substring_regex(words, _LITERAL).to_numpy(zero_copy_only=False)
    zeros = pc.match_substring_regex(words, _NEEDLESS_ZEROS).to_numpy(zero_copy_only=False)
    if zeros.any():
        shorter = pc.utf8_rtrim(pc.utf8_rtrim(words.filter(pa.array(zeros)), "0"), ".")
        ends = ends.copy()
        ends[mixed[zeros]] = begins[mixed[zeros]] + pc.binary_length(shorter).to_numpy()
        odd[mixed[zeros]] = False
    return ends, odd


def _bounds(slots: _Slots, offsets: Numbers, starts: Numbers, ends: Numbers) -> Numbers:
    """Rows and slots as a line of bounds: a row has a piece before each slot, each slot, and the rest."""
    bounds = np.empty(len(offsets) + 2 * len(starts), np.int64)
    bounds[2 * slots.firsts + np.arange(len(offsets))] = offsets
    bounds[slots.pieces()] = starts
    bounds[slots.pieces() + 1] = ends
    return bounds


def _skeletons(data: Bytes, offsets: Numbers, slots: _Slots) -> pa.Array:
    """What is left of each document; of each value a mark."""
    marked = data.copy()
    marked[slots.starts] = _MARK
    pieces = pieces_of(marked, _bounds(slots, offsets, slots.starts + 1, slots.ends))
    left = np.ones(len(pieces), np.bool_)
    left[slots.pieces()] = False
    return joined_pieces(
        pieces.take(pa.array(np.flatnonzero(left))), slots.firsts + np.arange(len(offsets)), pa.binary()
    )


def _assembled(data: Bytes, offsets: Numbers, odd: Mask, slots: _Slots) -> pa.Array:
    """Constants and values of all rows, in the order of the canonical texts."""
    skeletons = _skeletons(data, offsets, slots).dictionary_encode()
    codes = skeletons.indices.to_numpy()
    plans = [_plan(skeleton) for skeleton in skeletons.dictionary.to_pylist()]
    odd |= np.array([plan is None for plan in plans], np.bool_)[codes]
    values = pieces_of(data, _bounds(slots, offsets, slots.starts, slots.cut_ends))
    places, read = _read_alone(values, odd, slots)
    made = [plan or _NOTHING for plan in plans]
    lengths = np.array([2 * len(plan.slots) + 1 for plan in made], np.int64)[codes]
    lengths[odd] = 1
    firsts = np.concatenate([[0], np.cumsum(lengths)])
    order = np.zeros(firsts[-1], np.int64)
    constants: list[bytes] = [b""]
    base = len(values) + len(read)
    by_code = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[by_code], np.arange(len(made) + 1))
    order[firsts[:-1][odd]] = base
    for code, plan in enumerate(made):
        rows = by_code[ends[code] : ends[code + 1]]
        rows = rows[~odd[rows]]
        heads = firsts[rows][:, None]
        order[heads + 2 * np.arange(len(plan.constants))] = (
            base + len(constants) + np.arange(len(plan.constants))
        )
        order[heads + 2 * np.arange(len(plan.slots)) + 1] = places[slots.firsts[rows][:, None] + plan.slots]
        constants += plan.constants
    source = pa.concat_arrays([values, read, pa.array(constants, pa.binary())])
    return joined_pieces(source.take(pa.array(order)), firsts, pa.string())


def _read_alone(values: pa.Array, odd: Mask, slots: _Slots) -> tuple[Numbers, pa.Array]:
    """Where each slot's text is, in `values` or behind them, and the texts behind them."""
    places = slots.pieces()
    if not slots.odd.any():
        return places, pa.array([], pa.binary())
    distinct = values.take(pa.array(places[slots.odd])).dictionary_encode()
    read = [_canonical(value.decode()) for value in distinct.dictionary.to_pylist()]
    numbers = distinct.indices.to_numpy()
    places[slots.odd] = len(values) + numbers
    odd[slots.rows[slots.odd][np.array([text is None for text in read], np.bool_)[numbers]]] = True
    return places, pa.array([text or "" for text in read], pa.string()).cast(pa.binary())


def _canonical(text: str) -> str | None:
    try:
        return canonical_jsonb(text)
    except UserError:
        return None


def _plan(skeleton: bytes) -> _Plan | None:
    """How documents with a skeleton are put together; None for what is in doubt."""
    if len(skeleton) > SKELETON_BYTES_MAX or b"\\u" in skeleton or _ADJACENT in skeleton:
        return None
    return _cached_plan(skeleton) if len(skeleton) <= SKELETON_CACHED_BYTES_MAX else _new_plan(skeleton)


def _new_plan(skeleton: bytes) -> _Plan | None:
    numbers = count()
    numbered = re.sub("\x01", lambda _: str(next(numbers)), skeleton.decode())
    try:
        value = _NUMBERED.decode(numbered)
    except (ValueError, RecursionError):
        return None
    if too_deep(value):
        return None
    printed = print_value(value)
    # Between two marks is a slot's number: a mark in a key would be escaped.
    parts = printed.split("\x01")
    return _Plan(
        tuple(part.encode() for part in parts[0::2]), np.array([int(part) for part in parts[1::2]], np.int64)
    )


_cached_plan: Final = lru_cache(maxsize=1024)(_new_plan)
_NUMBERED: Final = json.JSONDecoder(parse_int=lambda text: Number(f"\x01{text}\x01"))
_NOTHING: Final = _Plan((b"",), np.zeros(0, np.int64))
