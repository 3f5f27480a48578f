"""Batches of messages for tests of decoders: decoded and checked for what holds of all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headwater.decode.contract import Format
from headwater.formats.arrow import arrow_type


def decode(
    format_: Format, pinned: Mapping[str, Any], messages: Sequence[bytes]
) -> tuple[list[list[Any]], list[str | None]]:
    """The columns and the errors of a batch, which has rows of others before and behind it in memory."""
    around = pa.array([b"before", *messages, b"behind"], pa.binary())
    decoded = format_.decoder(pinned, _no_schema)(around.slice(1, len(messages)))
    columns = format_.columns(pinned)
    assert [array.type for array in decoded.columns] == [arrow_type(column.type) for column in columns]
    for array in decoded.columns:
        assert len(array) == len(messages)
        array.validate(full=True)
    if decoded.errors is None:
        errors: list[str | None] = [None] * len(messages)
    else:
        assert decoded.errors.type == pa.string()
        errors = decoded.errors.to_pylist()
    values = [array.to_pylist(maps_as_pydicts=None) for array in decoded.columns]
    for row, error in enumerate(errors):
        for column, listed in zip(columns, values, strict=True):
            assert error is None or listed[row] is None
            assert error is not None or column.nullable or listed[row] is not None
    return values, errors


def _no_schema(number: int) -> str:
    raise AssertionError(f"nobody should ask for schema {number}")


@st.composite
def corrupted(draw: st.DrawFn, messages: st.SearchStrategy[bytes]) -> bytes:
    """A message that was cut, or of which a bit was turned over, or with something behind it."""
    message = draw(messages)
    place = draw(st.integers(0, max(len(message) - 1, 0)))
    match draw(st.integers(0, 2)):
        case 0:
            return message[:place]
        case 1 if message:
            turned = message[place] ^ (1 << draw(st.integers(0, 7)))
            return message[:place] + bytes([turned]) + message[place + 1 :]
        case _:
            return message + draw(messages)
