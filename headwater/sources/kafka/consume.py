"""Messages of a stretch of a topic, as columns, batch by batch.

    stretches [(partition, start, end), ...] --consumer--> Messages, in each partition in its order

Only what is committed comes; offsets between that hold no message (compacted, aborted, control records)
are passed.  A stretch is at its end when the partition has been read to there: by a message at or after
the end, or by the broker's word that there is nothing more.

A worker keeps its consumers from tick to tick, with what they have fetched ahead: whoever goes on where the
stretch before ended gets that, and nothing is fetched twice.

Not here: what messages become (rows.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final, cast

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError
from headwater.core.limits import (
    KAFKA_BATCH_BYTES,
    KAFKA_BATCH_MESSAGES,
    KAFKA_BATCH_MESSAGES_FIRST,
    KAFKA_CONSUMERS_KEPT_MAX,
    KAFKA_FETCHED_AHEAD_KIB_MAX,
    KAFKA_SILENCE_S_MAX,
)
from headwater.sources.contract import Options, Secrets
from headwater.sources.kafka.connection import NAMESPACE, Trouble, fingerprint, settings, trouble

Stretch = tuple[int, int, int]
"""A partition, and the offsets [start, end) of it."""

_WAIT_S: Final = 0.1

_VALUE, _KEY, _OFFSET, _PARTITION, _TIME, _HEADERS = map(
    methodcaller, ("value", "key", "offset", "partition", "timestamp", "headers")
)
_ERROR: Final = methodcaller("error")

HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages; columns are made when they are asked for."""

    found: Sequence[Message]

    def __len__(self) -> int:
        return len(self.found)

    def values(self) -> pa.Array:
        return pa.array(list(map(_VALUE, self.found)), pa.binary())

    def keys(self) -> pa.Array:
        return pa.array(list(map(_KEY, self.found)), pa.binary())

    def offsets(self) -> pa.Array:
        return pa.array(list(map(_OFFSET, self.found)), pa.int64())

    def partitions(self) -> pa.Array:
        return pa.array(list(map(_PARTITION, self.found)), pa.int32())

    def times(self) -> pa.Array:
        """In milliseconds; NULL where the message has none."""
        told = [time if kind else None for kind, time in map(_TIME, self.found)]
        return pa.array(told, pa.int64()).cast(pa.timestamp("ms"))

    def headers(self) -> pa.Array:
        told = [
            [{"key": key, "value": _bytes(value)} for key, value in headers or ()]
            for headers in map(_HEADERS, self.found)
        ]
        return pa.array(told, HEADERS)


def place_of(message: Message) -> tuple[int, int]:
    """The partition and the offset of a message that was read."""
    return cast(int, message.partition()), cast(int, message.offset())


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


