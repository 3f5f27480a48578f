"""Who subscribes to the same relation shares a hub, and the last one out ends it.

Method: real plans over a catalog that takes statements, real holds; a coordinator in which nothing ever
happens, not even on its clock, so that a hub waits until it is stopped.  What a hub computes is tested
over the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from headwater.catalog.snapshot import SessionNames
from headwater.coordinator.hubs import Changes, Hub, Hubs, Progress, Subscriber
from headwater.coordinator.read import Failure, Inputs
from headwater.coordinator.timestamps import Holds, Oracle
from headwater.core.clock import SystemClock
from headwater.core.errors import UserError
from headwater.core.limits import (
    SUBSCRIBE_QUEUE_BATCHES_MAX,
    SUBSCRIBE_QUEUE_BYTES_MAX,
    TICK_INTERVAL_MS_DEFAULT,
)
from headwater.core.names import SessionFacts
from headwater.core.time import TIMESTAMP_END
from headwater.persist.signed import DIFF
from headwater.sql.select import plan_query
from tests.unit.coordinator.scopes import Catalog


class StoppedClock(SystemClock):
    ms = 0

    def now_ms(self) -> int:
        return self.ms


class World:
    """What a hub sees of the coordinator."""

    def __init__(self) -> None:
        self.catalog = Catalog().run(
            "CREATE TABLE t (a int)", "CREATE TABLE u (a int)", "CREATE VIEW v AS SELECT a FROM t"
        )
        self.holds = Holds()
        self.clock = StoppedClock()
        self.oracle = Oracle(self.clock, 10)
        self.upper: int = TIMESTAMP_END
        self.failure: Failure | None = None
        self.reads = SimpleNamespace(
            upper=lambda item: self.upper,
            end=lambda item: 0,
            failure=lambda inputs, after, until: self._failed(until),
            last_readable=lambda inputs, newest: self._last_readable(newest),
        )
        self.tables = SimpleNamespace(settled=self._settled)
        self.ledger = SimpleNamespace(change_files=lambda *_: [])
        self.controller = SimpleNamespace(wait_for=self._wait)
        self.hubs = Hubs(self)  # type: ignore[arg-type]

    async def _wait(self, ready: Callable[[], bool]) -> None:
        if not ready():
            await asyncio.Event().wait()

    def _failed(self, until: int) -> Failure | None:
        return self.failure if self.failure is not None and self.failure.ts <= until else None

    def _last_readable(self, newest: int) -> int:
        failure = self._failed(newest)
        return newest if failure is None else failure.ts - 1

    async def _settled(self, ts: int) -> None:
        """Nobody writes."""

    def full_name(self, item: Any) -> str:
        return str(item.name)

    def whole_table_query(self, table: Any) -> None:
        """No relation here is a whole table, which would be followed by its files."""

    def join(self, text: str, after: int = 10, zone: str = "") -> tuple[Hub, Subscriber]:
        state = self.catalog.state
        query = plan_query(text, SessionNames(state), SessionFacts(zone=zone))
        tables = tuple(state.items[id_] for id_ in sorted(query.relation_ids))
        return self.hubs.join(query, Inputs(tables, (), ()), after)

    def id_of(self, name: str) -> str:
        return next(item.id for item in self.catalog.state.items.values() if item.name == name)


def test_one_relation_has_one_hub_however_many_listen_and_however_it_is_written() -> None:
    async def listen() -> None:
        coordinator = World()
        first, _ = coordinator.join("SELECT * FROM t")
        for after, text in enumerate(("SELECT * FROM t", "SELECT a FROM public.t", "SELECT t.a FROM t"), 20):
            assert coordinator.join(text, after)[0] is first, text
        assert len(first.subscribers) == 4
        view, _ = coordinator.join("SELECT * FROM v")
        assert coordinator.join("SELECT a FROM v")[0] is view
        assert coordinator.join("SELECT * FROM u")[0] is not first
        assert coordinator.join("SELECT a + 1 FROM t")[0] is not first

    asyncio.run(listen())


def test_sessions_in_different_zones_share_a_hub_if_it_does_not_matter() -> None:
    async def listen() -> None:
        coordinator = World()
        coordinator.catalog.run("CREATE TABLE m (at timestamptz, t timestamp)")
        for text in (
            "SELECT at FROM m",
            "SELECT t::date FROM m",
            "SELECT at - at FROM m",
            "SELECT max(at) FROM m WHERE at > '2026-01-01 00:00+00'",
            "SELECT at::timestamptz(3), at AT TIME ZONE 'UTC' FROM m",
        ):
            assert coordinator.join(text)[0] is coordinator.join(text, zone="Europe/Berlin")[0], text
        for text in (
            "SELECT at::date FROM m",
            "SELECT at::text FROM m",
            "SELECT t::timestamptz FROM m",
            "SELECT date_trunc('day', at), count(*) FROM m GROUP BY 1",
            "SELECT at + interval '1 day' FROM m",
            "SELECT jsonb_agg(at) FROM m",
            "SELECT at FROM m WHERE at > t",
            "SELECT at FROM m WHERE at > '2026-01-01 00:00'",
            "SELECT at || '' FROM m",
        ):
            hubs = {
                zone: coordinator.join(text, zone=zone)[0] for zone in ("", "Europe/Berlin", "Asia/Tokyo")
            }
            assert len(set(map(id, hubs.values()))) == 3, text
            assert coordinator.join(text, zone="Asia/Tokyo")[0] is hubs["Asia/Tokyo"], text

    asyncio.run(listen())


def test_the_last_one_out_ends_the_hub_and_lets_its_tables_go() -> None:
    async def listen() -> None:
        coordinator = World()
        table = coordinator.id_of("t")
        (hub, one), (_, other) = coordinator.join("SELECT * FROM t"), coordinator.join("SELECT * FROM t", 15)
        assert coordinator.holds.held(table)
        coordinator.hubs.leave(hub, one)
        assert coordinator.holds.held(table)
        assert coordinator.join("SELECT * FROM t")[0] is hub
        for subscriber in list(hub.subscribers):
            coordinator.hubs.leave(hub, subscriber)
        assert other not in hub.subscribers
        assert not coordinator.holds.held(table)
        again, _ = coordinator.join("SELECT * FROM t", 30)
        assert again is not hub
        assert again.reached == 30

    asyncio.run(listen())


def test_a_hub_that_has_ended_takes_nobody_in() -> None:
    async def listen() -> None:
        coordinator = World()
        hub, subscriber = coordinator.join("SELECT * FROM t")
        hub.ended = True
        later, _ = coordinator.join("SELECT * FROM t", 40)
        assert later is not hub
        # Who leaves the old one does not take the new one away.
        coordinator.hubs.leave(hub, subscriber)
        assert coordinator.join("SELECT * FROM t", 50)[0] is later

    asyncio.run(listen())


def test_a_plain_table_progresses_with_the_clock_and_no_read_waits_for_that() -> None:
    async def listen() -> None:
        coordinator = World()
        coordinator.clock.ms = 5 * TICK_INTERVAL_MS_DEFAULT - 1
        hub, subscriber = coordinator.join("SELECT a + 1 FROM t", coordinator.clock.ms)
        coordinator.clock.ms += 1  # the next interval has begun, and nobody has written
        assert await asyncio.wait_for(subscriber.next(), 10) == Progress(coordinator.clock.ms + 1)
        assert coordinator.oracle.next_write() == coordinator.clock.ms + 1
        assert coordinator.oracle.floor == 10
        coordinator.hubs.leave(hub, subscriber)

    asyncio.run(listen())


def test_who_does_not_listen_falls_behind_changes_but_not_behind_time() -> None:
    async def listen() -> None:
        subscriber = Subscriber("t", after=5, joined_at=5)
        change = Changes(7, pa.table({DIFF: [1]}))
        subscriber.offer(Changes(5, change.rows))  # before its time
        for upper in range(6, 6 + 2 * SUBSCRIBE_QUEUE_BATCHES_MAX):
            subscriber.offer(Progress(upper))
        subscriber.offer(change)
        subscriber.begin_with(Progress(6))
        assert [await subscriber.next() for _ in range(3)] == [Progress(6), Progress(upper), change]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(subscriber.next(), 0.01)  # as FETCH with a timeout does
        subscriber.offer(Progress(upper + 1))
        assert await asyncio.wait_for(subscriber.next(), 10) == Progress(upper + 1)
        for _ in range(SUBSCRIBE_QUEUE_BATCHES_MAX):
            subscriber.offer(change)
        assert not subscriber.behind
        subscriber.offer(change)
        assert subscriber.behind
        subscriber.offer(change)
        with pytest.raises(UserError, match="fell behind"):
            raise cast(UserError, await subscriber.next())

    asyncio.run(listen())


def test_what_waits_for_a_client_is_bounded_in_bytes_but_a_single_tick_always_may() -> None:
    async def listen() -> None:
        subscriber = Subscriber("t", after=5, joined_at=5)
        large = Changes(7, pa.table({DIFF: pa.nulls(SUBSCRIBE_QUEUE_BYTES_MAX // 8 + 1, pa.int64())}))
        assert large.rows.nbytes > SUBSCRIBE_QUEUE_BYTES_MAX
        for _ in range(3):
            subscriber.offer(large)
            subscriber.offer(Progress(8))
            assert [await subscriber.next() for _ in range(2)] == [large, Progress(8)]
        subscriber.offer(large)
        assert not subscriber.behind
        subscriber.offer(large)
        assert subscriber.behind

    asyncio.run(listen())


def test_a_hub_goes_up_to_a_definite_error_and_ends_with_it() -> None:
    async def listen() -> None:
        coordinator = World()
        coordinator.upper = 20
        error = UserError("the table is lost")
        hub, early = coordinator.join("SELECT a + 1 FROM t")
        assert hub.reached == 19
        coordinator.upper, coordinator.failure = 90, Failure(50, error)
        assert await asyncio.wait_for(early.next(), 10) == Progress(50)
        assert await asyncio.wait_for(early.next(), 10) is error
        assert hub.ended
        # Who comes now is taken to the same place.
        later, late = coordinator.join("SELECT a + 1 FROM t", 30)
        assert (later is hub, late.joined_at) == (False, 49)
        assert await asyncio.wait_for(late.next(), 10) == Progress(50)
        assert await asyncio.wait_for(late.next(), 10) is error

    asyncio.run(listen())


def test_an_error_is_told_however_much_waits_before_it() -> None:
    async def listen() -> None:
        rows, error = pa.table({"a": [1], DIFF: [1]}), UserError("the table is lost")
        subscriber = Subscriber("t", 0, 0)
        for ts in range(1, SUBSCRIBE_QUEUE_BATCHES_MAX + 1):
            subscriber.offer(Changes(ts, rows))
        subscriber.offer(error)
        told = [await subscriber.next() for _ in range(SUBSCRIBE_QUEUE_BATCHES_MAX + 1)]
        assert told[-1] is error

    asyncio.run(listen())
