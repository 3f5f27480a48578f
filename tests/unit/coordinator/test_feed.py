"""A subscription's way from its own timestamp to the hub's present, for clients of any speed.

Method: the real feed, subscribers and plan; a hub that is told where it stands whenever somebody joins
it, what has changed until then, and whether more comes meanwhile than may wait for a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headwater.catalog.snapshot import SessionNames
from headwater.coordinator.carrying import Reader
from headwater.coordinator.feed import Feed
from headwater.coordinator.hubs import Changes, Progress, Subscriber, diff_schema
from headwater.coordinator.read import Inputs
from headwater.coordinator.switching import Followed
from headwater.coordinator.timestamps import Hold, Holds
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError
from headwater.core.limits import SUBSCRIBE_QUEUE_BATCHES_MAX
from headwater.core.names import SessionFacts
from headwater.sql.select import plan_query
from tests.unit.coordinator.scopes import Catalog


@dataclass
class Joined:
    """Where the hub stands when it is joined; how many changes come while the client catches up."""

    at: int
    meanwhile: int = 0


class Stage:
    """A feed of `t` from 100 on, whose hub stands at each of these in turn."""

    def __init__(self, joins: Sequence[Joined], up_to: int) -> None:
        state = Catalog().run("CREATE TABLE t (a int)").state
        self._query = plan_query("SELECT * FROM t", SessionNames(state), SessionFacts())
        self._joins = list(joins)
        self._up_to = up_to
        self.left: list[int] = []
        self.hold: Hold = Holds().acquire(["u1"], 100)
        self.asked: list[tuple[int, int]] = []
        coordinator: Any = SimpleNamespace(
            hubs=self, subscriptions={}, subscription_numbers=count(1), clock=SYSTEM_CLOCK
        )
        session: Any = SimpleNamespace(coordinator=coordinator)
        statement: Any = SimpleNamespace(progress=False)
        reader = Reader("its query", "SELECT * FROM materialize.public.t")
        follows = Followed(reader, (), self._query, Inputs((), (), ()))
        self.feed = Feed(session, statement, follows, 100, up_to, self.hold)

    def join(self, query: object, inputs: object, after: int) -> tuple[Any, Subscriber]:
        joined = self._joins.pop(0)
        subscriber = Subscriber("t", after, joined.at)

        def between(begin: int, until: int) -> AsyncIterator[Changes]:
            return self._between(begin, until, joined, subscriber)

        return SimpleNamespace(between=between, name=lambda: "t"), subscriber

    def leave(self, hub: object, subscriber: Subscriber) -> None:
        self.left.append(subscriber.joined_at)

    async def _between(
        self, after: int, until: int, joined: Joined, subscriber: Subscriber
    ) -> AsyncIterator[Changes]:
        self.asked.append((after, until))
        assert self.hold.ts <= after, "what has to be read may have gone"
        yield self._changes(until)
        for number in range(1, joined.meanwhile + 1):
            subscriber.offer(self._changes(until + number))
        subscriber.offer(Progress(self._up_to))

    def _changes(self, ts: int) -> Changes:
        return Changes(ts, pa.table([[ts], [1]], diff_schema(self._query)))

    async def run(self) -> list[int]:
        return [ts async for batch in self.feed.batches(None) for ts in batch.column("a").to_pylist()]


def test_what_has_changed_until_the_hub_comes_first_and_then_what_the_hub_says() -> None:
    stage = Stage([Joined(200, meanwhile=2)], up_to=300)
    assert asyncio.run(stage.run()) == [200, 201, 202]
    assert stage.asked == [(100, 200)]
    assert stage.left == [200]


def test_a_client_that_comes_nearer_may_be_slower_than_what_can_wait() -> None:
    too_many = SUBSCRIBE_QUEUE_BATCHES_MAX + 1
    stage = Stage([Joined(2_000, too_many), Joined(3_500, too_many), Joined(3_600, 1)], up_to=4_000)
    assert asyncio.run(stage.run()) == [2_000, 3_500, 3_600, 3_601]
    assert stage.asked == [(100, 2_000), (2_000, 3_500), (3_500, 3_600)]
    assert stage.left == [2_000, 3_500, 3_600]


def test_a_client_that_does_not_come_nearer_is_told_so() -> None:
    too_many = SUBSCRIBE_QUEUE_BATCHES_MAX + 1
    stage = Stage([Joined(2_000, too_many), Joined(4_000, too_many)], up_to=9_000)
    with pytest.raises(UserError, match="fell behind") as told:
        asyncio.run(stage.run())
    assert told.value.sqlstate == "53200"
    assert stage.left == [2_000, 4_000]
