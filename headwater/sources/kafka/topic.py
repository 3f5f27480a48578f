"""What topics have right now: their ids, their partitions, where they begin and end, and where a moment is.

Many topics are asked about at once.  What one of them is answered with an error is that one's alone: the
answer is the error, and `answered` raises it for whoever cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import AclOperation, ConfigResource, OffsetSpec

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError
from headwater.core.limits import KAFKA_ANSWER_S_MAX, KAFKA_LEADER_S_MAX
from headwater.sources.kafka.connection import NAMESPACE, Admin

T = TypeVar("T")

_UNKNOWN: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION)
_OF_TOPICS: Final = (*_UNKNOWN, KafkaError.TOPIC_AUTHORIZATION_FAILED)
_NO_LEADER: Final = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
_NO_ID: Final = str(Uuid(0, 0))
_WITH_IDS: Final = (
    "Without one, a topic that was deleted and made again cannot be told from the one before. Brokers give"
    " ids from Kafka 2.8 on, once an upgrade from an earlier version is finished."
)
_AGAIN_S: Final = 0.05
_NEVER: Final = -1  # the offset of a moment that is still to come


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it was described."""

    name: str
    id: str
    partitions: int
    readable: bool = True  # whether we may read its messages
    internal: bool = False  # whether it is the brokers' own


@dataclass(frozen=True, slots=True)
class Ends:
    """By partition: an offset, and the epoch of the leader who told it."""

    offsets: tuple[int, ...]
    epochs: tuple[int, ...]


def describe(admin: Admin, names: Iterable[str]) -> dict[str, Topic | KafkaError]:
    """By name: the topic, or why there is nothing to say of it."""
    asked = list(names)
    if not asked:
        return {}
    answers = admin.answers(
        lambda client: client.describe_topics(
            TopicCollection(asked), include_authorized_operations=True, request_timeout=KAFKA_ANSWER_S_MAX
        )
    )
    return {name: described(admin, name, answers[name]) for name in asked}


def describe_one(admin: Admin, name: str) -> Topic | None:
    """None if there is none of this name."""
    found = describe(admin, [name])[name]
    return None if unknown(found) else answered(admin, name, found)


def described(admin: Admin, name: str, found: Any) -> Topic | KafkaError:
    """An answer about a topic.

    TransientError if the topic has no id: what was made again under its name would be taken for it.
    """
    if isinstance(found, KafkaError):
        if found.code() in _OF_TOPICS:
            return found
        raise admin.refused(found)
    if str(found.topic_id) == _NO_ID:
        raise TransientError(f'{NAMESPACE}: topic "{name}" has no id at "{admin.brokers}"', hint=_WITH_IDS)
    allowed = found.authorized_operations
    readable = not allowed or AclOperation.READ in allowed
    return Topic(name, str(found.topic_id), len(found.partitions), readable, found.is_internal)


def unknown(found: object) -> bool:
    """Whether an answer says that there is no such topic."""
    return isinstance(found, KafkaError) and found.code() in _UNKNOWN


def answered(admin: Admin, name: str, found: T | KafkaError) -> T:
    """What was found out of a topic; TransientError if that is an error."""
    if not isinstance(found, KafkaError):
        return found
    if unknown(found):
        raise TransientError(f'{NAMESPACE}: topic "{name}" has just gone')
    raise admin.refused(found)


def cleanup_policy(admin: Admin, name: str) -> str | None:
    """How a topic forgets messages; None if we may not know."""
    asked = ConfigResource(ConfigResource.Type.TOPIC, name)
    answers = admin.answers(
        lambda client: client.describe_configs([asked], request_timeout=KAFKA_ANSWER_S_MAX)
    )
    (found,) = answers.values()
    entry = None if isinstance(found, KafkaError) else found.get("cleanup.policy")
    return None if entry is None else str(entry.value)


