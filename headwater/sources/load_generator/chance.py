"""Chance without state: a random number is a function of (seed, stream, index).

    draws(stream, index) = mix(key(seed, stream) + index * gamma)        splitmix64, counter-based

So any range of rows can be made on its own, in any order and any chunking, and
always comes out the same.  Nothing here remembers what was drawn before.

Not here: what is drawn.  Each generator names its own streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import gcd
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Draws: TypeAlias = npt.NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = 0.6180339887498949


@lru_cache(maxsize=4096)
def _key(seed: int, stream: str) -> np.uint64:
    digest = blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def mixed(z: Draws) -> Draws:
    """Every bit of the result depends on every bit of `z`, which is overwritten."""
    scratch = z >> np.uint64(30)
    z ^= scratch
    z *= _MIX_1
    np.right_shift(z, np.uint64(27), out=scratch)
    z ^= scratch
    z *= _MIX_2
    np.right_shift(z, np.uint64(31), out=scratch)
    z ^= scratch
    return z


@dataclass(frozen=True, slots=True)
class Chance:
    """All the random numbers of one seed."""

    seed: int

    def draws(self, stream: str, *indexes: IntArray) -> Draws:
        """64 random bits for every index (or tuple of them)."""
        z = np.full(indexes[0].shape, _key(self.seed, stream), np.uint64)
        for index in indexes:
            z += index.astype(np.uint64) * _GAMMA
            mixed(z)
        return z

    def below(self, count: int, stream: str, *indexes: IntArray) -> IntArray:
        """Whole numbers in [0, count), evenly spread; `count` up to 2**31."""
        z = self.draws(stream, *indexes)
        z >>= np.uint64(32)
        z *= np.uint64(count)
        z >>= np.uint64(32)
        return z.view(np.int64)

    def between(self, low: int, high: int, stream: str, *indexes: IntArray) -> IntArray:
        """Whole numbers in [low, high]."""
        return low + self.below(high - low + 1, stream, *indexes)

    def shares(self, stream: str, *indexes: IntArray) -> FloatArray:
        """Numbers in [0, 1)."""
        bits = self.draws(stream, *indexes) >> np.uint64(11)
        return bits.astype(np.float64) * 2.0**-53

    def bytes(self, width: int, stream: str, *indexes: IntArray) -> npt.NDArray[np.uint8]:
        """`width` random bytes for every index, as a matrix."""
        words = -(-width // 8)
        steps = np.arange(1, words + 1, dtype=np.uint64) * _GAMMA
        z = mixed(np.add.outer(self.draws(stream, *indexes), steps))
        return z.astype("<u8", copy=False).view(np.uint8)[:, :width]


@lru_cache(maxsize=256)
def _stride(count: int) -> int:
    """A step near the golden section that visits all of `count` places before any twice."""
    stride = max(1, round(count * _GOLDEN))
    while gcd(stride, count) != 1:
        stride += 1
    return stride


def scrambled(index: IntArray, count: int) -> IntArray:
    """A fixed rearrangement of [0, count): each place once, neighbours far apart."""
    return index * _stride(count) % count
