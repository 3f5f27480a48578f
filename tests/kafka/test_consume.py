"""Stretches of partitions are read to their ends, whatever lies there, and nothing is fetched twice.

Method: one consumer on a real broker, asked for stretches as the ticks of a source would.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from headwater.core.clock import unique_name
from headwater.core.errors import TransientError
from headwater.sources.kafka.connection import settings
from headwater.sources.kafka.consume import Consumption, Stretch
from tests.support.kafka import KafkaServer
from tests.support.server import eventually
from tests.support.topics import Aborted


def no_secrets(id_: str) -> bytes:
    raise AssertionError(f"secret {id_} was not to be asked for")


class Reading:
    """A topic, and a consumer of it."""

    def __init__(self, kafka: KafkaServer) -> None:
        self.kafka, self.topic = kafka, f"c{unique_name()[:12]}"
        kafka.create_topic(self.topic, partitions=2)
        connection: dict[str, Any] = {"brokers": [kafka.address()], "security_protocol": "PLAINTEXT"}
        options = {"topic": self.topic, "group_id": unique_name(), "connection": connection}
        self.consumer = Consumption(options, settings(connection, no_secrets))

    def read(self, *stretches: Stretch) -> list[bytes | None]:
        began = time.monotonic()
        found = [message.value() for messages in self.consumer.read(stretches) for message in messages.found]
        assert time.monotonic() - began < 10
        return found

    def abort(self, partition: int, count: int = 1) -> None:
        """Messages that nobody sees, at the end of a partition."""
        with self.kafka.transaction() as write:
            write(self.topic, [(None, b"never", partition)] * count)
            raise Aborted
        self.settle()

    def settle(self) -> None:
        ends = self.kafka.end_offsets
        eventually(lambda: ends(self.topic) == ends(self.topic, committed=False))


@pytest.fixture
def reading(kafka: KafkaServer) -> Iterator[Reading]:
    made = Reading(kafka)
    with closing(made.consumer):
        yield made
    kafka.delete_topic(made.topic)


def test_what_comes_beyond_a_stretch_is_there_for_the_next(reading: Reading) -> None:
    reading.kafka.produce(reading.topic, [(None, b"%d" % n, 0) for n in range(10)])
    assert reading.read((0, 0, 3), (1, 0, 0)) == [b"0", b"1", b"2"]
    assert reading.read((0, 3, 3), (1, 0, 0)) == []
    assert reading.read((0, 3, 9), (1, 0, 0)) == [b"%d" % n for n in range(3, 9)]
    assert reading.read((0, 9, 10), (1, 0, 0)) == [b"9"]
    assert reading.read((0, 5, 7)) == [b"5", b"6"]


def test_an_aborted_transaction_is_the_end_of_a_stretch(reading: Reading) -> None:
    reading.kafka.produce(reading.topic, [(None, b"a", 0)])
    reading.abort(0)
    assert reading.read((0, 0, 3), (1, 0, 0)) == [b"a"]
    reading.abort(0, 3)
    assert reading.read((0, 3, 7), (1, 0, 0)) == []


def test_an_end_that_was_seen_too_early_is_remembered(reading: Reading) -> None:
    """While another partition is waited for, the broker says once that there is nothing more in this one."""
    reading.kafka.produce(reading.topic, [(None, b"a", 0)])
    reading.kafka.produce(reading.topic, [(None, b"b", 0)])
    found: list[list[bytes | None]] = []
    waiting = threading.Thread(target=lambda: found.append(reading.read((0, 0, 1), (1, 0, 1))))
    waiting.start()
    try:
        reading.abort(0)
        eventually(lambda: reading.consumer._ended.get(0) == 4, within_s=5)
    finally:
        reading.kafka.produce(reading.topic, [(None, b"c", 1)])
        waiting.join()
    assert found == [[b"a", b"c"]]
    assert reading.read((0, 1, 4), (1, 1, 1)) == [b"b"]
    assert reading.read((0, 4, 4), (1, 1, 1)) == []


def test_messages_that_are_gone_are_an_error(reading: Reading) -> None:
    reading.kafka.produce(reading.topic, [(None, b"%d" % n, 0) for n in range(5)])
    reading.kafka.delete_records(reading.topic, {0: 3})
    with pytest.raises(TransientError, match="are gone that were not read yet: the next is 1"):
        reading.read((0, 1, 5))
