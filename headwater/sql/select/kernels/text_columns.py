"""Text functions by columns, for arguments that are constants, as in most queries.

Arrow counts code points, as Python and PostgreSQL do.  Anything else than what is said at each function is
left to the function over one row (texts.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.limits import KERNEL_SLICE_BYTES_MAX, KERNEL_VALUE_BYTES_MAX
from headwater.formats.spans import bytes_of, missing_of, picked, rows_with, text_of
from headwater.sql.select.kernels.kernel import Mask, Quick, constant_of, with_others

Made = tuple[pa.Array, "Mask | None"]

_ASCII: Final = np.uint8(127)
_ODD_SHARE: Final = 16
"""One row in so many may be left to the function over one row before a slower one over columns is quicker."""


def substring(texts: pa.Array, starts: pa.Array, counts: pa.Array) -> Made | None:
    """Not of a negative length, which is an error."""
    start, count = constant_of(starts), constant_of(counts)
    if start is None or count is None or count < 0:
        return None
    return pc.utf8_slice_codeunits(texts, max(start - 1, 0), max(start - 1 + count, 0)), None


def substring_from(texts: pa.Array, starts: pa.Array) -> Made | None:
    """From one place for all."""
    start = constant_of(starts)
    return None if start is None else (pc.utf8_slice_codeunits(texts, max(start - 1, 0)), None)


def overlaid(texts: pa.Array, news: pa.Array, starts: pa.Array, counts: pa.Array) -> Made | None:
    """In one place for all."""
    new, start, count = constant_of(news), constant_of(starts), constant_of(counts)
    if new is None or start is None or count is None or start <= 0 or start + count >= 2**31:
        return None
    if texts.nbytes + len(new.encode()) * len(texts) > KERNEL_VALUE_BYTES_MAX:
        return None
    before = pc.utf8_slice_codeunits(texts, 0, start - 1)
    behind = pc.utf8_slice_codeunits(texts, max(start - 1 + count, 0))
    return pc.binary_join_element_wise(before, new, behind, ""), None


def cut(texts: pa.Array, lengths: pa.Array, kinds: pa.Array) -> Made | None:
    """To the length of a type; of char(n) with spaces up to it."""
    length, kind = constant_of(lengths), constant_of(kinds)
    if length is None or kind is None or length <= 0:
        return None
    made = pc.utf8_slice_codeunits(texts, 0, length)
    if kind == "char":
        if length * len(texts) > KERNEL_VALUE_BYTES_MAX:
            return None
        made = pc.utf8_rpad(made, length, " ")
    return made, None


def fitted(texts: pa.Array, lengths: pa.Array, kinds: pa.Array) -> Made | None:
    """The same; longer ones are odd, since they may only have spaces there."""
    made = cut(texts, lengths, kinds)
    if made is None:
        return None
    long = pc.greater(pc.utf8_length(texts), lengths[0])
    return made[0], np.asarray(pc.fill_null(long, False).to_numpy(zero_copy_only=False))


def left(texts: pa.Array, counts: pa.Array) -> Made | None:
    """Also without so many at the end."""
    count = constant_of(counts)
    return None if count is None else (pc.utf8_slice_codeunits(texts, 0, count), None)


def right(texts: pa.Array, counts: pa.Array) -> Made | None:
    """Only so many, not without so many."""
    count = constant_of(counts)
    if count is None or count <= 0:
        return None
    return pc.utf8_slice_codeunits(texts, -count), None


def padded(at_left: bool) -> Quick:
    """With one character."""
    pad = pc.utf8_lpad if at_left else pc.utf8_rpad

    def run(texts: pa.Array, lengths: pa.Array, fills: pa.Array) -> Made | None:
        length, fill = constant_of(lengths), constant_of(fills)
        if length is None or fill is None or len(fill) != 1 or length <= 0:
            return None
        if length * len(fill.encode()) * len(texts) > KERNEL_VALUE_BYTES_MAX:
            return None
        return pc.utf8_slice_codeunits(pad(texts, length, fill), 0, length), None

    return run


def trimmed(name: str) -> Quick:
    """With any set of characters."""
    trim = {"b": pc.utf8_trim, "l": pc.utf8_ltrim, "r": pc.utf8_rtrim}[name]

    def run(texts: pa.Array, characters: pa.Array) -> Made | None:
        given = constant_of(characters)
        if given is None:
            return None
        return (trim(texts, given) if given else texts), None

    return run


def replaced(texts: pa.Array, olds: pa.Array, news: pa.Array) -> Made | None:
    """Where the result cannot be much longer."""
    old, new = constant_of(olds), constant_of(news)
    if old is None or new is None:
        return None
    if not old:
        return texts, None
    if texts.nbytes * max(len(new.encode()) // len(old.encode()), 1) > KERNEL_VALUE_BYTES_MAX:
        return None
    return pc.replace_substring(texts, old, new), None


def split_part(texts: pa.Array, separators: pa.Array, numbers: pa.Array) -> Made | None:
    """By one ASCII character, counted from the beginning."""
    separator, number = constant_of(separators), constant_of(numbers)
    if not separator or len(separator.encode()) > 1 or number is None or number <= 0:
        return None
    data, offsets = bytes_of(texts)
    found = np.flatnonzero(data == ord(separator))
    before = np.searchsorted(found, offsets)
    found = np.append(found, len(data))
    starts, stops = before[:-1] + number - 2, before[:-1] + number - 1
    last = len(found) - 1
    begins = offsets[:-1] if number == 1 else found[np.minimum(starts, last)] + 1
    ends = np.where(stops < before[1:], found[np.minimum(stops, last)], offsets[1:])
    there = starts < before[1:]
    lengths = np.where(there, ends - begins, 0)
    return picked(pa.string(), data, np.where(there, begins, 0), lengths, missing_of(texts)), None


def reversed_(texts: pa.Array) -> Made:
    """Byte by byte where all are ASCII; the few others are made such for that, and reversed apart."""
    data, offsets = bytes_of(texts)
    odd = rows_with(data > _ASCII, offsets)
    count = np.count_nonzero(odd)
    if not count:
        return pc.ascii_reverse(texts), None
    if count * _ODD_SHARE > len(texts):
        return pc.utf8_reverse(texts), None
    made = pc.ascii_reverse(text_of(pa.string(), data & _ASCII, offsets, missing_of(texts)))
    return with_others(made, odd, pc.utf8_reverse(texts.filter(pa.array(odd)))), None


def repeated(texts: pa.Array, counts: pa.Array) -> Made | None:
    """Where the result is not long."""
    count = constant_of(counts)
    if count is None or texts.nbytes * max(count, 1) > KERNEL_VALUE_BYTES_MAX:
        return None
    return pc.binary_repeat(texts, max(count, 0)), None


def translated(texts: pa.Array, olds: pa.Array, news: pa.Array) -> Made | None:
    """Of ASCII characters, which are no part of any other."""
    old, new = constant_of(olds), constant_of(news)
    if old is None or new is None or not (old + new).isascii():
        return None
    data, offsets = bytes_of(texts)
    table, kept = np.arange(256, dtype=np.uint8), np.ones(256, np.bool_)
    for place in range(len(old) - 1, -1, -1):  # the first of several counts
        kept[ord(old[place])] = place < len(new)
        table[ord(old[place])] = ord(new[place]) if place < len(new) else 0
    made = table[data]
    if not kept.all():
        there = kept[data]
        made = made[there]
        offsets = np.concatenate([[0], np.cumsum(there)])[offsets]
    return text_of(pa.string(), made, offsets, missing_of(texts)), None


_LOWER: Final = np.frombuffer(bytes(range(256)).lower(), np.uint8)
_UPPER: Final = np.frombuffer(bytes(range(256)).upper(), np.uint8)
_OF_WORD: Final = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])


def capitalized(texts: pa.Array) -> Made | None:
    """Of ASCII letters and digits; a long text takes its time, and has steps."""
    if not len(texts) or texts.nbytes > KERNEL_SLICE_BYTES_MAX:
        return None
    data, offsets = bytes_of(texts)
    inside = np.empty(len(data) + 1, np.bool_)
    inside[1:] = _OF_WORD[data]
    inside[offsets] = False
    made = np.where(inside[:-1], _LOWER[data], _UPPER[data])
    odd = ~pc.string_is_ascii(texts).fill_null(True).to_numpy(zero_copy_only=False)
    return text_of(pa.string(), made, offsets, missing_of(texts)), odd


def joined(separators: pa.Array, lists: pa.Array) -> Made:
    """What is not NULL."""
    values, rows = lists.flatten(), pc.list_parent_indices(lists)
    if values.null_count:
        there = values.is_valid()
        values, rows = values.filter(there), rows.filter(there)
    ends = np.cumsum([0, *np.bincount(rows, minlength=len(lists))])
    parts = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=lists.is_null())
    return pc.binary_join(parts, separators), None


def concatenated(lists: pa.Array) -> Made:
    """What is not NULL."""
    return joined(pa.scalar(""), lists)


_HEX: Final = np.array([int.from_bytes(b"%02x" % byte, "little") for byte in range(256)], "<u2")


def encoded(data: pa.Array, names: pa.Array) -> Made | None:
    """As hexadecimal digits."""
    if constant_of(names) != "hex":
        return None
    values, offsets = bytes_of(data)
    return text_of(pa.string(), _HEX[values].view(np.uint8), offsets * 2, missing_of(data)), None
