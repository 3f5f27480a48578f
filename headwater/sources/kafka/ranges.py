"""What of several topics is read in one tick, and by whom.

    cut_to       a range of about so many messages: each topic an equal share, and what others leave of theirs
    shared_out   its stretches, topic by topic and partition by partition, in parts of about the same size

So a topic with many messages waits for its own, and never makes one with few wait.  Topics without tables
are not read at all.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from headwater.core.limits import KAFKA_PART_MESSAGES_MIN, TICK_TASKS_MAX
from headwater.sources.kafka.frontier import Place, Places


def cut_to(first: Places, last: Places, tabled: Set[str], messages_max: int) -> Places:
    """The end of a range of about so many messages at most."""
    names = [name for name in last.topics if name in tabled]
    waiting = [_waiting(first.topics[name], last.topics[name]) for name in names]
    totals = [sum(counts) for counts in waiting]
    if sum(totals) <= messages_max:
        return last
    cut = dict(last.topics)
    for name, counts, share in zip(names, waiting, _shares(totals, messages_max), strict=True):
        cut[name] = _cut(first.topics[name], last.topics[name], counts, share)
    return replace(last, topics=cut)


def _waiting(first: Place, last: Place) -> list[int]:
    return [end - first.of(number) for number, end in enumerate(last.next)]


def _shares(wanted: Sequence[int], most: int) -> list[int]:
    """What everybody gets of what there is: who wants less than an equal share leaves the rest to others."""
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for passed, place in enumerate(order):
        shares[place] = min(wanted[place], most // (len(order) - passed))
        most -= shares[place]
    return shares


def _cut(first: Place, last: Place, counts: Sequence[int], messages_max: int) -> Place:
    """The same share of each partition, and something of each that has anything."""
    total = sum(counts)
    if total <= messages_max:
        return last
    taken = [max(1, count * messages_max // total) if count > 0 else 0 for count in counts]
    return replace(last, next=tuple(first.of(number) + count for number, count in enumerate(taken)))


def shared_out(first: Places, last: Places, tabled: Set[str]) -> list[list[list[Any]]]:
    """Stretches [topic, partition, start, end, epoch] for each part: the parts' order is the partitions'."""
    stretches: list[list[Any]] = [
        [name, number, start.of(number), end, start.epoch_of(number)]
        for name, place in last.topics.items()
        if name in tabled
        for start in (first.topics[name],)
        for number, end in enumerate(place.next)
    ]
    total = sum(end - start for _, _, start, end, _ in stretches)
    count = max(1, min(TICK_TASKS_MAX, total // KAFKA_PART_MESSAGES_MIN, len(stretches)))
    shares: list[list[list[Any]]] = [[] for _ in range(count)]
    before = 0
    for stretch in stretches:
        shares[min(count - 1, before * count // max(1, total))].append(stretch)
        before += stretch[3] - stretch[2]
    return [share for share in shares if any(start < end for _, _, start, end, _ in share)]
