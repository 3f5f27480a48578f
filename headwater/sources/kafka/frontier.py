"""How far topics have been read: of each, its id and the next offset of each of its partitions.

Partitions are numbered from 0 without a gap, and new ones come at the end.  A topic that was deleted and
made again has another id: its offsets are other places.

A source over several topics gets more of them, and loses some.  Every topic that joins gets a number
that no other had, and the frontier's own number rises whenever one joins or leaves:

    a <= b    no topic of `a` is further than in `b`, where it has the same number in both;
              with the same number of their own, both have the same topics

So a frontier without a topic that has gone is later than the one that had it, and one with a topic of the
same name that was made again is later still.

Text, as people write and read it:

    0:120,1:44                    a source of one topic
    eu(0:120,1:44),us(0:7)        a source of several; names of topics have no such signs
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = r"[A-Za-z0-9._-]{1,249}"
_PAIRS: Final = r"[0-9]+:[0-9]+(?:,[0-9]+:[0-9]+)*"
_ONE: Final = re.compile(_PAIRS)
_SEVERAL: Final = re.compile(rf"{_NAME}\({_PAIRS}\)(?:,{_NAME}\({_PAIRS}\))*")
_TOPIC: Final = re.compile(rf"({_NAME})\(({_PAIRS})\)")
_AS_ONE: Final = "as in 0:120,1:44"
_AS_SEVERAL: Final = "as in eu(0:120,1:44),us(0:7)"
_PARTITIONS_MAX: Final = 1_000_000
NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Place:
    """How far one topic has been read; partitions beyond the last begin at 0."""

    id: str  # empty: of whichever topic has the name
    next: tuple[int, ...]  # by partition, the offset of the next message
    start: tuple[int, ...] = ()  # by partition, where the source begins in it; what is left out is 0
    joined: int = 0  # the number under which the topic joined
    epochs: tuple[int, ...] = ()  # by partition, that of the leader who said how far it goes

    def of(self, partition: int) -> int:
        """The next offset of a partition."""
        return _at(self.next, partition, 0)

    def start_of(self, partition: int) -> int:
        """Where the source begins in a partition."""
        return _at(self.start, partition, 0)

    def epoch_of(self, partition: int) -> int:
        """Of the leader who had the partition up to where it has been read."""
        return _at(self.epochs, partition, NO_EPOCH)

    def __le__(self, other: Place) -> bool:
        return all(offset <= other.of(number) for number, offset in enumerate(self.next))

    def __str__(self) -> str:
        return ",".join(f"{number}:{offset}" for number, offset in enumerate(self.next))

    def to_json(self) -> dict[str, Any]:
        start = list(self.start)
        while start and start[-1] == 0:
            start.pop()
        return {
            "id": self.id,
            "joined": self.joined,
            "next": list(self.next),
            **({"start": start} if start else {}),
            **({"epochs": list(self.epochs)} if self.epochs else {}),
        }

    @staticmethod
    def from_json(value: Any) -> Place:
        start, epochs = tuple(value.get("start", ())), tuple(value.get("epochs", ()))
        return Place(value["id"], tuple(value["next"]), start, value["joined"], epochs)


def _at(values: Sequence[int], place: int, beyond: int) -> int:
    return values[place] if place < len(values) else beyond


@dataclass(frozen=True, slots=True)
class Places:
    """How far all topics of a source have been read."""

    topics: Mapping[str, Place] = field(default_factory=dict)  # by name, in their order
    several: bool = False  # whether it is shown which topic a place is of
    number: int = 0  # rises when a topic joins or leaves
    generation: int = 0  # rises when the source begins anew

    def total(self) -> int:
        """All offsets together, for statistics."""
        return sum(sum(place.next) for place in self.topics.values())

    def __le__(self, other: Places) -> bool:
        if self.number > other.number:
            return False
        if self.number == other.number and self.topics.keys() != other.topics.keys():
            return False
        return all(
            place.id == there.id and place <= there
            for name, place in self.topics.items()
            if (there := other.topics.get(name)) is not None
            and (there.joined == place.joined or self.number == other.number)
        )

    def to_json(self) -> object:
        topics = {name: place.to_json() for name, place in self.topics.items()}
        told = {"several": self.several, "number": self.number, "topics": topics}
        return {**told, "generation": self.generation} if self.generation else told

    @staticmethod
    def from_json(value: Any) -> Places:
        topics = {name: Place.from_json(value["topics"][name]) for name in sorted(value["topics"])}
        return Places(topics, value["several"], value["number"], value.get("generation", 0))

    def __str__(self) -> str:
        if not self.several:
            return ",".join(map(str, self.topics.values()))
        return ",".join(f"{name}({place})" for name, place in self.topics.items()) or "no topic"


def reached(frontier: Places, position: Places) -> bool:
    """Whether everything before a position was read.

    What an upstream said of topics that are none of the source's (any more, or not yet) is no news for its
    tables: one that is to join joins at its end of then.  What somebody wrote must be there.
    """
    for name, wanted in position.topics.items():
        there = frontier.topics.get(name)
        same = there is not None and wanted.id in ("", there.id)
        if not same and wanted.id and frontier.several:
            continue
        if not same or there is None or not wanted <= there:
            return False
    return True


def covers(frontier: Places, at: Any) -> bool:
    """Whether a topic has been read up to where one of its tables has joined."""
    there = frontier.topics.get(at["topic"])
    wanted = Place.from_json(at["place"])
    return there is not None and there.id == wanted.id and wanted <= there


def position_from_text(options: Mapping[str, Any], text: str) -> Places:
    """Offsets as written; partitions that are not named are at 0, topics that are not named anywhere."""
    if not options["several"]:
        if not _ONE.fullmatch(text):
            raise ValueError(f"the next offset of partitions, {_AS_ONE}")
        (name,) = options["topics"]
        return Places({name: _place(text, _AS_ONE)})
    if not _SEVERAL.fullmatch(text):
        raise ValueError(f"the next offset of partitions of topics, {_AS_SEVERAL}")
    found = _TOPIC.findall(text)
    topics = {name: _place(pairs, _AS_SEVERAL) for name, pairs in sorted(found)}
    if len(topics) < len(found):
        raise ValueError(f"each topic once, {_AS_SEVERAL}")
    return Places(topics, True)


def _place(text: str, example: str) -> Place:
    split = [pair.split(":") for pair in text.split(",")]
    pairs = {int(partition): int(offset) for partition, offset in split}
    if len(pairs) < len(split) or max(pairs) >= _PARTITIONS_MAX:
        raise ValueError(f"each partition once, {example}")
    return Place("", tuple(pairs.get(number, 0) for number in range(max(pairs) + 1)))


def progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    """A row for each partition, and one for those still to come; with the topic if there are several."""
    places = Places.from_json(frontier)
    if not places.several:
        return [row for place in places.topics.values() for row in _rows(place)]
    return [(name, *row) for name, place in places.topics.items() for row in _rows(place)]


def _rows(place: Place) -> list[tuple[str, int]]:
    rows = [(f"[{number},{number}]", offset) for number, offset in enumerate(place.next)]
    return [*rows, (f"({len(rows) - 1},)", 0)] if rows else [("(,)", 0)]
