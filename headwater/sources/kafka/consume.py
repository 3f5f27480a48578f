"""Messages of stretches of topics, as columns, batch by batch.

    stretches [(topic, partition, start, end, epoch), ...] --consumer--> Messages of one topic, in each
                                                                         partition in its order

Only what is committed comes; offsets between that hold no message (compacted, aborted, control records)
are passed.  A stretch is at its end when the partition has been read to there: by a message at or after
the end, or by the broker's word that there is nothing more.

A worker keeps its consumers from tick to tick.  One that goes on where it stood itself also fetches ahead
meanwhile.  Where ticks go to one worker after the other, that would be fetched by each of them: a consumer
whose place was taken by another rests between its ticks.

A leader who was elected although he lacked messages has other ones under their offsets.  That is told by the
epochs of leaders: the broker is asked how far the epoch goes that a stretch begins with, now and whenever
the leader changes.  What comes then is `Truncated`, and nothing more of that topic.

Not here: what messages become (rows.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headwater.core import limits
from headwater.core.calendar import MOMENT_MAX
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError
from headwater.core.limits import (
    KAFKA_ANSWER_S_MAX,
    KAFKA_BATCH_BYTES,
    KAFKA_BATCH_MESSAGES,
    KAFKA_BATCH_MESSAGES_FIRST,
    KAFKA_CONSUMERS_KEPT_MAX,
    KAFKA_FETCHED_AHEAD_KIB_MAX,
    KAFKA_SILENCE_S_MAX,
)
from headwater.sources.contract import Options, Secrets
from headwater.sources.kafka.connection import NAMESPACE, Trouble, fingerprint, settings, trouble
from headwater.sources.kafka.frontier import NO_EPOCH

Partition = tuple[str, int]
"""A topic, and the number of one of its partitions."""

Stretch = tuple[str, int, int, int, int]
"""A partition, the offsets [start, end) of it, and the epoch of the leader who told its start; -1: nobody."""

_WAIT_S: Final = 0.1
_TIME_MAX: Final = MOMENT_MAX // 1000
_BESIDE_BYTES: Final = 400
"""What a message takes in memory beside its value, more or less."""
_NOT_THERE: Final = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError._LOG_TRUNCATION,
    KafkaError.OFFSET_OUT_OF_RANGE,
)

_VALUE, _KEY, _OFFSET, _TOPIC, _PARTITION, _TIME = map(
    methodcaller, ("value", "key", "offset", "topic", "partition", "timestamp")
)
_ERROR: Final = methodcaller("error")
_HEADERS: Final = methodcaller("headers")
_NO_TEXT: Final = (UnicodeDecodeError, SystemError)
"""Of a key that is not UTF-8; the second one: an answer was given as well."""


class Messages:
    """Some messages of a topic; each column is made when it is asked for, once for all tables."""

    def __init__(self, topic: str, found: Sequence[Message]) -> None:
        self.topic, self.found = topic, found
        self._some_of: tuple[Messages, Sequence[int]] | None = None

    def __len__(self) -> int:
        return len(self.found)

    def take(self, places: Sequence[int]) -> Messages:
        """Some of them."""
        taken = Messages(self.topic, [self.found[place] for place in places])
        taken._some_of = self, places
        return taken

    @cached_property
    def values(self) -> pa.Array:
        return pa.array(list(map(_VALUE, self.found)), pa.binary())

    @cached_property
    def keys(self) -> pa.Array:
        return pa.array(list(map(_KEY, self.found)), pa.binary())

    @cached_property
    def offsets(self) -> pa.Array:
        return pa.array(list(map(_OFFSET, self.found)), pa.int64())

    @cached_property
    def partitions(self) -> pa.Array:
        return pa.array(list(map(_PARTITION, self.found)), pa.int32())

    @cached_property
    def times(self) -> pa.Array:
        """NULL where the message has none, or one beyond all timestamps: producers may say anything."""
        told = [time if kind and 0 <= time <= _TIME_MAX else None for kind, time in map(_TIME, self.found)]
        return pa.array(told, pa.int64()).cast(pa.timestamp("ms")).cast(pa.timestamp("us"))

    @cached_property
    def headers(self) -> list[Sequence[Any] | None]:
        """A list of pairs for each message; None if it has a key that is no text.

        The client cannot give such a key: it raises an error, and whoever asks that message once more gets a
        list with nothing in its places, which ends the process.  So no message is asked twice.
        """
        if self._some_of is not None:
            whole, places = self._some_of
            return [whole.headers[place] for place in places]
        told: list[Sequence[Any] | None] = []
        messages = iter(self.found)
        while len(told) < len(self.found):
            try:
                told.extend(pairs or () for pairs in map(_HEADERS, messages))
            except _NO_TEXT:
                told.append(None)
        return told

    @cached_property
    def bytes(self) -> int:
        """Of keys and values, as they were sent."""
        return sum(pc.sum(pc.binary_length(part)).as_py() or 0 for part in (self.keys, self.values))


@dataclass(frozen=True, slots=True)
class Truncated:
    """Messages of a topic that were read are there no more: others may be under their offsets."""

    topic: str
    partition: int
    start: int  # up to where it was read


def place_of(message: Message) -> tuple[int, int]:
    """The partition and the offset of a message that was read."""
    return cast(int, message.partition()), cast(int, message.offset())


def _from(message: Message) -> Partition:
    return cast(str, message.topic()), cast(int, message.partition())


class Consumption:
    """A consumer of topics, and where it stands."""

    def __init__(self, options: Options, made: Mapping[str, Any]) -> None:
        self.usable = True  # whether it can be kept for what comes after
        self._brokers = ",".join(options["connection"]["brokers"])
        self._trouble = Trouble()
        self._next: dict[Partition, int] = {}  # by partition that is assigned, the offset of what comes next
        self._ahead: dict[Partition, list[Message]] = {}  # what came beyond the end of a stretch
        self._ahead_bytes = 0
        self._passing = False  # whether that was too much: it is passed over, and fetched again
        self._ended: dict[Partition, int] = {}  # where there was nothing more; that is said once
        self._topics: set[str] = set()  # those that are assigned
        self._truncated: list[Truncated] = []  # not told yet
        self._stood: dict[Partition, int] = {}  # where it was last
        self._alone = False  # whether it went on from there
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
                "queued.min.messages": 100_000,
                # Once so many wait, the client would not fetch for a second.
                "fetch.queue.backoff.ms": 10,
                "queued.max.messages.kbytes": KAFKA_FETCHED_AHEAD_KIB_MAX,
                "fetch.message.max.bytes": 4 * 1024 * 1024,
                "error_cb": self._trouble,
            }
        )

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Messages | Truncated]:
        """The messages of these stretches."""
        missing = {(topic, number): end for topic, number, start, end, _ in stretches if start < end}
        self._assign(stretches)
        for partition, end in list(missing.items()):
            found = self._taken_ahead(partition, end)
            if found:
                yield Messages(partition[0], found)
            if self._next[partition] >= end:
                del missing[partition]
        self._ahead_bytes = sum(_bytes(message) for waiting in self._ahead.values() for message in waiting)
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_SILENCE_S_MAX
        while missing:
            came = self._consume(sum(end - self._next[partition] for partition, end in missing.items()))
            if any(map(_tells, came)):
                deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_SILENCE_S_MAX
            elif SYSTEM_CLOCK.monotonic_s() > deadline:
                raise trouble(self._trouble.reason(KafkaError(KafkaError._TIMED_OUT)), self._brokers)
            yield from self._by_topic(self._sorted_out(came, missing))
            while self._truncated:
                told = self._truncated.pop()
                missing = {partition: end for partition, end in missing.items() if partition[0] != told.topic}
                yield told

    def replaced(self, topic: str, number: int, start: int, epoch: int) -> bool:
        """Whether the message before this offset is of a later leader than who had it when it was read.

        The client asks for that as well, but not always when there is a leader only after it has begun.
        """
        try:
            first, _ = self._consumer.get_watermark_offsets(
                TopicPartition(topic, number), timeout=KAFKA_ANSWER_S_MAX
            )
        except KafkaException as error:
            raise trouble(self._trouble.reason(error.args[0]), self._brokers) from error
        if first >= start:
            return False
        for found in self.read([(topic, number, start - 1, start, NO_EPOCH)]):
            if isinstance(found, Messages):
                return any((message.leader_epoch() or 0) > epoch for message in found.found)
        return False

    def rest(self) -> None:
        """Until the next tick, which may be another worker's."""
        self._stood = dict(self._next)
        if self._alone:
            return
        self._next, self._ahead, self._ended = {}, {}, {}
        try:
            self._consumer.unassign()
        except KafkaException as error:
            raise trouble(error.args[0], self._brokers) from error

    def close(self) -> None:
        with suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _assign(self, stretches: Sequence[Stretch]) -> None:
        """Go on where it stands if that is where all of them begin, or begin there."""
        starts = {(topic, number): start for topic, number, start, _, _ in stretches}
        self._alone = self._stood == starts
        if self._next == starts and not self._passing:
            return
        self._next, self._ahead, self._ended, self._passing = starts, {}, {}, False
        self._topics = {topic for topic, *_ in stretches}
        places = [_assigned(topic, number, start, epoch) for topic, number, start, _, epoch in stretches]
        try:
            self._consumer.assign(places)
        except KafkaException as error:
            raise trouble(error.args[0], self._brokers) from error

    def _taken_ahead(self, partition: Partition, end: int) -> list[Message]:
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
            if came[-1].error() is None:
                self._trouble.over()
            mean_bytes = sum(map(len, came)) // len(came) + 1
            self._at_once = max(1, min(KAFKA_BATCH_MESSAGES, KAFKA_BATCH_BYTES // mean_bytes))
        return came

    def _sorted_out(self, came: list[Message], missing: dict[Partition, int]) -> list[Message]:
        """Those before the end of their stretch; `missing` loses those that are at it."""
        last = self._last(came)
        simple = not any(map(_ERROR, came)) and all(
            partition in missing and offset < missing[partition] - 1 for partition, offset in last.items()
        )
        if simple:  # nothing ends here
            for partition, offset in last.items():
                self._next[partition] = offset + 1
            return came
        return [message for message in came if self._within(message, missing)]

    def _last(self, came: list[Message]) -> dict[Partition, int]:
        """By partition, the offset of the last of these."""
        if len(self._topics) > 1:
            places = zip(map(_TOPIC, came), map(_PARTITION, came), strict=True)
            return dict(zip(places, map(_OFFSET, came), strict=True))
        (topic,) = self._topics
        by_number: dict[int, int] = dict(zip(map(_PARTITION, came), map(_OFFSET, came), strict=True))
        return {(topic, number): offset for number, offset in by_number.items()}

    def _by_topic(self, found: list[Message]) -> Iterator[Messages]:
        """The same messages, those of each topic together."""
        if not found:
            return
        if len(self._topics) == 1:
            (topic,) = self._topics
            yield Messages(topic, found)
            return
        of: list[str] = list(map(_TOPIC, found))
        for name in sorted(set(of)):
            yield Messages(name, [message for message, its in zip(found, of, strict=True) if its == name])

    def _within(self, message: Message, missing: dict[Partition, int]) -> bool:
        partition, offset = _from(message), cast(int, message.offset())
        error = message.error()
        if error is not None:
            self._told(error, message, missing)
            return False
        end = missing.get(partition)
        if end is None or offset >= end:
            self._keep_ahead(partition, message)
            if end is not None:
                self._next[partition] = end
                del missing[partition]
            return False
        self._next[partition] = offset + 1
        if offset + 1 == end:
            del missing[partition]
        return True

    def _keep_ahead(self, partition: Partition, message: Message) -> None:
        """While one partition is waited for, another may send all that it has."""
        if self._passing:
            return
        self._ahead.setdefault(partition, []).append(message)
        self._ahead_bytes += _bytes(message)
        if self._ahead_bytes > limits.KAFKA_AHEAD_BYTES_MAX:
            self._ahead, self._ahead_bytes, self._passing = {}, 0, True

    def _not_there(self, partition: Partition) -> None:
        """What comes next is not what should: it was removed, or another leader never had what was read."""
        topic, number = partition
        next_ = self._next.get(partition, 0)
        try:
            first, _ = self._consumer.get_watermark_offsets(
                TopicPartition(topic, number), timeout=KAFKA_ANSWER_S_MAX
            )
        except KafkaException as error:
            raise trouble(self._trouble.reason(error.args[0]), self._brokers) from error
        if first > next_:
            raise TransientError(
                f'{NAMESPACE}: messages of partition {number} of topic "{topic}" are gone that were'
                f" not read yet: the next is {next_}"
            )
        self.usable = False
        self._truncated.append(Truncated(topic, number, next_))

    def _told(self, error: KafkaError, message: Message, missing: dict[Partition, int]) -> None:
        partition, offset = _from(message), cast(int, message.offset())
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended[partition] = offset
            end = missing.get(partition)
            if end is not None and offset >= end:
                self._next[partition] = end
                del missing[partition]
            return
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return  # the client asks for the coordinator of a group that nobody joins
        if partition not in missing and message.topic() is not None:
            self.usable = False  # nothing more of it is wanted; whoever wants some is told again
            return
        if error.code() in _NOT_THERE:
            self._not_there(partition)
            return
        if error.fatal() or not error.retriable():
            raise trouble(self._trouble.reason(error), self._brokers)


def _tells(message: Message) -> bool:
    """Whether it is a message, or the word that there are no more; an error may come again for ever."""
    error = message.error()
    return error is None or error.code() == KafkaError._PARTITION_EOF


def _bytes(message: Message) -> int:
    return len(message) + _BESIDE_BYTES


def _assigned(topic: str, number: int, start: int, epoch: int) -> TopicPartition:
    if epoch < 0:
        return TopicPartition(topic, number, start)
    return TopicPartition(topic, number, start, leader_epoch=epoch)


_kept: OrderedDict[str, Consumption] = OrderedDict()


@contextmanager
def consumption(options: Options, secrets: Secrets, keep: bool, share: str = "") -> Iterator[Consumption]:
    """A consumer of a source's topics; one that is to be kept is there again at the next tick.

    `share`: which of several that read the topics side by side.
    """
    made = settings(options["connection"], secrets)
    name = f"{options['group_id']} {share} {fingerprint(made)}"
    consumer = _kept.pop(name, None) if keep else None
    if consumer is None:
        try:
            consumer = Consumption(options, made)
        except (KafkaException, ValueError) as error:
            raise TransientError(f"{NAMESPACE}: {error}") from error
    try:
        yield consumer
        if keep and consumer.usable:
            consumer.rest()
    except BaseException:
        consumer.close()  # nobody knows where it stands
        raise
    if not keep or not consumer.usable:
        consumer.close()
        return
    _kept[name] = consumer
    while len(_kept) > KAFKA_CONSUMERS_KEPT_MAX:
        _kept.popitem(last=False)[1].close()
