"""Avro's bytes, read for many messages at a time: one place in each, which goes on from field to field.

    bytes of messages   [.....m0.....|...m1...|.......m2.......]
    at                     ^              ^     ^                 where each one's next value begins
    end                              ^        ^                ^  never read beyond

Whatever is read moves `at` by what it took, in all messages at once.  No length is believed: a value that
would pass its message's end is a fault of that message, whose place goes to its end and stays there.  So
nothing in one message can shift or change what is read of another.

Not here: what the numbers and bytes mean (avro_values.py), elements of arrays (avro_skip.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MARGIN: Final = 16
"""Bytes before and behind the messages, so that whole words can be read at both ends."""
_U64: Final = np.uint64
_HIGH_BITS: Final = _U64(0x8080808080808080)
_LOW_BITS: Final = _U64(0x7F7F7F7F7F7F7F7F)
_ONE: Final = _U64(1)
_FOLDS: Final = (
    (_U64(0x007F007F007F007F), _U64(0x7F007F007F007F00), _U64(1)),
    (_U64(0x00003FFF00003FFF), _U64(0x3FFF00003FFF0000), _U64(2)),
    (_U64(0x000000000FFFFFFF), _U64(0x0FFFFFFF00000000), _U64(4)),
)
"""Eight groups of seven bits, each in a byte, are put together: two, four, then all."""

ENDS_EARLY: Final = "message ends in the middle of a value"


@dataclass(frozen=True, slots=True)
class Page:
    """The bytes of some messages, and what was found wrong: by message, the first fault."""

    data: NDArray[np.uint8]
    words: NDArray[np.uint64]  # the eight bytes from each place on
    buffer: pa.Buffer
    faults: dict[int, str]

    @staticmethod
    def of(messages: pa.Array) -> tuple[Page, Cursor]:
        """A page, and a cursor at the beginning of every message."""
        offsets = np.frombuffer(messages.buffers()[1], np.int32, len(messages) + 1, messages.offset * 4)
        first, last = int(offsets[0]), int(offsets[-1])
        data = np.zeros(last - first + 2 * _MARGIN, np.uint8)
        if last > first:
            content = np.frombuffer(messages.buffers()[2], np.uint8, last - first, first)
            data[_MARGIN : _MARGIN + last - first] = content
        words: NDArray[np.uint64] = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, strides=(1,))
        page = Page(data, words, pa.py_buffer(data), {})
        places = offsets.astype(np.int64) - (first - _MARGIN)
        return page, Cursor(page, np.arange(len(messages)), places[:-1], places[1:], "")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in each of some messages; in one message there may be several, as of an array's elements."""

    page: Page
    rows: Places  # which messages
    at: Places
    end: Places
    place: str  # the field that is read, as errors call it

    def moved(self, at: Places, place: str | None = None) -> Cursor:
        """The same messages at other places."""
        return Cursor(self.page, self.rows, at, self.end, self.place if place is None else place)

    def some(self, chosen: Places, at: Places | None = None) -> Cursor:
        """Some of them, in order; at other places, if these are given for all."""
        places = self.at if at is None else at
        return Cursor(self.page, self.rows[chosen], places[chosen], self.end[chosen], self.place)

    def within(self, name: str) -> str:
        """What a field of this one is called."""
        return f"{self.place}.{name}" if self.place else name

    def fault(self, bad: Mask, why: str) -> None:
        """Remember what is wrong with messages."""
        reason = f'Avro: field "{self.place}": {why}' if self.place else f"Avro: {why}"
        for row in self.rows[bad].tolist():
            self.page.faults.setdefault(row, reason)

    def held(self, at: Places) -> Places:
        """Places that have been moved on; those beyond their message's end are faults, and stay there."""
        beyond = at > self.end
        if beyond.any():
            self.fault(beyond, ENDS_EARLY)
            return np.minimum(at, self.end)
        return at


def whole(cursor: Cursor) -> tuple[NDArray[np.int64], Places]:
    """Avro's int and long: seven bits a byte, the sign in the lowest; and the places behind."""
    first = cursor.page.data[cursor.at]
    if not first.size or first.max() < 0x80:
        values, at = first.astype(np.int64), cursor.at + 1
    else:
        values, at = _long_whole(cursor)
    beyond = at > cursor.end
    if beyond.any():
        cursor.fault(beyond, ENDS_EARLY)
        at, values = np.minimum(at, cursor.end), np.where(beyond, 0, values)
    return ((values >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(values & 1), at


def _long_whole(cursor: Cursor) -> tuple[NDArray[np.int64], Places]:
    word = cursor.page.words[cursor.at]
    stops = ~word & _HIGH_BITS
    kept = (stops & (~stops + _ONE)) - _ONE  # all bits below the one that says: no more bytes
    value = word & kept & _LOW_BITS
    for low, high, shift in _FOLDS:
        value = (value & low) | ((value & high) >> shift)
    at = cursor.at + ((np.bitwise_count(kept) + np.uint8(1)) >> np.uint8(3))
    longer = np.flatnonzero(stops == 0)
    if len(longer):
        some = cursor.some(longer)
        # A message may end before these bytes, which are another's then: the caller sees that from the place.
        ninth, tenth = cursor.page.data[some.at + 8], cursor.page.data[some.at + 9]
        more = ninth >= 0x80
        value[longer] |= (ninth & 0x7F).astype(_U64) << _U64(56)
        value[longer] |= np.where(more, tenth.astype(_U64) << _U64(63), _U64(0))
        at[longer] = some.at + np.where(more, 10, 9)
        wide = more & (tenth > 1) & (some.at + 10 <= some.end)
        if wide.any():
            some.fault(wide, "a number has more than 64 bits")
            at[longer[wide]] = some.end[wide]
    return value.view(np.int64), at


def spans(cursor: Cursor) -> tuple[Places, Places]:
    """Where bytes or a string begin and end."""
    length, begin = whole(cursor)
    bad = (length < 0) | (length > cursor.end - begin)
    if bad.any():
        negative = length < 0
        cursor.fault(negative, "a length is negative")
        cursor.fault(bad & ~negative, ENDS_EARLY)
        begin = np.where(bad, cursor.end, begin)
        length = np.where(bad, 0, length)
    return begin, begin + length


def binary(cursor: Cursor, begin: Places, end: Places) -> pa.Array:
    """The bytes from places to others, which are in order and do not overlap."""
    count = len(begin)
    if not count:
        return pa.array([], pa.binary())
    # Arrow copies what is wanted out of an array in which it alternates with what is between.
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2], offsets[1::2], offsets[-1] = begin, end, end[-1]
    mixed = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), cursor.page.buffer])
    return mixed.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))


def fixed_words(cursor: Cursor, size: int, dtype: str) -> tuple[NDArray[Any], Places]:
    """Numbers of 4 or 8 bytes each."""
    at = cursor.held(cursor.at + size)
    words = cursor.page.words[np.maximum(at - size, 0)]
    return (words.view(dtype) if size == 8 else words.astype(np.uint32).view(dtype)), at


def numbers(values: NDArray[Any], type_: pa.DataType) -> pa.Array:
    """Numbers as a column without NULLs, not copied."""
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