class Consumption:
    """A consumer of one topic, and where it stands."""

    def __init__(self, options: Options, made: Mapping[str, Any]) -> None:
        self._topic: str = options["topic"]
        self._brokers = ",".join(options["connection"]["brokers"])
        self._trouble = Trouble()
        self._next: dict[int, int] = {}  # by partition that is assigned, the offset of what comes next
        self._ahead: dict[int, list[Message]] = {}  # what came beyond the end of a stretch
        self._ended: dict[int, int] = {}  # where there was nothing more; that is said once
        self._at_once = KAFKA_BATCH_MESSAGES_FIRST
        self._consumer = Consumer(
            {
                **made,
                "group.id": options["group_id"],
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "allow.auto.create.topics": False,
                "check.crcs": True,
                "fetch.wait.max.ms": 100,
                "queued.min.messages": 10_000,
                "queued.max.messages.kbytes": KAFKA_FETCHED_AHEAD_KIB_MAX,
                "fetch.message.max.bytes": 4 * 1024 * 1024,
                "error_cb": self._trouble,
            }
        )

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Messages]:
        """The messages of these stretches."""
        missing = {partition: end for partition, start, end in stretches if start < end}
        self._assign({partition: start for partition, start, _ in stretches})
        for partition, end in list(missing.items()):
            found = self._taken_ahead(partition, end)
            if found:
                yield Messages(found)
            if self._next[partition] >= end:
                del missing[partition]
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_SILENCE_S_MAX
        while missing:
            came = self._consume(sum(end - self._next[partition] for partition, end in missing.items()))
            if came:
                deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_SILENCE_S_MAX
            elif SYSTEM_CLOCK.monotonic_s() > deadline:
                raise trouble(self._trouble.reason(KafkaError(KafkaError._TIMED_OUT)), self._brokers)
            found = self._sorted_out(came, missing)
            if found:
                yield Messages(found)

    def close(self) -> None:
        with suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _assign(self, starts: Mapping[int, int]) -> None:
        """Go on where it stands if that is where all of them begin, or begin there."""
        if self._next.keys() == starts.keys() and all(self._next[p] == start for p, start in starts.items()):
            return
        self._next, self._ahead, self._ended = dict(starts), {}, {}
        places = [TopicPartition(self._topic, partition, start) for partition, start in starts.items()]
        try:
            self._consumer.assign(places)
        except KafkaException as error:
            raise trouble(error.args[0], self._brokers) from error

    def _taken_ahead(self, partition: int, end: int) -> list[Message]:
        waiting = self._ahead.pop(partition, [])
        found = [message for message in waiting if place_of(message)[1] < end]
        if len(found) < len(waiting):
            self._ahead[partition] = waiting[len(found) :]
            self._next[partition] = end
        elif self._ended.get(partition, 0) >= end:
            self._next[partition] = end
        elif found:
            self._next[partition] = place_of(found[-1])[1] + 1
        return found

    def _consume(self, wanted: int) -> list[Message]:
        """So many at most, since it is waited until they are all there."""
        try:
            came = list(self._consumer.consume(min(wanted, self._at_once), _WAIT_S))
        except KafkaException as error:
            raise trouble(self._trouble.reason(error.args[0]), self._brokers) from error
        if came:
            mean_bytes = sum(map(len, came)) // len(came) + 1
            self._at_once = max(1, min(KAFKA_BATCH_MESSAGES, KAFKA_BATCH_BYTES // mean_bytes))
        return came

    def _sorted_out(self, came: list[Message], missing: dict[int, int]) -> list[Message]:
        """Those before the end of their stretch; `missing` loses those that are at it."""
        last: dict[int, int] = dict(zip(map(_PARTITION, came), map(_OFFSET, came), strict=True))
        simple = not any(map(_ERROR, came)) and all(
            partition in missing and offset < missing[partition] - 1 for partition, offset in last.items()
        )
        if simple:  # nothing ends here
            for partition, offset in last.items():
                self._next[partition] = offset + 1
            return came
        return [message for message in came if self._within(message, missing)]

    def _within(self, message: Message, missing: dict[int, int]) -> bool:
        partition, offset = place_of(message)
        error = message.error()
        if error is not None:
            self._told(error, message, missing)
            return False
        end = missing.get(partition)
        if end is None or offset >= end:
            self._ahead.setdefault(partition, []).append(message)
            if end is not None:
                self._next[partition] = end
                del missing[partition]
            return False
        self._next[partition] = offset + 1
        if offset + 1 == end:
            del missing[partition]
        return True

    def _told(self, error: KafkaError, message: Message, missing: dict[int, int]) -> None:
        partition, offset = place_of(message)
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended[partition] = offset
            end = missing.get(partition)
            if end is not None and offset >= end:
                self._next[partition] = end
                del missing[partition]
            return
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise TransientError(
                f'{NAMESPACE}: messages of partition {partition} of topic "{self._topic}" are gone that were'
                f" not read yet: the next is {self._next.get(partition)}"
            )
        if error.fatal() or not error.retriable():
            raise trouble(self._trouble.reason(error), self._brokers)


_kept: OrderedDict[str, Consumption] = OrderedDict()


@contextmanager
def consumption(options: Options, secrets: Secrets, keep: bool, share: str = "") -> Iterator[Consumption]:
    """A consumer of a source's topic; one that is to be kept is there again at the next tick.

    `share`: which of several that read the topic side by side.
    """
    made = settings(options["connection"], secrets)
    name = f"{options['topic']} {options['topic_id']} {options['group_id']} {share} {fingerprint(made)}"
    consumer = _kept.pop(name, None) if keep else None
    if consumer is None:
        try:
            consumer = Consumption(options, made)
        except (KafkaException, ValueError) as error:
            raise TransientError(f"{NAMESPACE}: {error}") from error
    try:
        yield consumer
    except BaseException:
        consumer.close()  # nobody knows where it stands
        raise
    if not keep:
        consumer.close()
        return
    _kept[name] = consumer
    while len(_kept) > KAFKA_CONSUMERS_KEPT_MAX:
        _kept.popitem(last=False)[1].close()
