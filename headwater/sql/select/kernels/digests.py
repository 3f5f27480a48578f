"""Kernels over bytes: digests, and bytes written as text.

Not here: bytea's own text (formats/kinds/bytea.py).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import zlib
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.formats.spans import WORD, Mask, bytes_of, last_bytes, missing_of, words_before
from headwater.sql.select.kernels import text_columns
from headwater.sql.select.kernels.kernel import Kernel, columnar, pieces, row_wise

_COMPARED_BYTES_MAX: Final = 64
"""Of values that are compared together."""
_DIGESTS: Final = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")


def _unknown_encoding(name: str) -> UserError:
    return UserError(f'unrecognized encoding: "{name}"', "22023")


def encode(data: bytes, name: str) -> str:
    """Bytes as text: hex, base64 or escape."""
    match name.lower():
        case "hex":
            return data.hex()
        case "base64":
            whole = base64.b64encode(data).decode()
            return "\n".join(whole[i : i + 76] for i in range(0, len(whole), 76))
        case "escape":
            return "".join(
                "\\\\" if byte == 0x5C else f"\\{byte:03o}" if byte == 0 or byte >= 0x80 else chr(byte)
                for piece in pieces(data)
                for byte in piece
            )
    raise _unknown_encoding(name)


def decode(text: str, name: str) -> bytes:
    """The reverse of `encode`."""
    match name.lower():
        case "hex":
            return _from_hex(text)
        case "base64":
            return _from_base64(text)
        case "escape":
            return _from_escape(text)
    raise _unknown_encoding(name)


def _unspaced(text: str) -> str:
    for space in " \n\t\r":
        text = text.replace(space, "")
    return text


def _refuse(pattern: str, text: str, message: str) -> None:
    """Complains about the first character that a text must not have."""
    for piece in pieces(text):
        wrong = re.search(pattern, piece)
        if wrong is not None:
            raise UserError(message.format(wrong.group()), "22023")


def _from_hex(text: str) -> bytes:
    digits = _unspaced(text)
    _refuse(r"[^0-9a-fA-F]", digits, 'invalid hexadecimal digit: "{}"')
    if len(digits) % 2:
        raise UserError("invalid hexadecimal data: odd number of digits", "22023")
    return bytes.fromhex(digits)


def _from_base64(text: str) -> bytes:
    body = _unspaced(text)
    _refuse(r"[^A-Za-z0-9+/=]", body, 'invalid symbol "{}" found while decoding base64 sequence')
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise UserError(
            "invalid base64 end sequence",
            "22023",
            hint="Input data is missing padding, is truncated, or is otherwise corrupted.",
        ) from None


def _from_escape(text: str) -> bytes:
    made: list[bytes] = []
    for found in pace.paced(re.finditer(rb"\\\\|\\[0-3][0-7]{2}|[^\\]{1,65536}|\\", text.encode())):
        part = found.group()
        if part == b"\\":
            raise UserError("invalid input syntax for type bytea", "22P02")
        if part[:1] != b"\\":
            made.append(part)
        else:
            made.append(b"\\" if part == b"\\\\" else bytes([int(part[1:], 8)]))
    return b"".join(made)


def _digest(data: bytes, name: str) -> bytes:
    if name.lower() not in _DIGESTS:
        raise UserError(f'Cannot use "{name}": No such hash algorithm', "22023")
    return hashlib.new(name.lower(), data, usedforsecurity=False).digest()


def _keyed(data: bytes, key: bytes, name: str) -> bytes:
    if name.lower() not in _DIGESTS:
        raise UserError(f'Cannot use "{name}": No such hash algorithm', "22023")
    return hmac.digest(key, data, name.lower())


def _utf8(data: bytes, encoding: str) -> str:
    if encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "unicode"):
        raise UserError(f'invalid source encoding name "{encoding}"', "22023")
    zero = data.find(b"\x00")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if not 0 <= zero < error.start:
            shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : error.end])
            raise UserError(f'invalid byte sequence for encoding "UTF8": {shown}', "22021") from None
    if zero >= 0:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
    return text


def _bytes_of(text: str, encoding: str) -> bytes:
    if encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "unicode"):
        raise UserError(f'invalid destination encoding name "{encoding}"', "22023")
    return text.encode()


def _byte_at(data: bytes, index: int) -> int:
    if not 0 <= index < len(data):
        raise UserError(f"index {index} out of valid range, 0..{len(data) - 1}", "2202E")
    return data[index]


def _same_bytes(one: pa.Array, other: pa.Array) -> tuple[pa.Array, Mask]:
    """Whether values are the same, in a time that depends on their lengths alone; long ones are odd."""
    missing = missing_of(one) | missing_of(other)
    (ours, starts), (theirs, others) = bytes_of(one), bytes_of(other)
    lengths = np.diff(starts)
    same = lengths == np.diff(others)
    odd = same & ~missing & (lengths > _COMPARED_BYTES_MAX)
    rows = np.flatnonzero(same & ~missing & ~odd)
    passed = np.arange(0, lengths[rows].max(initial=0), WORD)[:, None]
    words = words_before(ours)[np.maximum(starts[1:][rows] - passed, 0)]
    words ^= words_before(theirs)[np.maximum(others[1:][rows] - passed, 0)]
    words &= last_bytes(lengths[rows] - passed)
    same[rows] = np.bitwise_or.reduce(words, 0) == 0
    return pa.array(same, mask=missing), odd


KERNELS: Final[tuple[Kernel, ...]] = (
    columnar(row_wise("hw_encode", ("bytea", "text"), "text", encode), text_columns.encoded),
    row_wise("hw_decode", ("text", "text"), "bytea", decode),
    row_wise("hw_digest", ("bytea", "text"), "bytea", _digest),
    row_wise("hw_hmac", ("bytea", "bytea", "text"), "bytea", _keyed),
    columnar(
        row_wise("hw_constant_time_eq", ("bytea", "bytea"), "bool", hmac.compare_digest, raises=False),
        _same_bytes,
    ),
    row_wise("hw_crc32", ("bytea",), "int8", zlib.crc32, raises=False),
    row_wise("hw_convert_from", ("bytea", "text"), "text", _utf8),
    row_wise("hw_convert_to", ("text", "text"), "bytea", _bytes_of),
    row_wise("hw_get_byte", ("bytea", "int4"), "int4", _byte_at),
)
