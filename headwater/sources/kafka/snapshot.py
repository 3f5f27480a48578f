"""What a topic held before a new table joined: from where the source began to where it stands.

    point    the source's own frontier: every message is before it or comes in a tick
    chunks   stretches of single partitions

Nothing is held upstream.  A topic that forgets its oldest messages shows a new table what it still has.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier
from headwater.core.points import Point, Read
from headwater.sources.contract import Export, Options, Secrets, SnapshotChunk, Taken
from headwater.sources.kafka.connection import NAMESPACE, Admin
from headwater.sources.kafka.frontier import Offsets
from headwater.sources.kafka.reader import SOURCE_TYPE
from headwater.sources.kafka.topic import beginnings, describe


class KafkaPoint:
    """Where the source stands."""

    def __init__(self, options: Options, secrets: Secrets, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._exports = exports
        admin = Admin(options["connection"], secrets)
        topic = describe(admin, options["topic"])
        if topic is None or topic.id != options["topic_id"]:
            raise TransientError(f'{NAMESPACE}: topic "{options["topic"]}" has gone')
        self._first = beginnings(admin, topic)

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        start = Offsets("", tuple(self._options["start"]))
        first = [max(start.of(number), low) for number, low in enumerate(self._first)]
        at = Read({"at": frontier.to_json(), "first": first, "rows": rows})
        ids = [export.table_id for export in self._exports]
        return Taken({id_: before.get(id_, at) for id_ in ids}, frozenset(before))

    def settle(self) -> None:
        """What was committed stays."""

    def held(self) -> None:
        """Nothing is held."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        at, first = Offsets.from_json(point.at["at"]), Offsets("", tuple(point.at["first"]))
        stretches = []
        for partition, end in enumerate(at.next):
            start = first.of(partition)
            for low in range(start, end, point.at["rows"]):
                stretches.append([partition, low, min(end, low + point.at["rows"])])
        chunks = (
            SnapshotChunk(SOURCE_TYPE, self._options, point, export, index, stretch[2] - stretch[1], stretch)
            for index, stretch in enumerate(stretches)
        )
        return tuple(chunk for chunk in chunks if chunk.index not in done)

    def close(self) -> None:
        pass
