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

from headwater.core import limits
from headwater.core.clock import unique_name
from headwater.core.errors import TransientError
from headwater.sources.kafka.connection import settings
from headwater.sources.kafka.consume import Consumption, Messages, Stretch
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
        options: dict[str, Any] = {"group_id": unique_name(), "connection": connection}
        self._options = options
        self.consumer = self.another()

    def another(self) -> Consumption:
        """A further consumer of the topic."""
        return Consumption(self._options, settings(self._options["connection"], no_secrets))

    def read(self, *stretches: tuple[int, int, int]) -> list[bytes | None]:
        """Of partitions of its topic."""
        return self.read_all(*((self.topic, number, start, end, -1) for number, start, end in stretches))

    def read_all(self, *stretches: Stretch) -> list[bytes | None]:
        began = time.monotonic()
        found: list[bytes | None] = []
        for messages in self.consumer.read(stretches):
            assert isinstance(messages, Messages)
            assert {message.topic() for message in messages.found} == {messages.topic}
            found += [message.value() for message in messages.found]
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
        eventually(lambda: reading.consumer._ended.get((reading.topic, 0)) == 4, within_s=5)
    finally:
        reading.kafka.produce(reading.topic, [(None, b"c", 1)])
        waiting.join()
    assert found == [[b"a", b"c"]]
    assert reading.read((0, 1, 4), (1, 1, 1)) == [b"b"]
    assert reading.read((0, 4, 4), (1, 1, 1)) == []


def test_what_comes_while_another_partition_is_waited_for_is_kept_within_bounds(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KAFKA_AHEAD_BYTES_MAX", 100_000)
    reading.kafka.produce(reading.topic, [(None, b"%d" % n, 0) for n in range(1_000)])
    found: list[list[bytes | None]] = []
    waiting = threading.Thread(target=lambda: found.append(reading.read((0, 0, 1), (1, 0, 1))))
    waiting.start()
    try:
        eventually(lambda: reading.consumer._ended.get((reading.topic, 0)) == 1_000, within_s=5)
        assert reading.consumer._ahead == {}
    finally:
        reading.kafka.produce(reading.topic, [(None, b"other", 1)])
        waiting.join()
    assert found == [[b"0", b"other"]]
    assert reading.read((0, 1, 101), (1, 1, 1)) == [b"%d" % n for n in range(1, 101)]
    assert reading.read((0, 101, 1_000), (1, 1, 1)) == [b"%d" % n for n in range(101, 1_000)]


def test_messages_that_are_gone_are_an_error(reading: Reading) -> None:
    reading.kafka.produce(reading.topic, [(None, b"%d" % n, 0) for n in range(5)])
    reading.kafka.delete_records(reading.topic, {0: 3})
    with pytest.raises(TransientError, match="are gone that were not read yet: the next is 1"):
        reading.read((0, 1, 5))


def test_messages_of_several_topics_come_by_topic(reading: Reading) -> None:
    other = f"{reading.topic}-other"
    reading.kafka.create_topic(other)
    try:
        reading.kafka.produce(reading.topic, [(None, b"a%d" % n, n % 2) for n in range(200)])
        reading.kafka.produce(other, [(None, b"b%d" % n) for n in range(200)])
        own = [(reading.topic, 0, 0, 100, 0), (reading.topic, 1, 0, 100, 0)]
        found = reading.read_all(*own, (other, 0, 0, 150, 0))
        assert set(found) == {b"a%d" % n for n in range(200)} | {b"b%d" % n for n in range(150)}
        assert len(found) == 350
        on = [(reading.topic, 0, 100, 100, 0), (reading.topic, 1, 100, 100, 0)]
        assert reading.read_all(*on, (other, 0, 150, 200, 0)) == [b"b%d" % n for n in range(150, 200)]
    finally:
        reading.kafka.delete_topic(other)


BLOCK: list[Any] = [(None, b"x" * 1000, n % 2) for n in range(100)]
BLOCK_BYTES = 100_000


def test_consumers_that_take_turns_fetch_each_message_once(reading: Reading) -> None:
    """As workers do among whom ticks go round."""
    topic, turns = reading.topic, 12
    with closing(reading.another()) as second, closing(reading.another()) as third:
        before = reading.kafka.bytes_out(topic)
        for turn in range(turns):
            consumer = (reading.consumer, second, third)[turn % 3]
            # What is still being asked for is answered by the first message that comes.
            reading.kafka.produce(topic, [(None, b"", 0), (None, b"", 1)])
            reading.kafka.produce(topic, BLOCK)
            start, end = turn * 51, (turn + 1) * 51
            stretches = [(topic, number, start, end, -1) for number in (0, 1)]
            assert sum(len(found) for found in consumer.read(stretches) if isinstance(found, Messages)) == 102
            consumer.rest()
        assert reading.kafka.bytes_out(topic) - before < 1.2 * turns * BLOCK_BYTES


def test_a_consumer_that_goes_on_where_it_stood_fetches_ahead(reading: Reading) -> None:
    topic = reading.topic
    for turn in range(3):
        reading.kafka.produce(topic, BLOCK)
        assert len(reading.read((0, turn * 50, turn * 50 + 50), (1, turn * 50, turn * 50 + 50))) == 100
        reading.consumer.rest()
    before = reading.kafka.bytes_out(topic)
    reading.kafka.produce(topic, BLOCK)
    eventually(lambda: reading.kafka.bytes_out(topic) - before >= BLOCK_BYTES)
    assert len(reading.read((0, 150, 200), (1, 150, 200))) == 100
    assert reading.kafka.bytes_out(topic) - before < 1.2 * BLOCK_BYTES
