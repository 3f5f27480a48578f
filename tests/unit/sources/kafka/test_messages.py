"""Messages as columns: what a message does not say is NULL."""

from __future__ import annotations

from datetime import datetime

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
    assert found.times().to_pylist() == [epoch, later, None, None]
