"""uuid: kept as canonical text, 16 bytes on the wire."""

from __future__ import annotations

import re
import uuid
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import UUID as TYPE
from headwater.core.types import SqlType
from headwater.formats.byte_columns import fixed, offsets_of, validity_of
from headwater.formats.columns import both_ways, map_distinct
from headwater.formats.kinds.kind import Kind
from headwater.formats.text_numbers import bad_syntax

_PLAIN: Final = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_NIBBLES: Final = np.zeros(256, np.uint8)
for _digit, _letter in enumerate(b"0123456789abcdef"):
    _NIBBLES[_letter] = _digit
for _digit, _letter in enumerate(b"ABCDEF"):
    _NIBBLES[_letter] = 10 + _digit


def _from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    plain = pc.match_substring_regex(array, _PLAIN)
    return both_ways(array, plain, pc.utf8_lower, lambda values: map_distinct(values, _one, pa.string()))


def _one(text: str) -> str:
    body = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    digits = re.sub(r"([0-9a-f]{4})-(?=[0-9a-f])", r"\1", body.lower())
    if len(digits) != 32 or not all(digit in "0123456789abcdef" for digit in digits):
        raise bad_syntax(TYPE, text)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    digits = pc.replace_substring(pc.fill_null(array, "0" * 32), "-", "")
    offsets = offsets_of(digits)
    data = np.frombuffer(digits.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    nibbles = _NIBBLES[data].reshape(len(array), 16, 2)
    packed = np.ascontiguousarray(nibbles[:, :, 0] << 4 | nibbles[:, :, 1])
    return fixed(packed.view("V16").reshape(len(array)), validity_of(array))


def _received(data: bytes, type_: SqlType) -> str:
    return str(uuid.UUID(bytes=data))


UUID: Final = Kind(from_text=_from_text, to_binary=_to_binary, binary_to_text=_received, unescaped=True)
