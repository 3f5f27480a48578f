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
from headwater.core.errors import InvariantViolation
from headwater.core.frontier import OffsetFrontier
from tests.support.server import eventually


class Upstream:
    """A source's type, its ingestion and its point in one; calls `happens` with the name of each step."""

    def __init__(self, happens: Callable[[str], None]) -> None:
        self.happens = happens
        self.closed = 0
        self.options: dict[str, object] = {}
        self.source_id = "u1"

    def prepare_snapshot(self, *_: object) -> Upstream:
        self.happens("prepare")
        return self

    def base(self, _: object) -> None:
        """No table to widen."""

    def donors(self, _: object) -> None:
        """No table to copy from."""

    def offer(self, backfill: Backfill) -> None:
        self.happens("offer")
        backfill.take(1, OffsetFrontier(1))

    def withdraw(self, _: object) -> bool:
        return False

    def take(self, *_: object) -> Any:
        self.happens("take")
        return SimpleNamespace(points={"u2": {}}, kept=frozenset())

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
        errors=lambda _: [],
        join=lambda *_, **__: None,
        repoint=lambda _: None,
        rejoin=lambda *_: None,
    )
    world: Any = SimpleNamespace(
        ledger=ledger,
        data_dir=None,
        secrets=None,
        claims=Claims(1),
        pin=lambda *_: None,
        unpin=lambda _: None,
        set_status=lambda *status: statuses.append(status),
    )
    export: Any = SimpleNamespace(table_id="u2", discipline="keyed", relation=None, options=())
    return Backfill(world, upstream, [export], upstream)


@pytest.mark.parametrize("moment", ["prepare", "offer", "take", "settle"])
def test_a_table_that_is_dropped_on_its_way_in_holds_nothing_upstream(moment: str) -> None:
    upstream = Upstream(lambda step: backfill.stop_table("u2") if step == moment else None)
    backfill = backfill_of(upstream, [])
    backfill.start()
    eventually(lambda: not backfill.alive(), within_s=10)
    assert upstream.closed


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
