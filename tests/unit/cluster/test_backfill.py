"""A backfill lets go of what it holds upstream, whatever happens before its point is taken.

Method: a point that notes when it is closed, and an ingestion that takes up every offer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.cluster.backfill import Backfill
from headwater.cluster.claims import Claims
from headwater.core.change import FileEntry
from headwater.core.errors import InvariantViolation, TransientError
from headwater.core.frontier import OffsetFrontier
from headwater.core.points import Copied, Point, Read, Reread, Widened
from headwater.sources.contract import Taken
from tests.support.server import eventually


class Upstream:
    """A source's type, its ingestion and its point in one; calls `happens` with the name of each step."""

    def __init__(self, happens: Callable[[str], None]) -> None:
        self.happens = happens
        self.closed = 0
        self.options: dict[str, object] = {}
        self.source_id = "u1"
        self.members = self
        self.backfills = self
        self.grown = None

    def prepare_snapshot(self, *_: object) -> Upstream:
        self.happens("prepare")
        return self

    def base(self, _: object) -> None:
        """No table to widen."""

    def donors(self, *_: object) -> None:
        """No table to copy from."""

    def offer(self, backfill: Backfill) -> None:
        self.happens("offer")
        backfill.take(1, OffsetFrontier(1))

    def withdraw(self, _: object) -> bool:
        return False

    def take(self, *_: object) -> Any:
        self.happens("take")
        return SimpleNamespace(points={"u2": Read(1)}, kept=frozenset())

    def settle(self) -> None:
        self.happens("settle")

    def held(self) -> None:
        self.happens("held")

    def close(self) -> None:
        self.closed += 1


def backfill_of(upstream: Any, statuses: list[Any]) -> Backfill:
    """Of one table, over a ledger that is empty."""
    ledger = SimpleNamespace(
        collection=lambda _: None,
        chunks=lambda _: {},
        stopped=lambda _: None,
        join=lambda *_, **__: None,
        repoint=lambda _: None,
        rejoin=lambda *_: None,
    )
    shared: Any = SimpleNamespace(
        ledger=ledger,
        store=None,
        secrets=None,
        claims=Claims(1),
        pin=lambda *_: None,
        unpin=lambda _: None,
        set_status=lambda *status: statuses.append(status),
    )
    export: Any = SimpleNamespace(table_id="u2", discipline="keyed", relation=None, stored=None, options=())
    return Backfill(shared, upstream, [export], upstream)


@pytest.mark.parametrize("moment", ["prepare", "offer", "take", "settle"])
def test_a_table_that_is_dropped_on_its_way_in_holds_nothing_upstream(moment: str) -> None:
    upstream = Upstream(lambda step: backfill.stop_table("u2") if step == moment else None)
    backfill = backfill_of(upstream, [])
    backfill.start()
    eventually(lambda: not backfill.alive(), within_s=10)
    assert upstream.closed


def test_an_offer_of_what_was_stopped_is_not_taken_up() -> None:
    steps: list[str] = []
    upstream = Upstream(steps.append)

    def offer(backfill: Backfill) -> None:
        backfill.stop()
        assert backfill.take(1, OffsetFrontier(1)) == {}

    upstream.offer = offer  # type: ignore[method-assign]
    backfill = backfill_of(upstream, [])
    backfill.start()
    eventually(lambda: not backfill.alive(), within_s=10)
    assert steps == ["prepare"]


def test_a_point_that_cannot_be_taken_for_any_reason_is_let_go_and_tried_again() -> None:
    def happens(step: str) -> None:
        if step == "take":
            raise InvariantViolation("nobody foresaw it")

    upstream = Upstream(happens)
    offer = upstream.offer

    def offer_of_a_source(backfill: Backfill) -> None:
        with pytest.raises(InvariantViolation):
            offer(backfill)  # and the source's own thread has to do with it

    upstream.offer = offer_of_a_source  # type: ignore[method-assign]
    statuses: list[Any] = []
    backfill = backfill_of(upstream, statuses)
    backfill.start()
    eventually(lambda: upstream.closed > 1, within_s=10)
    backfill.stop()
    eventually(lambda: not backfill.alive(), within_s=10)
    assert statuses[0][:3] == ("u2", "stalled", "the source could not take tables in: nobody foresaw it")


def test_chunks_of_an_earlier_point_do_not_count_once_values_came_along_with_changed_keys() -> None:
    upstream: Any = Upstream(lambda _: None)
    backfill = backfill_of(upstream, [])
    ledger: Any = backfill._shared.ledger
    ledger.collection = lambda _: SimpleNamespace(filling=True, point=Read(1), joined_ts=3)
    ledger.chunks = lambda _: {0: FileEntry("0", 1, 1)}
    given: list[Any] = []

    def take(_: object, before: Any, __: object) -> Any:
        given.append(before)
        return SimpleNamespace(points={"u2": Read(2)}, kept={"u2"})

    upstream.take = take
    for carriers in (0, 1):
        ledger.change_files = lambda *_, n=carriers: [FileEntry("1", 1, 1, partials=1, carriers=n)]
        backfill._join(upstream, dict(backfill._exports), 7, OffsetFrontier(1))
    assert given == [{"u2": Read(1)}, {}]
    with pytest.raises(TransientError):  # also those that came while the rest was read
        backfill._check_whole({"u2"}, 8)


@pytest.mark.parametrize("point", [Copied("u3", 5), Widened("u3", ("a",), 5), Reread("u3", 5)])
def test_chunks_of_rows_of_our_own_do_not_count_at_a_point_of_the_upstream(point: Point) -> None:
    """The table that they were taken from may have gone while nobody ran."""
    upstream: Any = Upstream(lambda _: None)
    backfill = backfill_of(upstream, [])
    ledger: Any = backfill._shared.ledger
    ledger.collection = lambda _: SimpleNamespace(filling=True, point=point, joined_ts=3)
    ledger.chunks = lambda _: {0: FileEntry("0", 1, 1)}
    ledger.change_files = lambda *_: []
    given: list[Any] = []
    anew: list[Any] = []
    ledger.rejoin = lambda points, _: anew.append(points)

    def take(_: object, before: Any, __: object) -> Any:
        given.append(before)
        return Taken({"u2": Read(9)}, frozenset(before))

    upstream.take = take
    backfill._join(upstream, dict(backfill._exports), 7, OffsetFrontier(1))
    assert given == [{}]
    assert anew == [{"u2": Read(9)}]
