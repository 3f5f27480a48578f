"""Frontiers: how far a source has been read, in the upstream's own order.

A frontier divides the upstream's positions into past and future.  Frontiers of one source only ever
move forward; `a <= b` means "a is not ahead of b".  One whose JSON is null says that the upstream has
ended: nothing more will ever come.

There is one frontier type per shape of upstream order.  `OffsetFrontier` is
the one for a single line of positions (generator offsets, LSNs).  An upstream
with several lines (partitions, server UUIDs) brings its own type with the same
three methods; `<=` is then a partial order.

The durable and wire form of any frontier is JSON (`to_json`), and the type is
known from the kind of the source, never from the JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self


class Frontier(Protocol):
    """What the engine needs of a frontier; the rest is the source's own business."""

    def __le__(self, other: Self, /) -> bool:
        """Whether this frontier is not ahead of the other."""

    def to_json(self) -> object:
        """The durable form."""

    def __str__(self) -> str:
        """As shown to people."""


@dataclass(frozen=True, slots=True)
class OffsetFrontier:
    """All positions below `offset` have been read; None means the upstream has ended."""

    offset: int | None

    def __le__(self, other: OffsetFrontier) -> bool:
        if other.offset is None:
            return True
        return self.offset is not None and self.offset <= other.offset

    def to_json(self) -> object:
        return self.offset

    @staticmethod
    def from_json(value: object) -> OffsetFrontier:
        if value is not None and not isinstance(value, int):
            raise ValueError(f"an offset frontier is a whole number or null, not {value!r}")
        return OffsetFrontier(value)

    def __str__(self) -> str:
        return "end" if self.offset is None else str(self.offset)
