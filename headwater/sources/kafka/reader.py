"""A topic's reader in the driver: where the topic ends, whether it is still the same, who reads which range.

    probe   partitions end here           -> Offsets
    look    the topic has its id, and nothing that was not read yet has gone
    plan    [start, end) of all partitions, cut to size, in parts of neighbouring partitions

The driver reads no message: tasks do (read.py).  Each looks at the topic's id again after it has read, so
that what was read is of the topic that the source is of: ids do not come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import KAFKA_ABSENT_S, KAFKA_METADATA_S, KAFKA_PART_MESSAGES_MIN, TICK_TASKS_MAX
from headwater.core.points import Point
from headwater.sources.contract import Export, Looked, Options, ReadPart, Secrets, Waits
from headwater.sources.kafka.connection import NAMESPACE, Admin
from headwater.sources.kafka.frontier import Offsets
from headwater.sources.kafka.topic import Topic, beginnings, describe, ends

SOURCE_TYPE: Final = "kafka"
_AGAIN_S: Final = 0.5
_ANOTHER: Final = "Drop the source and create it again: what is upstream now does not continue what was read."


def offsets_of(frontier: Frontier) -> Offsets:
    """A frontier of this kind."""
    if not isinstance(frontier, Offsets):
        raise InvariantViolation(f"a topic was given the frontier {frontier}")
    return frontier


def recreated(topic: str) -> DefiniteError:
    """A topic of the same name is another one."""
    return DefiniteError(topic, "", "topic was recreated", hint=_ANOTHER)


class KafkaReader:
    """Asks the brokers about one topic."""

    def __init__(
        self,
        options: Options,
        secrets: Secrets,
        stands_at: Frontier | None,
        folder: Path | None,
        waits: Waits,
    ) -> None:
        self._options = options
        self._name: str = options["topic"]
        self._admin = Admin(options["connection"], secrets)
        self._topic: Topic | None = None
        self._described_s = float("-inf")
        self.start: Frontier = Offsets(options["topic_id"], tuple(options["start"]))
        self._reached = Offsets("", ()) if stands_at is None else offsets_of(stands_at)
        self.continues = True
        self.waiting: tuple[str, str] | None = None

    def probe(self, now_ms: int) -> Frontier:
        topic = self._known()
        found = self._end(topic)
        if not self._reached <= found:
            self._described()  # it may be another one
            # A new leader may not know yet how far others have what it has.
            raise TransientError(f'{NAMESPACE}: topic "{self._name}" ends before what was read of it')
        self._reached = found
        return found

    def _end(self, topic: Topic) -> Offsets:
        """Where the topic ends, or where the source is to begin if that is still to come."""
        start = offsets_of(self.start)
        last = (max(end, start.of(number)) for number, end in enumerate(ends(self._admin, topic)))
        return Offsets(topic.id, tuple(last))

    def _known(self) -> Topic:
        """The topic, with partitions that are new if it is time to look for them."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        every_s = self._options.get("metadata_s") or KAFKA_METADATA_S
        if self._topic is None or now_s >= self._described_s + every_s:
            self._topic = self._described()
            self._described_s = now_s
        return self._topic

    def _described(self) -> Topic:
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_ABSENT_S
        while (found := describe(self._admin, self._name)) is None:
            if SYSTEM_CLOCK.monotonic_s() > deadline:
                raise DefiniteError(self._name, "", "topic was deleted", hint=_ANOTHER)
            SYSTEM_CLOCK.sleep(_AGAIN_S)
        if found.id != self._options["topic_id"]:
            raise recreated(self._name)
        return found

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        """The topic is described once more, after its end was asked: the end is that of this topic."""
        self._described()
        return Looked(end)

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Point],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        first, last = offsets_of(start), offsets_of(end)
        self._check_there(first, last)  # also without tables: those that there were may have ended by this
        if not exports:
            return last, ()
        cut = cut_to(first, last, rows_max)
        shares = shared_out(first, cut)
        parts = (
            ReadPart(SOURCE_TYPE, self._options, None, None, exports, index, stretches)
            for index, stretches in enumerate(shares)
        )
        return cut, tuple(parts)

    def _check_there(self, first: Offsets, last: Offsets) -> None:
        """Nothing has been removed that was not read yet."""
        topic = Topic(self._name, last.topic_id, len(last.next))
        for number, low in enumerate(beginnings(self._admin, topic)):
            if first.of(number) < min(low, last.of(number)):
                raise DefiniteError(
                    self._name,
                    f"{number}:{first.of(number)}",
                    f"Low watermark {low} of kafka topic {self._name} partition {number} is past the start"
                    f" offset/resume upper: {first.of(number)}",
                    hint="Messages were removed before they were read. Let the topic keep them for longer"
                    " (retention.ms, retention.bytes); then drop the source and create it again.",
                )

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        return {}

    def acknowledge(self, frontier: Frontier) -> None:
        """Brokers keep messages by their own rules."""

    def close(self) -> None:
        pass


def cut_to(first: Offsets, last: Offsets, messages_max: int) -> Offsets:
    """The end of a range of about so many messages at most: the same share of each partition."""
    waiting = [end - first.of(number) for number, end in enumerate(last.next)]
    total = sum(waiting)
    if total <= messages_max:
        return last
    taken = [max(1, count * messages_max // total) if count > 0 else 0 for count in waiting]
    ends_at = (first.of(number) + count for number, count in enumerate(taken))
    return Offsets(last.topic_id, tuple(ends_at))


def shared_out(first: Offsets, last: Offsets) -> list[list[list[int]]]:
    """Stretches of neighbouring partitions for each part: the parts' order is the partitions'."""
    stretches = [[number, first.of(number), end] for number, end in enumerate(last.next)]
    total = sum(end - start for _, start, end in stretches)
    count = max(1, min(TICK_TASKS_MAX, total // KAFKA_PART_MESSAGES_MIN, len(stretches)))
    shares: list[list[list[int]]] = [[] for _ in range(count)]
    before = 0
    for stretch in stretches:
        shares[min(count - 1, before * count // max(1, total))].append(stretch)
        before += stretch[2] - stretch[1]
    return [share for share in shares if any(start < end for _, start, end in share)]
