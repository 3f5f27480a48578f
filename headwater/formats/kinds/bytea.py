"""bytea: bytes as they are, shown in hexadecimal digits."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headwater.core.types import SqlType
from headwater.formats import text_numbers
from headwater.formats.kinds.kind import Kind, unmodified


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    return array.cast(pa.binary())


def _received(data: bytes, type_: SqlType) -> str:
    return "\\x" + data.hex()


BYTEA: Final = Kind(
    unmodified(text_numbers.bytes_to_text), unmodified(text_numbers.bytes_from_text), _to_binary, _received
)
