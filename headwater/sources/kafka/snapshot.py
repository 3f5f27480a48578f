"""What a topic held before a new table joined: from where the source began in it to where it stands.

    point    the source's own place in the topic: every message is before it or comes in a tick
    chunks   stretches of single partitions

Nothing is held upstream.  A topic that forgets its oldest messages shows a new table what it still has,
also if it forgets them while the table is read.
A table of a topic that the source has not met yet waits until it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier
from headwater.core.points import Point, Read
from headwater.sources.contract import Export, Options, Secrets, SnapshotChunk, Taken
from headwater.sources.kafka.connection import NAMESPACE, Admin
from headwater.sources.kafka.frontier import Place, Places
from headwater.sources.kafka.reader import SOURCE_TYPE, places_of, topic_of
from headwater.sources.kafka.topic import Topic, answered, beginnings, cleanup_policy, describe


class KafkaPoint:
    """Where the source stands."""

    def __init__(self, options: Options, secrets: Secrets, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._exports = exports
        admin = Admin(options["connection"], secrets)
        ids = dict(map(topic_of, exports))
        topics = []
        for name, topic in describe(admin, ids).items():
            if not isinstance(topic, Topic) or topic.id != ids[name]:
                raise TransientError(f'{NAMESPACE}: topic "{name}" has gone')
            topics.append(topic)
        low = {name: answered(admin, name, at) for name, at in beginnings(admin, topics).items()}
        self._first = {name: Place("", at.offsets) for name, at in low.items()}  # what there still is

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        stands = places_of(frontier)
        points = {
            export.table_id: before.get(export.table_id) or Read(self._at(export, stands, rows))
            for export in self._exports
        }
        return Taken(points, frozenset(before))

    def _at(self, export: Export, stands: Places, rows: int) -> dict[str, object]:
        name, topic_id = topic_of(export)
        place = stands.topics.get(name)
        if place is None or place.id != topic_id:
            raise TransientError(f'{NAMESPACE}: the source has not met topic "{name}" yet')
        low = self._first[name].next
        first = [max(place.start_of(number), offset) for number, offset in enumerate(low)]
        removed = sum(first) - sum(place.start_of(number) for number in range(len(first)))
        at = Place(place.id, place.next).to_json()
        return {"topic": name, "place": at, "first": first, "removed": removed, "rows": rows}

    def settle(self) -> None:
        """What was committed stays."""

    def held(self) -> None:
        """Nothing is held."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        name, place = point.at["topic"], Place.from_json(point.at["place"])
        first, rows = Place("", tuple(point.at["first"])), point.at["rows"]
        stretches = [
            [name, place.id, partition, low, min(end, low + rows)]
            for partition, end in enumerate(place.next)
            for low in range(first.of(partition), end, rows)
        ]
        chunks = (
            SnapshotChunk(
                *(SOURCE_TYPE, self._options, point, export, index, stretch[4] - stretch[3], stretch),
                lane=stretch[2],
            )
            for index, stretch in enumerate(map(self._left_of, stretches))
        )
        return tuple(chunk for chunk in chunks if chunk.index not in done)

    def _left_of(self, stretch: list[Any]) -> list[Any]:
        """What there still is of a stretch: a point that is kept may be older than what was removed."""
        name, id_, partition, start, end = stretch
        return [name, id_, partition, min(max(start, self._first[name].of(partition)), end), end]

    def close(self) -> None:
        pass


def forgotten(options: Options, secrets: Secrets, export: Export, point: Point) -> str | None:
    """Why rows of a table may be of messages that the topic has no more.

    Compaction leaves the last message of each key, by which tables with keys go.
    """
    removed = point.at["removed"]
    if removed:
        return f"{removed} {'message was' if removed == 1 else 'messages were'} removed from the topic"
    if export.discipline == "keyed":
        return None
    policy = cleanup_policy(Admin(options["connection"], secrets), point.at["topic"])
    return None if policy == "delete" else f"the topic's cleanup.policy is {policy or 'not known'}"
