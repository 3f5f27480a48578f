"""Texts of up to sixteen digits as integers, by columns: eight digits in a word, read together.

    "-12.5"     last word      . . . . 1 2 . 5       what is before the digits is zero, and so is a digit 0
                without point  . . . . . 1 2 5       of eight digits four pairs are made, of these two
                integer        125, one digit behind the point

What is done to a word costs the same for eight digits as for one, and nothing is done for each character.

Not here: which texts are such numbers, and what is done with them (numeric_columns.py, numeric_places.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headwater.formats.spans import WORD, Bytes, Mask, Numbers, Words, last_bytes, words_before

CHARACTERS_MAX: Final = 16
"""Of what stands before a place; one of them may be the point."""

_ONES: Final = np.uint64(0x0101010101010101)
_HIGHS: Final = np.uint64(0x8080808080808080)
ZEROS: Final = np.uint64(0x3030303030303030)
_POINT: Final = np.uint64(ord(".") ^ ord("0"))
_POINTS: Final = _ONES * _POINT
_BYTE: Final = np.uint64(8)
_LAST: Final = np.uint64(56)
"""As far as the last byte is from the first, in bits."""
_PAIRS: Final = tuple(
    (np.uint64((10**digits << bits) + 1), np.uint64(bits), np.uint64(kept))
    for digits, bits, kept in (
        (1, 8, 0x00FF00FF00FF00FF),
        (2, 16, 0x0000FFFF0000FFFF),
        (4, 32, 0x00000000FFFFFFFF),
    )
)
"""Each digit, pair or four of them is multiplied and added to the next, which is above it."""


def numbers_before(data: Bytes, ends: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """The integers of as many characters before each place, and how many digits are behind their point.

    Of no characters it is 0.
    """
    if not len(counts):
        return counts, counts
    words = words_before(data)
    last, moved, scales = _digits(words, ends, counts)
    if counts.max() <= WORD:
        return _value(last), scales
    first, among_first, more = _digits(words, np.maximum(ends - WORD, 0), counts - WORD)
    scales = np.where(among_first, more + WORD, scales)
    # Where a point was taken out of the last word, it has room for a digit of the first.
    last |= np.where(moved, first >> _LAST, 0)
    np.left_shift(first, _BYTE, out=first, where=moved)
    return _value(first) * 10**WORD + _value(last), scales


def digits_behind(data: Bytes, ends: Numbers, counts: Numbers) -> Numbers:
    """How many digits are behind the point of as many characters before each place; without one -1."""
    words = words_before(data)
    points = _points(_characters(words, ends, counts))
    behind = np.where(points != 0, _behind(points), -1)
    left = np.flatnonzero((points == 0) & (counts > WORD))
    passed = 0
    while len(left):
        passed += WORD
        points = _points(_characters(words, ends[left] - passed, counts[left] - passed))
        behind[left] = np.where(points != 0, _behind(points) + passed, -1)
        left = left[(points == 0) & (counts[left] > passed + WORD)]
    return behind


def digits_other_than_zero(data: Bytes, ends: Numbers, counts: Numbers) -> Mask:
    """Whether there are any among as many digits before each place."""
    words = words_before(data)
    found = np.asarray(_characters(words, ends, counts) != 0)
    left = np.flatnonzero(counts > WORD)
    passed = 0
    while len(left):
        passed += WORD
        found[left] |= _characters(words, ends[left] - passed, counts[left] - passed) != 0
        left = left[counts[left] > passed + WORD]
    return found


def _characters(words: Words, ends: Numbers, counts: Numbers) -> Words:
    """Up to eight before each place; of digits their values."""
    return (words[ends] ^ ZEROS) & last_bytes(counts)


def _points(words: Words) -> Words:
    """The highest bit of the byte that is the point, or none."""
    points = words ^ _POINTS
    points = (points - _ONES) & ~points & _HIGHS
    return np.asarray(points & -points)  # others above the lowest may be mistaken


def _behind(points: Words) -> Numbers:
    return ((64 - np.bitwise_count(points - 1)) >> 3).astype(np.int64)


def _digits(words: Words, ends: Numbers, counts: Numbers) -> tuple[Words, Mask, Numbers]:
    """Digits without their point, whether they had one, and how many are behind it."""
    digits = _characters(words, ends, counts)
    points = _points(digits)
    moved = points != 0
    if not moved.any():
        return digits, moved, np.zeros(len(counts), np.int64)
    scales = _behind(points)
    points >>= 7
    digits -= points * _POINT
    before = digits & (points - moved)
    digits += before * 255  # moved by a byte
    return digits, moved, scales


def _value(words: Words) -> Numbers:
    """Of eight digits, which are lost."""
    for factor, bits, kept in _PAIRS:
        words *= factor
        words >>= bits
        words &= kept
    return words.view(np.int64)
