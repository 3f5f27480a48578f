"""What a topic held before a table joined: in stretches of partitions, and only what there still is.

Method: a topic whose first offsets the test says, in place of what brokers are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headwater.core.points import Point, Read
from headwater.core.relation import Column, Relation
from headwater.core.types import TEXT
from headwater.sources.contract import Export, Pinned
from headwater.sources.kafka import snapshot
from headwater.sources.kafka.frontier import Place, Places
from headwater.sources.kafka.snapshot import KafkaPoint
from headwater.sources.kafka.topic import Ends, Topic

TABLE = Export(
    "u1",
    ("t",),
    Relation((Column("text", TEXT),)),
    ("text",),
    "appended",
    pinned=Pinned((["value", 0],), {"topic_id": "id"}),
)
STANDS = Places({"t": Place("id", (10, 4))})


def no_secrets(id_: str) -> bytes:
    raise AssertionError(f"secret {id_} was not to be asked for")


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """By partition, the first offset that there still is."""
    offsets = [0, 0]

    def described(_: object, names: Iterable[str]) -> dict[str, Topic]:
        return {name: Topic(name, "id", 2) for name in names}

    def began(_: object, topics: Iterable[Topic]) -> dict[str, Ends]:
        return {topic.name: Ends(tuple(offsets), ()) for topic in topics}

    monkeypatch.setattr(snapshot, "Admin", lambda *_: None)
    monkeypatch.setattr(snapshot, "describe", described)
    monkeypatch.setattr(snapshot, "beginnings", began)
    return offsets


def prepared() -> KafkaPoint:
    return KafkaPoint({"connection": {}}, no_secrets, (TABLE,))


def stretches(prepared: KafkaPoint, point: Point, done: frozenset[int] = frozenset()) -> dict[int, Any]:
    return {chunk.index: chunk.details[2:] for chunk in prepared.chunks(TABLE, point, done)}


def test_a_table_gets_what_the_topic_has(first: list[int]) -> None:
    first[:] = [3, 0]
    at = prepared()
    point = at.take(STANDS, {}, 4).points["u1"]
    assert stretches(at, point) == {0: [0, 3, 7], 1: [0, 7, 10], 2: [1, 0, 4]}
    assert point.at["removed"] == 3


def test_what_is_removed_while_it_is_read_is_not_waited_for(first: list[int]) -> None:
    point = prepared().take(STANDS, {}, 4).points["u1"]
    assert isinstance(point, Read)
    first[:] = [6, 5]
    again = prepared()
    taken = again.take(STANDS, {"u1": point}, 4)
    assert taken.points["u1"] == point
    assert stretches(again, point, frozenset({0})) == {1: [0, 6, 8], 2: [0, 8, 10], 3: [1, 4, 4]}
