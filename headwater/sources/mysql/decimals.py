"""Decimals as they lie in rows: groups of nine digits in four bytes; the first and the last may be smaller.

The highest bit of the first byte is set for what is not below zero; of what is, all bits are turned around.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.sources.mysql.events import Booleans, Bytes

_GROUP: Final = 9
_BASE: Final = np.uint64(10**_GROUP)
_SIZES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_WORD: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)
NARROW_DIGITS_MAX: Final = 38


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """The Arrow type of a decimal."""
    return (pa.decimal128 if precision <= NARROW_DIGITS_MAX else pa.decimal256)(precision, scale)


def decimals(raw: Bytes, precision: int, scale: int, missing: Booleans) -> pa.Array:
    """`raw`: the bytes of each, row by row."""
    raw = raw.copy()
    negative = raw[:, 0] & 0x80 == 0
    raw[negative] ^= 0xFF
    raw[:, 0] ^= 0x80
    words = _words(raw, precision, scale, 4 if precision <= NARROW_DIGITS_MAX else 8)
    flipped = words[negative] ^ _WORD
    carry = np.ones(len(flipped), np.uint64)
    for word in range(words.shape[1]):
        flipped[:, word] += carry
        carry = flipped[:, word] >> _SHIFT
    words[negative] = flipped & _WORD
    valid = np.packbits(~missing, bitorder="little")
    return pa.Array.from_buffers(
        decimal_type(precision, scale),
        len(raw),
        [pa.py_buffer(valid), pa.py_buffer(np.ascontiguousarray(words.astype("<u4")))],
    )


def _words(raw: Bytes, precision: int, scale: int, count: int) -> np.ndarray:
    """All digits as one number, in words of 32 bits, the lowest first."""
    words = np.zeros((len(raw), count), np.uint64)
    used = 0
    for at, digits in _groups(precision, scale):
        group = np.zeros(len(raw), np.uint64)
        for byte in range(at, at + _SIZES[digits]):
            group = group << np.uint64(8) | raw[:, byte]
        base = _BASE if digits == _GROUP else np.uint64(10**digits)
        used = min(used + 1, count)
        for word in range(used):
            group = words[:, word] * base + group
            words[:, word] = group & _WORD
            group >>= _SHIFT
    return words


def _groups(precision: int, scale: int) -> Iterator[tuple[int, int]]:
    """Where each group lies, and how many digits it has."""
    whole, at = precision - scale, 0
    for digits in (
        whole % _GROUP, *[_GROUP] * (whole // _GROUP), *[_GROUP] * (scale // _GROUP), scale % _GROUP,
    ):  # fmt: skip
        if digits:
            yield at, digits
            at += _SIZES[digits]


def decimal_texts(raw: Bytes, precision: int, scale: int) -> list[str]:
    """As the server prints them."""
    values = decimals(raw, precision, scale, np.zeros(len(raw), bool))
    return [format(value, "f") for value in values.to_pylist()]
