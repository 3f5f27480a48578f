"""Who encodes rows: the event loop what is small, a thread beside it what is large.

A hop to a thread and back takes as long as encoding a hundred small rows.

Not here: how rows are encoded (encode.py), the threads (coordinator/beside.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from headwater.coordinator.api import Result
from headwater.core.limits import ENCODE_AT_ONCE_BYTES_MAX
from headwater.pgwire.steps import Steps, call


def encoded(
    result: Result | None, rows: pa.RecordBatch, encode: Callable[[pa.RecordBatch], bytes]
) -> Steps[bytes]:
    """What `encode` makes of some rows of a result."""
    if result is None or result.beside is None or rows.nbytes <= ENCODE_AT_ONCE_BYTES_MAX:
        return encode(rows)
    return (yield from call(partial(result.beside, partial(encode, rows))))
