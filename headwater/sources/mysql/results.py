"""Answers to queries as servers send them, taken apart column by column.

    packet    length:3 number:1 payload; one of 2^24-1 bytes goes on in the next
    answer    columns:packed, a packet for each column, an end, a packet for each row, an end
    row       for each column: NULL as one byte 251, or length:packed text

Only where packets begin is found one by one; what is in the rows is read from all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.limits import MYSQL_RESULT_BYTES

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

_LONG: Final = 0xFFFFFF
_ERROR, _END, _NULL = 0xFF, 0xFE, 0xFB
_END_BYTES_MAX: Final = 9
_PADDING: Final = bytes(16)


class Refusal(Exception):
    """An answer that is none."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code

    @staticmethod
    def of(payload: bytes) -> Refusal:
        """What a server says."""
        code, text = int.from_bytes(payload[1:3], "little"), payload[3:]
        return Refusal(code, (text[6:] if text[:1] == b"#" else text).decode("utf-8", "replace"))


def answer(receive: Callable[[int], bytes], width: int) -> Iterator[list[pa.Array]]:
    """The rows of an answer with so many columns, as columns of bytes; Refusal if the server has none.

    `receive`: some more bytes; EOFError if there are none any more.
    """
    packets = _Packets(receive)
    for _ in range(width + 2):
        packet = packets.one()
        if packet[0] == _ERROR:
            raise Refusal.of(packet)
    ended = False
    while not ended:
        data, starts, ended = packets.rows()
        if len(starts):
            yield columns(data, starts, width)


class _Packets:
    """The packets of one answer."""

    def __init__(self, receive: Callable[[int], bytes]) -> None:
        self._receive = receive
        self._data = bytearray()

    def _more(self) -> None:
        self._data += self._receive(MYSQL_RESULT_BYTES)

    def one(self) -> bytes:
        """The next one's payload."""
        payload = b""
        while True:
            while len(self._data) < 4 or len(self._data) < 4 + int.from_bytes(self._data[:3], "little"):
                self._more()
            size = int.from_bytes(self._data[:3], "little")
            payload += bytes(self._data[4 : 4 + size])
            del self._data[: 4 + size]
            if size < _LONG:
                return payload

    def rows(self) -> tuple[bytes, Integers, bool]:
        """The next rows: bytes, where each begins in them, and whether these were the last."""
        starts: list[int] = []
        at, ended = 0, False
        while True:
            at, ended, long = self._walk(starts, at)
            if ended or (starts and (long or at >= MYSQL_RESULT_BYTES)):
                break
            if long:
                return self.one() + _PADDING, np.zeros(1, np.int64), False
            self._more()
        data = bytes(self._data[:at]) + _PADDING
        del self._data[:at]
        return data, np.array(starts, np.int64), ended

    def _walk(self, starts: list[int], at: int) -> tuple[int, bool, bool]:
        """Finds where rows begin, from a place on: (where it stopped, whether at the end, whether at a row
        that is in several packets)."""
        data, size = self._data, len(self._data)
        while at + 4 < size:
            length = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            following = at + 4 + length
            if length == _LONG:
                return at, False, True
            if following > size:
                break
            kind = data[at + 4]
            if kind >= _END and (kind == _ERROR or length < _END_BYTES_MAX):
                if kind == _ERROR:
                    raise Refusal.of(bytes(data[at + 4 : following]))
                return at, True, False
            starts.append(at + 4)
            at = following
        return at, False, False


def columns(data: bytes, starts: Integers, width: int) -> list[pa.Array]:
    """The values of rows that begin at these places, as columns of bytes."""
    view, at = np.frombuffer(data, np.uint8), starts
    found = []
    for _ in range(width):
        first = view[at]
        lengths, begins = first.astype(np.int64), at + 1
        present = first != _NULL
        if not present.all():
            lengths[~present] = 0
        long = np.flatnonzero(first > _NULL)
        if len(long):
            lengths[long], begins[long] = _packed(view, at[long])
        found.append(_values(view, begins, lengths, present))
        at = begins + lengths
    return found


def _packed(view: Bytes, at: Integers) -> tuple[Integers, Integers]:
    """Lengths that have more than one byte, and where what they are of begins."""
    sizes = np.array([2, 3, 8])[view[at] - 252]
    shifts = np.arange(8) * 8
    every = view[at[:, None] + 1 + np.arange(8)].astype(np.int64)
    every[np.arange(8) >= sizes[:, None]] = 0
    lengths: Integers = (every << shifts).sum(axis=1)
    return lengths, at + 1 + sizes


def _values(view: Bytes, begins: Integers, lengths: Integers, present: npt.NDArray[np.bool_]) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.repeat(begins - offsets[:-1], lengths)
    places += np.arange(offsets[-1])
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(view[places])]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
