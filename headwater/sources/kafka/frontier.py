"""How far a topic has been read: the next offset of each of its partitions, and of which topic they are.

Partitions are numbered from 0 without a gap, and new ones come at the end.  A topic that was deleted and
made again has another id: its offsets are other places, and no frontier of the one is before one of the
other.

Text, as people write and read it:  0:120,1:44
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_TEXT = re.compile(r"\d+:\d+(,\d+:\d+)*")


@dataclass(frozen=True, slots=True)
class Offsets:
    """By partition, the offset of the next message; partitions beyond the last begin at 0."""

    topic_id: str
    next: tuple[int, ...]

    def of(self, partition: int) -> int:
        """The next offset of a partition."""
        return self.next[partition] if partition < len(self.next) else 0

    def total(self) -> int:
        """All offsets together, for statistics."""
        return sum(self.next)

    def __le__(self, other: Offsets) -> bool:
        same = not self.topic_id or not other.topic_id or self.topic_id == other.topic_id
        return same and all(offset <= other.of(number) for number, offset in enumerate(self.next))

    def to_json(self) -> object:
        return {"topic_id": self.topic_id, "next": list(self.next)}

    @staticmethod
    def from_json(value: Any) -> Offsets:
        return Offsets(value["topic_id"], tuple(value["next"]))

    def __str__(self) -> str:
        return ",".join(f"{number}:{offset}" for number, offset in enumerate(self.next))


def position_from_text(text: str) -> Offsets:
    """Offsets of whichever topic it is; partitions that are not named are at 0."""
    if not text.isascii() or not _TEXT.fullmatch(text):
        raise ValueError("the next offset of partitions, as in 0:120,1:44")
    split = (pair.split(":") for pair in text.split(","))
    pairs = {int(partition): int(offset) for partition, offset in split}
    if len(pairs) != text.count(",") + 1 or max(pairs) >= 1_000_000:
        raise ValueError("each partition once, as in 0:120,1:44")
    return Offsets("", tuple(pairs.get(number, 0) for number in range(max(pairs) + 1)))


def progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    """A row for each partition, and one for those that are still to come."""
    offsets = Offsets.from_json(frontier)
    rows: list[tuple[Any, ...]] = [
        (f"[{number},{number}]", offset) for number, offset in enumerate(offsets.next)
    ]
    return [*rows, (f"({len(offsets.next) - 1},)", 0)] if rows else [("(,)", 0)]
