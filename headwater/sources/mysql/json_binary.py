"""Documents as MySQL keeps them, as the text that it prints; and documents that only say what has changed.

    value      kind:1, then of an object or array
               count size (key: offset length:2)* (kind:1 offset, or a small value itself)* keys values
               where numbers have two bytes, or four in large ones, and offsets count from the count
    string     size:1-5, seven bits each; text         opaque   kind of column:1 size:1-5 bytes
    change     what:1 size:packed path [size:packed value]

Each value is looked at once, so what is spoiled cannot make it go round in circles: ValueError.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headwater.sources.mysql.decimals import decimal_texts
from headwater.sources.mysql.events import packed
from headwater.sources.mysql.temporal import packed_datetimes, packed_times, time_text

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = 0, 1, 2, 3, 4
_INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = 5, 6, 7, 8, 9, 10, 11, 12, 15
_NUMBERS: Final = {
    kind: struct.Struct(form)
    for kind, form in zip(range(_INT16, _DOUBLE + 1), ("<h", "<H", "<i", "<I", "<q", "<Q", "<d"), strict=True)
}
_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
_DEPTH_MAX: Final = 100
_SPOILED: Final = "a JSON document in the binary log cannot be read"
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_EXPONENTS: Final = range(-15, 15)
"""Of numbers that are printed without one; by the place of the point behind the first digit."""
_BASE64_LINE: Final = 76
_TIMESTAMP, _DATE, _TIME, _DATETIME, _DECIMAL = 7, 10, 11, 12, 246

Value = Any  # a text that is printed as it is, a dict, or a list


def json_text(data: bytes) -> str:
    """What MySQL prints of a document; ValueError if it cannot be read."""
    return _printed(document(data))


def document(data: bytes) -> Value:
    """A document, its scalars printed already."""
    if not data:
        return "null"
    try:
        return _Document(data).value(data[0], 1, 0)
    except (IndexError, struct.error, UnicodeDecodeError, KeyError) as error:
        raise ValueError(_SPOILED) from error


def _printed(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {_printed(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(_printed, value)) + "]"


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


class _Document:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left = len(data)  # of all that may still be looked at

    def value(self, kind: int, at: int, depth: int) -> Value:
        if kind <= _LARGE_ARRAY:
            if depth > _DEPTH_MAX:
                raise ValueError(_SPOILED)
            return self._container(kind, at, depth)
        if kind in _NUMBERS:
            (number,) = _NUMBERS[kind].unpack_from(self._data, at)
            return double_text(number) if kind == _DOUBLE else str(number)
        if kind == _LITERAL:
            return _LITERALS[self._data[at]]
        if kind == _STRING:
            return _quoted(self._sized(at).decode())
        if kind == _OPAQUE:
            return _opaque(self._data[at], self._sized(at + 1))
        raise ValueError(_SPOILED)

    def _container(self, kind: int, begin: int, depth: int) -> Value:
        large = kind in (_LARGE_OBJECT, _LARGE_ARRAY)
        width, form = (4, "<I") if large else (2, "<H")
        (count,) = struct.unpack_from(form, self._data, begin)
        self._spend(count)
        at = begin + 2 * width
        keys = None
        if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
            keys = [self._key(begin, at + place * (width + 2), form, width) for place in range(count)]
            at += count * (width + 2)
        values = self._values(begin, at, count, large, depth)
        return list(values) if keys is None else dict(zip(keys, values, strict=True))

    def _key(self, begin: int, at: int, form: str, width: int) -> str:
        (offset,) = struct.unpack_from(form, self._data, at)
        (length,) = struct.unpack_from("<H", self._data, at + width)
        return self._taken(begin + offset, length).decode()

    def _values(self, begin: int, at: int, count: int, large: bool, depth: int) -> Iterator[Value]:
        width, form = (4, "<I") if large else (2, "<H")
        inlined = (_LITERAL, _INT16, _UINT16, _INT32, _UINT32) if large else (_LITERAL, _INT16, _UINT16)
        for place in range(at, at + count * (width + 1), width + 1):
            kind = self._data[place]
            if kind in inlined:
                yield self.value(kind, place + 1, depth + 1)
            else:
                (offset,) = struct.unpack_from(form, self._data, place + 1)
                yield self.value(kind, begin + offset, depth + 1)

    def _sized(self, at: int) -> bytes:
        size = shift = 0
        while True:
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return self._taken(at, size)
            if shift > 28:
                raise ValueError(_SPOILED)

    def _taken(self, at: int, size: int) -> bytes:
        if at + size > len(self._data):
            raise ValueError(_SPOILED)
        self._spend(size)
        return self._data[at : at + size]

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError(_SPOILED)


def double_text(number: float) -> str:
    """The shortest text that is this number, as MySQL writes it."""
    if number == 0:
        return "-0.0" if str(number)[0] == "-" else "0.0"
    mantissa, _, exponent = f"{number!r}".partition("e")
    sign = "-" if mantissa[0] == "-" else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole.lstrip("0")) if whole != "0" else len(digits) - len(fraction)
    point += int(exponent or 0) - 1
    digits = digits.rstrip("0")
    if point not in _EXPONENTS:
        return f"{sign}{digits[0]}{f'.{digits[1:]}' if digits[1:] else ''}e{point}"
    if point < 0:
        return f"{sign}0.{'0' * (-point - 1)}{digits}"
    whole = digits[: point + 1].ljust(point + 1, "0")
    return f"{sign}{whole}.{digits[point + 1 :] or '0'}"


def _opaque(kind: int, data: bytes) -> str:
    if kind == _DECIMAL:
        precision, scale = data[0], data[1]
        raw = np.frombuffer(data[2:], np.uint8).reshape(1, -1)
        return decimal_texts(raw, precision, scale)[0]
    if kind in (_DATE, _DATETIME, _TIMESTAMP, _TIME) and len(data) == 8:
        number = np.frombuffer(data, "<i8")
        if kind == _TIME:
            return f'"{time_text(int(packed_times(number)[0]), 6)}"'
        return f'"{packed_datetimes(number).texts(None if kind == _DATE else 6).tobytes().decode()}"'
    text = base64.b64encode(data).decode()
    lines = "\\n".join(text[at : at + _BASE64_LINE] for at in range(0, len(text), _BASE64_LINE))
    return f'"base64:type{kind}:{lines}"'


# Documents that only say what has changed

_REPLACE, _INSERT, _REMOVE = 0, 1, 2
_LEG: Final = re.compile(r'\[([0-9]{1,9})\]|\.(?:"((?:[^"\\]|\\.)*)"|([^\W\d][\w$]*))', re.DOTALL)
_UNESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def changed_text(before: bytes, changes: bytes) -> str:
    """What MySQL prints of a document after changes; ValueError if it cannot be read."""
    value, at = document(before), 0
    while at < len(changes):
        what, at = changes[at], at + 1
        path, at = _piece(changes, at)
        given: Value = None
        if what in (_REPLACE, _INSERT):
            raw, at = _piece(changes, at)
            given = document(raw)
        elif what != _REMOVE:
            raise ValueError(_SPOILED)
        value = _change(value, what, _legs(path.decode()), given)
    return _printed(value)


def _piece(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = packed(data, at)
    if at + size > len(data):
        raise ValueError(_SPOILED)
    return data[at : at + size], at + size


def _legs(path: str) -> list[str | int]:
    if path[:1] != "$":
        raise ValueError(_SPOILED)
    legs: list[str | int] = []
    at = 1
    while at < len(path):
        leg = _LEG.match(path, at)
        if leg is None:
            raise ValueError(_SPOILED)
        cell, quoted, plain = leg.groups()
        if cell is not None:
            legs.append(int(cell))
        else:
            legs.append(_ESCAPE.sub(_unescape, quoted) if plain is None else plain)
        at = leg.end()
    return legs


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _UNESCAPES.get(match[2], match[2])


def _change(value: Value, what: int, legs: list[str | int], given: Value) -> Value:
    if not legs:
        return given
    inner = value
    try:
        for leg in legs[:-1]:
            inner = inner[leg]
        leg = legs[-1]
        if what == _REMOVE:
            del inner[leg]
        elif what == _REPLACE:
            if isinstance(leg, str) and leg not in inner:
                raise KeyError(leg)
            inner[leg] = given
        elif isinstance(leg, int):
            inner.insert(leg, given)
        else:
            inner[leg] = given
            _sort(inner)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("a JSON document in the binary log is not the one that its change is of") from error
    return value


def _sort(members: dict[str, Value]) -> None:
    """In MySQL's order of keys: by their length, then by their bytes."""
    ordered = sorted(members.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
    members.clear()
    members.update(ordered)
