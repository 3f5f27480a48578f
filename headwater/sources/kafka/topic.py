"""What a topic has right now: its id, its partitions, where they begin and end, and where a moment is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError
from headwater.core.limits import KAFKA_ANSWER_S_MAX, KAFKA_LEADER_S_MAX
from headwater.sources.kafka.connection import NAMESPACE, Admin

_NO_LEADER: Final = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
_AGAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it was described."""

    name: str
    id: str
    partitions: int


def describe(admin: Admin, name: str) -> Topic | None:
    """None if there is none of this name."""
    asked = TopicCollection([name])
    answers = admin.answers(lambda client: client.describe_topics(asked, request_timeout=KAFKA_ANSWER_S_MAX))
    found = answers[name]
    if isinstance(found, KafkaError):
        if found.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION):
            return None
        raise admin.refused(found)
    return Topic(name, str(found.topic_id), len(found.partitions))


def ends(admin: Admin, topic: Topic) -> tuple[int, ...]:
    """By partition, the offset before which all is committed."""
    return _offsets(admin, topic, [OffsetSpec.latest()] * topic.partitions)


def beginnings(admin: Admin, topic: Topic) -> tuple[int, ...]:
    """By partition, the first offset that the broker still has."""
    return _offsets(admin, topic, [OffsetSpec.earliest()] * topic.partitions)


def at_moment(admin: Admin, topic: Topic, ms: int) -> tuple[int, ...]:
    """By partition, the first offset of that moment or later; the end if there is none yet."""
    found = _offsets(admin, topic, [OffsetSpec.for_timestamp(ms)] * topic.partitions)
    if -1 not in found:
        return found
    last = ends(admin, topic)
    return tuple(end if offset == -1 else offset for offset, end in zip(found, last, strict=True))


def _offsets(admin: Admin, topic: Topic, specs: Sequence[OffsetSpec]) -> tuple[int, ...]:
    asked = {TopicPartition(topic.name, number): spec for number, spec in enumerate(specs)}
    by_partition: dict[int, int] = {}
    deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_LEADER_S_MAX
    while asked:
        answers = _answers(admin, asked)
        for place, found in answers.items():
            if not isinstance(found, KafkaError):
                by_partition[place.partition] = found.offset
                del asked[place]
            elif found.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise TransientError(f'{NAMESPACE}: topic "{topic.name}" has just gone')
            elif found.code() not in _NO_LEADER or SYSTEM_CLOCK.monotonic_s() > deadline:
                raise admin.refused(found)
        if asked:
            SYSTEM_CLOCK.sleep(_AGAIN_S)
    return tuple(by_partition[number] for number in range(topic.partitions))


def _answers(admin: Admin, asked: Mapping[TopicPartition, OffsetSpec]) -> Mapping[Any, Any]:
    level = IsolationLevel.READ_COMMITTED
    return admin.answers(
        lambda client: client.list_offsets(
            dict(asked), isolation_level=level, request_timeout=KAFKA_ANSWER_S_MAX
        )
    )
