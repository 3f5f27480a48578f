"""COPY data, read at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from headwater.core.relation import Column
from headwater.formats.copy import CopyFormat, CopyOptions, CopyReader, empty_batch

TEXT_OPTIONS: Final = CopyOptions()
CSV_OPTIONS: Final = CopyOptions(delimiter=",", null="")


def parse_copy(
    pieces: Iterable[bytes],
    format_: CopyFormat,
    options: CopyOptions,
    columns: tuple[Column, ...],
    table: str,
) -> pa.RecordBatch:
    """All of it, as texts and NULL."""
    reader = CopyReader(format_, options, columns, table)
    batches = [reader.write(piece) for piece in pieces]
    batches.append(reader.finish())
    some = [batch for batch in batches if batch is not None]
    return pa.concat_batches(some) if some else empty_batch(columns)
