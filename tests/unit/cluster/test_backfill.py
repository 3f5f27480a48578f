"""A backfill lets go of what it holds upstream, at whatever moment its tables are dropped.

Method: a point that notes when it is closed, and an ingestion that takes up every offer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.cluster.backfill import Backfill
from headwater.core.frontier import OffsetFrontier
from tests.support.server import eventually


class Point:
    """What is held upstream for a snapshot."""

    def __init__(self, on_take: Callable[[], None]) -> None:
        self.closed = False
        self._on_take = on_take

    def take(self, *_: object) -> Any:
        self._on_take()
        return SimpleNamespace(points={"u2": {}}, kept=frozenset())

    def settle(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("moment", ["prepare", "offer", "take"])
def test_a_table_that_is_dropped_on_its_way_in_holds_nothing_upstream(moment: str) -> None:
    def drop(at: str) -> None:
        if at == moment:
            backfill.stop_table("u2")

    point = Point(lambda: drop("take"))

    def prepare(*_: object) -> Point:
        drop("prepare")
        return point

    def offer(offered: Backfill) -> None:
        drop("offer")
        offered.take(1, OffsetFrontier(1))

    nothing = SimpleNamespace(
        collection=lambda _: None, chunks=lambda _: {}, errors=lambda _: [], join=lambda *_, **__: None,
        repoint=lambda _: None, rejoin=lambda *_: None,
    )  # fmt: skip
    world: Any = SimpleNamespace(
        ledger=nothing,
        data_dir=None,
        secrets=None,
        pin=lambda *_: None,
        unpin=lambda _: None,
        set_status=lambda *_: None,
    )
    ingestion: Any = SimpleNamespace(
        options={}, source_id="u1", base=lambda _: None, donors=lambda _: None, offer=offer,
        withdraw=lambda _: False,
    )  # fmt: skip
    export: Any = SimpleNamespace(table_id="u2", discipline="keyed", relation=None, options=())
    source_type: Any = SimpleNamespace(prepare_snapshot=prepare)
    backfill = Backfill(world, source_type, [export], ingestion)
    backfill.start()
    eventually(lambda: not backfill.alive(), within_s=10)
    assert point.closed
