"""A deck: random sizes whose sums are known without adding them up.

A thing (an auction, an order) has a random number of parts (bids, lines).  To
find the thing that the millionth part belongs to, one would have to add up the
sizes of all things before it.  Instead sizes are dealt from shuffled decks: every
deck holds each size equally often, so the sum over a deck is a constant and only
the deck at hand has to be looked at.

    things    0 1 2 3 ... | 64 ...            64 things to a deck
    sizes     5 9 2 7 ... | 3 ...             each deck sums up to the same
    parts     0         352                   part 352 is the first of thing 64
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from headwater.sources.load_generator.chance import Chance, IntArray


@dataclass(frozen=True, slots=True)
class Deck:
    """Sizes low .. low + span - 1, each `copies` times in a deck."""

    low: int
    span: int
    copies: int
    chance: Chance
    stream: str

    def things_per_deck(self) -> int:
        return self.span * self.copies

    def parts_per_deck(self) -> int:
        return self.copies * (self.low * self.span + self.span * (self.span - 1) // 2)

    def mean(self) -> float:
        return self.parts_per_deck() / self.things_per_deck()

    def sizes(self, things: IntArray) -> IntArray:
        """The size of each of these things.

        A card's place is moved by a step and a shift that are drawn per deck; steps have no
        factor in common with the number of cards, so every card is dealt once.
        """
        count = self.things_per_deck()
        decks, places = np.divmod(things, count)
        steps = np.array([step for step in range(1, count + 1) if gcd(step, count) == 1], np.int64)
        step = steps[self.chance.below(len(steps), f"{self.stream}/step", decks)]
        shift = self.chance.below(count, f"{self.stream}/shift", decks)
        return self.low + (places * step + shift) % count // self.copies

    def parts(self, start: int, end: int) -> tuple[IntArray, IntArray]:
        """For the parts [start, end): the thing each belongs to and its number within it."""
        per_deck = self.parts_per_deck()
        first, last = start // per_deck, -(-end // per_deck)
        things = np.arange(first * self.things_per_deck(), last * self.things_per_deck(), dtype=np.int64)
        owners, inner = expanded(things, self.sizes(things))
        kept = slice(start - first * per_deck, end - first * per_deck)
        return owners[kept], inner[kept]


def expanded(things: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Each thing repeated by its size, and the numbers 0 .. size - 1 beside it."""
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    inner = np.arange(total, dtype=np.int64) - np.repeat(starts, sizes)
    return np.repeat(things, sizes), inner
