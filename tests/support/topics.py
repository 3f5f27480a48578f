"""What tests do with topics: make them, fill them, cut them, ask where they end.

    server.produce("t", [(b"k", b"v", 0, {"h": b"x"}, 1_700_000_000_000), (None, b"w")])
    with server.transaction() as write:         committed at its end, aborted if it fails
        write("t", [(b"k", b"v")])

Everything waits until the broker has said that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from headwater.core.clock import unique_name
from tests.support.server import eventually

DONE_S_MAX = 30
# Of what is asked again: one question may take all of the time that one has.
SETTLED_S_MAX = 120

Row = tuple[Any, ...]
"""Key, value, and perhaps the partition, headers and the time in ms; what is None is the broker's choice."""


class Aborted(Exception):
    """Raised in a transaction by a test that wants it aborted."""


class Topics:
    """Of a server with an address."""

    def address(self) -> str:
        raise AssertionError("said by the server")

    def admin(self) -> AdminClient:
        raise AssertionError("said by the server")

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, copies: int = 1
    ) -> None:
        """There, and every partition has a leader.

        A broker may hear late that a topic was deleted and made again: until then it takes messages for the
        former one, which go with it.
        """
        wanted = NewTopic(name, partitions, copies, config=dict(config or {}))
        _done(self.admin().create_topics([wanted]))
        self._led(name, partitions)
        eventually(lambda: self._is_new(name), SETTLED_S_MAX)

    def _is_new(self, name: str) -> bool:
        try:
            return set(self.end_offsets(name, committed=False).values()) == {0}
        except KafkaException:
            return False

    def delete_topic(self, name: str) -> None:
        _done(self.admin().delete_topics([name], operation_timeout=DONE_S_MAX))

    def add_partitions(self, name: str, total: int) -> None:
        """As many as `total` from now on."""
        _done(self.admin().create_partitions([NewPartitions(name, total)]))
        self._led(name, total)

    def topic_id(self, name: str) -> str:
        """Another one after the topic was dropped and made again."""
        return str(_one(self.admin().describe_topics(TopicCollection([name]))).topic_id)

    def leaders(self, name: str) -> dict[int, int]:
        """Partition -> node; -1 where there is none."""
        found = self.admin().list_topics(name, timeout=DONE_S_MAX).topics[name]
        return {number: partition.leader for number, partition in found.partitions.items()}

    def produce(self, topic: str, rows: Iterable[Row], **config: Any) -> None:
        """All rows are there when it returns."""
        producer = Producer(self._producing() | config)
        _write(producer, topic, rows)

    @contextmanager
    def transaction(
        self, name: str | None = None, config: Mapping[str, Any] | None = None
    ) -> Iterator[Callable[[str, Iterable[Row]], None]]:
        """Rows by `write(topic, rows)`: visible to read_committed at the end, and never if it raises.

        `Aborted` is taken for the wish that it is.
        """
        producer = Producer(
            self._producing() | {"transactional.id": name or unique_name()} | dict(config or {})
        )
        producer.init_transactions(DONE_S_MAX)
        producer.begin_transaction()
        try:
            yield lambda topic, rows: _write(producer, topic, rows)
        except Aborted:
            producer.abort_transaction(DONE_S_MAX)
        except BaseException:
            producer.abort_transaction(DONE_S_MAX)
            raise
        else:
            producer.commit_transaction(DONE_S_MAX)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Partition -> the first offset that stays."""
        _done(self.admin().delete_records([TopicPartition(topic, p, o) for p, o in before.items()]))

    def begin_offsets(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def end_offsets(self, topic: str, committed: bool = True) -> dict[int, int]:
        """Partition -> the offset after the last; for read_committed it is the last stable one."""
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._offsets(topic, OffsetSpec.latest(), level)

    def _offsets(self, topic: str, which: OffsetSpec, level: IsolationLevel) -> dict[int, int]:
        admin = self.admin()
        partitions = admin.list_topics(topic, timeout=DONE_S_MAX).topics[topic].partitions
        asked = {TopicPartition(topic, number): which for number in partitions}
        answers = admin.list_offsets(asked, isolation_level=level)
        return {place.partition: answer.result(DONE_S_MAX).offset for place, answer in answers.items()}

    def _producing(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address(), "linger.ms": 5, "log_level": 0}

    def _led(self, name: str, partitions: int) -> None:
        def led() -> bool:
            found = self.admin().list_topics(name, timeout=DONE_S_MAX).topics[name]
            leaders = [partition.leader for partition in found.partitions.values()]
            return found.error is None and len(leaders) == partitions and min(leaders) >= 0

        eventually(led, SETTLED_S_MAX)


def _write(producer: Producer, topic: str, rows: Iterable[Row]) -> None:
    refused: list[KafkaError] = []

    def said(error: KafkaError | None, _: object) -> None:
        if error is not None:
            refused.append(error)

    for row in rows:
        key, value, partition, headers, at_ms = row + (None,) * (5 - len(row))
        options: dict[str, Any] = {}
        if partition is not None:
            options["partition"] = partition
        if at_ms is not None:
            options["timestamp"] = at_ms
        if headers is not None:
            options["headers"] = headers
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=said, **options)
                break
            except BufferError:
                producer.poll(0.1)
    waiting = producer.flush(DONE_S_MAX)
    if refused:
        raise KafkaException(refused[0])
    if waiting:
        raise AssertionError(f"{waiting} rows for {topic} were not taken within {DONE_S_MAX} s")


def _done(futures: Mapping[Any, Future[Any]]) -> None:
    for future in futures.values():
        future.result(DONE_S_MAX)


def _one(futures: Mapping[Any, Future[Any]]) -> Any:
    (future,) = futures.values()
    return future.result(DONE_S_MAX)
