"""Batches in slices: what is computed between two steps should not leave the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from headwater.core import pace
from headwater.core.limits import DECODE_SLICE_BYTES_MAX, DECODE_SLICE_MESSAGES_MAX
from headwater.decode.contract import Decoded, Decoder
from headwater.formats.spans import Numbers, bytes_of


def sliced(decoder: Decoder) -> Decoder:
    """The same decoder, which is given a slice at a time."""

    def decode(messages: pa.Array) -> Decoded:
        _, offsets = bytes_of(messages)
        parts = [decoder(messages[first:end]) for first, end in pace.paced(_slices(offsets))]
        if len(parts) == 1:
            return parts[0]
        columns = tuple(
            pa.concat_arrays(list(column)) for column in zip(*(p.columns for p in parts), strict=True)
        )
        if all(part.errors is None for part in parts):
            return Decoded(columns)
        errors = [
            pa.nulls(len(part.columns[0]), pa.string()) if part.errors is None else part.errors
            for part in parts
        ]
        return Decoded(columns, pa.concat_arrays(errors))

    return decode


def _slices(offsets: Numbers) -> Iterator[tuple[int, int]]:
    """First and last row of each; one at least, even if it is empty, and of a long message alone."""
    count = len(offsets) - 1
    first = 0
    while True:
        fitting = int(np.searchsorted(offsets, offsets[first] + DECODE_SLICE_BYTES_MAX, "right")) - 1
        end = min(max(fitting, first + 1), first + DECODE_SLICE_MESSAGES_MAX, count)
        yield first, end
        first = end
        if first >= count:
            return
