"""json and jsonb: kept as canonical text; jsonb is sent with the number of its version before it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headwater.core.types import SqlType
from headwater.formats.byte_columns import spliced, validity_of
from headwater.formats.columns import map_distinct
from headwater.formats.jsonb import canonical_json, canonical_jsonb
from headwater.formats.kinds.kind import Kind


def _json_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return map_distinct(array, canonical_json, pa.string())


def _jsonb_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return map_distinct(array, canonical_jsonb, pa.string())


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    return spliced([b"\x01", array.cast(pa.binary())], validity_of(array))


def _received(data: bytes, type_: SqlType) -> str:
    if data[:1] != b"\x01":
        raise ValueError("not version 1")
    return data[1:].decode()


JSON: Final = Kind(from_text=_json_from_text)
JSONB: Final = Kind(from_text=_jsonb_from_text, to_binary=_to_binary, binary_to_text=_received)