def names(admin: Admin) -> list[str]:
    """Of all topics that we may know of."""
    return sorted(admin.ask(lambda client: client.list_topics(timeout=KAFKA_ANSWER_S_MAX)).topics)


def ends(
    admin: Admin, topics: Iterable[Topic], patience_s: float = KAFKA_LEADER_S_MAX
) -> dict[str, Ends | KafkaError]:
    """By topic and partition, the offset before which all is committed."""
    return _offsets(admin, topics, OffsetSpec.latest(), patience_s)


def high_watermarks(admin: Admin, topics: Iterable[Topic]) -> dict[str, Ends | KafkaError]:
    """By topic and partition, the offset after the last message, committed or not."""
    return _offsets(admin, topics, OffsetSpec.latest(), 0, committed=False)


def beginnings(
    admin: Admin, topics: Iterable[Topic], patience_s: float = KAFKA_LEADER_S_MAX
) -> dict[str, Ends | KafkaError]:
    """By topic and partition, the first offset that the broker still has."""
    return _offsets(admin, topics, OffsetSpec.earliest(), patience_s)


def starts(admin: Admin, topics: Iterable[Topic], ms: int | None) -> dict[str, Ends | KafkaError]:
    """Where to begin in topics: at a moment, or their ends if it is still to come; or with all they have."""
    wanted = list(topics)
    if ms is None:
        return beginnings(admin, wanted)
    found = _offsets(admin, wanted, OffsetSpec.for_timestamp(ms), KAFKA_LEADER_S_MAX)
    last = ends(admin, wanted)
    return {name: _later(at, last[name]) for name, at in found.items()}


def _later(found: Ends | KafkaError, last: Ends | KafkaError) -> Ends | KafkaError:
    if isinstance(found, KafkaError) or isinstance(last, KafkaError):
        return found if isinstance(found, KafkaError) else last
    pairs = zip(found.offsets, last.offsets, strict=True)
    return Ends(tuple(end if offset == _NEVER else offset for offset, end in pairs), last.epochs)


def _offsets(
    admin: Admin, topics: Iterable[Topic], spec: OffsetSpec, patience_s: float, committed: bool = True
) -> dict[str, Ends | KafkaError]:
    """Partitions without a leader are asked again for so long; topics end as the first of their errors."""
    wanted = list(topics)
    asked = {
        TopicPartition(topic.name, number): spec for topic in wanted for number in range(topic.partitions)
    }
    answers: dict[tuple[str, int], Any] = {}
    failed: dict[str, KafkaError] = {}
    deadline = SYSTEM_CLOCK.monotonic_s() + patience_s
    while asked:
        for place, found in _answers(admin, asked, committed).items():
            if not isinstance(found, KafkaError):
                if found.offset < _NEVER:  # no broker was asked, and the client does not say why
                    raise admin.refused(KafkaError(KafkaError._TRANSPORT))
                answers[place.topic, place.partition] = found
            elif found.code() in _NO_LEADER and SYSTEM_CLOCK.monotonic_s() < deadline:
                continue
            else:
                failed.setdefault(place.topic, found)
            del asked[place]
        if asked:
            SYSTEM_CLOCK.sleep(_AGAIN_S)
    told: dict[str, Ends | KafkaError] = {}
    for topic in wanted:
        if topic.name in failed:
            told[topic.name] = failed[topic.name]
            continue
        found = [answers[topic.name, number] for number in range(topic.partitions)]
        epochs = tuple(-1 if at.leader_epoch is None else at.leader_epoch for at in found)
        told[topic.name] = Ends(tuple(at.offset for at in found), epochs)
    return told


def _answers(admin: Admin, asked: Mapping[TopicPartition, OffsetSpec], committed: bool) -> Mapping[Any, Any]:
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return admin.answers(
        lambda client: client.list_offsets(
            dict(asked), isolation_level=level, request_timeout=KAFKA_ANSWER_S_MAX
        )
    )
