"""Messages as columns: what a message does not say is NULL."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Message,
)

from headwater.sources.kafka.consume import Messages


def test_a_message_without_a_time_has_none() -> None:
    told = (
        (TIMESTAMP_CREATE_TIME, 0),
        (TIMESTAMP_LOG_APPEND_TIME, 1_500),
        (TIMESTAMP_CREATE_TIME, -1),
        (TIMESTAMP_NOT_AVAILABLE, 0),
    )
    found = Messages("t", [Message(topic="t", timestamp=time) for time in told])
    epoch, later = datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 1, 500_000)
    assert found.times.to_pylist() == [epoch, later, None, None]


def test_a_time_beyond_all_timestamps_is_none() -> None:
    """Whoever produces may take nanoseconds for milliseconds."""
    last = (2**63 - 2) // 1000
    told = (last, last + 1, 1_700_000_000_000_000_000, 2**63 - 1)
    found = Messages("t", [Message(topic="t", timestamp=(TIMESTAMP_CREATE_TIME, time)) for time in told])
    assert found.times.cast(pa.int64()).to_pylist() == [last * 1000, None, None, None]
