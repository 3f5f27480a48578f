"""TEXT and BYTES: a message is one value."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.relation import Column
from headwater.core.types import BYTEA
from headwater.core.types import TEXT as TEXT_TYPE
from headwater.decode.contract import Decoded, Format
from headwater.formats.spans import bytes_of, rows_of

_ZERO_BYTE: Final = 'invalid byte sequence for encoding "UTF8": 0x00'
_INVALID: Final = 'invalid byte sequence for encoding "UTF8"'


def text_and_errors(messages: pa.Array, format_name: str) -> tuple[pa.Array, pa.Array | None]:
    """Messages as text, NULL where they are none, and why they are none."""
    bad = _invalid(messages, 0)
    data, offsets = bytes_of(messages)
    zeros = rows_of(np.flatnonzero(data == 0), offsets)
    if not bad and not len(zeros):
        return messages.cast(pa.string()), None
    errors = np.full(len(messages), None, object)
    errors[zeros] = f"{format_name}: {_ZERO_BYTE}"
    errors[bad] = f"{format_name}: {_INVALID}"
    reasons = pa.array(errors, pa.string())
    return pc.if_else(reasons.is_null(), messages, pa.scalar(None, messages.type)).cast(pa.string()), reasons


def _invalid(messages: pa.Array, first: int) -> list[int]:
    """The rows that are not UTF-8; those that are go in large groups."""
    try:
        messages.cast(pa.string())
    except pa.ArrowInvalid:
        if len(messages) == 1:
            return [first]
        half = len(messages) // 2
        return [*_invalid(messages[:half], first), *_invalid(messages[half:], first + half)]
    return []


def _decode_text(messages: pa.Array) -> Decoded:
    texts, errors = text_and_errors(messages, "TEXT")
    return Decoded((texts,), errors)


TEXT: Final = Format(
    "text", lambda _: (Column("text", TEXT_TYPE, nullable=False),), lambda _pinned, _schema_of: _decode_text
)
BYTES: Final = Format(
    "bytes",
    lambda _: (Column("data", BYTEA, nullable=False),),
    lambda _pinned, _schema_of: lambda messages: Decoded((messages,)),
)
