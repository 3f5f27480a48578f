"""Text, and kinds that are kept as text and sent as such."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import SqlType, format_type
from headwater.formats.columns import map_distinct
from headwater.formats.kinds.kind import Kind


def _limited(array: pa.Array, type_: SqlType) -> pa.Array:
    """Too long is an error unless only blanks are lost."""
    if type_.length is None:
        return array
    long = pc.fill_null(pc.greater(pc.utf8_length(array), type_.length), False)
    if not pc.any(long).as_py():
        return array
    lost = pc.utf8_slice_codeunits(array.filter(long), type_.length)
    if pc.any(pc.not_equal(pc.utf8_rtrim(lost, " "), "")).as_py():
        raise UserError(f"value too long for type {format_type(type_)}", "22001")
    return pc.utf8_slice_codeunits(array, 0, type_.length)


def _padded(array: pa.Array, type_: SqlType) -> pa.Array:
    limited = _limited(array, type_)
    return limited if type_.length is None else pc.utf8_rpad(limited, type_.length, " ")


def _one_byte_each(array: pa.Array, type_: SqlType) -> pa.Array:
    return map_distinct(array, one_byte, pa.string())


def one_byte(text: str) -> str:
    """What the type "char" keeps of a text: its first byte, which beyond ASCII is written in octal."""
    if re.fullmatch(r"\\[0-3][0-7]{2}", text):
        return shown_byte(int(text[1:], 8))
    return shown_byte(text.encode()[0]) if text else ""


def shown_byte(byte: int) -> str:
    """A value of type "char" as it is shown and stored."""
    return f"\\{byte:o}" if byte > 127 else chr(byte) if byte else ""


def _nothing(data: bytes, type_: SqlType) -> str:
    return ""


TEXT: Final = Kind()
VARCHAR: Final = Kind(from_text=_limited)
CHAR: Final = Kind(from_text=_padded)
BYTE: Final = Kind(from_text=_one_byte_each)
VOID: Final = Kind(binary_to_text=_nothing)
