"""Webhooks: requests become rows, many of them with one append, and are answered when these are durable.

    request ──► waiting ──► of each table a batch ──check──► decode ──► one append for all ──► answers
                   ▲                    │                                    ▲
                   │                    └─ what takes longer than others ────┘ in a later append
                   └──── while batches are written, the next ones gather

**Durable.**  An answer of 200 comes after the append.  Rows of one request come at one timestamp.  What dies
before the append has written nothing, and its client hears no 200.

**Once.**  A request with an Idempotency-Key is remembered with its rows, in the same append: the same key
with the same body is answered 200 again and writes nothing, with another body it is refused (422).  A table
remembers its newest WEBHOOK_KEYS_MAX keys, for WEBHOOK_KEY_S_MAX at most.  When the outcome of an append is
in doubt, the ledger is asked before any key is looked up again.

**Bounded.**  So many requests in flight, so many bytes of them; more are told to come later (429).  A request
is in flight once its body is there; bodies that are still coming make room for others (webhook_room.py).

**Apart.**  What is wrong with one table is no matter of the others': a condition that takes long, or that
strangers make fail again and again, keeps its own table's requests waiting.  Of each table there is one batch
under way at a time.  A table that has been slow gets half of the places for requests in flight at most.

Not here: HTTP (http/webhooks.py), conditions (webhook_conditions.py), rows (webhook_rows.py).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
import structlog

from headwater.catalog.details import WebhookTable
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.tables import inserted
from headwater.coordinator.variables import find
from headwater.coordinator.webhook_conditions import Conditions
from headwater.coordinator.webhook_requests import Answer, Request, tell, tell_all, told
from headwater.coordinator.webhook_room import Room
from headwater.coordinator.webhook_rows import Headers, rows_of
from headwater.core.errors import HeadwaterError, UserError
from headwater.core.limits import (
    WEBHOOK_BATCH_BYTES_MAX,
    WEBHOOK_KEY_S_MAX,
    WEBHOOK_KEYS_MAX,
    WEBHOOK_PATHS_MAX,
    WEBHOOK_SLOW_S,
    WEBHOOK_SLOW_S_MAX,
    WEBHOOK_TOGETHER_S_MAX,
)
from headwater.observe import metrics
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import Accepted, Taken
from headwater.storage.health import Numbers
from headwater.storage.loops import end_loops

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("webhooks")

KEY_HEADER: Final = b"idempotency-key"
_DIGEST_BYTES: Final = 16
_COUNTERS: Final = ("messages_received", "bytes_received", "updates_staged", "updates_committed")

_OK: Final = Answer(200)
_STOPPED: Final = Answer(503, "the server is not ready to take requests")
_NOT_STORED: Final = "the request could not be stored, the server's log says why"  # to a stranger no more
_INTERNAL: Final = Answer(500, _NOT_STORED)
_OTHER_BODY: Final = Answer(422, "this Idempotency-Key was used for a request with another body")


@dataclass(slots=True)
class _Writing:
    """What becomes of the requests for one table."""

    item: Item
    requests: list[Request]
    changes: pa.Table | None = None
    taken: list[Taken] = field(default_factory=list)
    row_count: int = 0


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """The requests for one table that are being checked, decoded or written."""

    item_id: str
    requests: list[Request]
    begun_s: float
    made: asyncio.Task[_Writing | None]


class Webhooks:
    """All of them; belongs to the event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self.base_url = ""  # where HTTP is served, once it is
        self._waiting: list[Request] = []
        self._come = asyncio.Event()
        self._accepting = False
        self._doubtful = False  # whether what was counted is durable
        self._in_flight = 0
        self._in_flight_for: Counter[str] = Counter()  # each table
        self._under_way: dict[str, _UnderWay] = {}  # by table
        self._slow: dict[str, float] = {}  # by table: until when it counts as slow
        self._conditions = Conditions(coordinator)
        self.room = Room()  # for bodies
        self._state: CatalogState | None = None  # what the next two are of
        self._addresses: dict[tuple[str, ...], Item | None] = {}
        self._limit = 0
        self._keys: dict[
            str, dict[bytes, tuple[bytes, int]]
        ] = {}  # by table: what was taken, the oldest first

    # What the door asks

    def refusal(self, path: tuple[str, ...]) -> Answer | None:
        """Why a request for this table is not even read; None if it may come."""
        if not self._accepting:
            return _STOPPED
        item = self._item(path)
        if item is None:
            return _not_there(path)
        if self._in_flight >= self._limit:
            return Answer(429, f"more than {self._limit} requests are in flight, try again later")
        if self._in_flight_for[item.id] >= max(1, self._limit // 2) and self._is_slow(item.id):
            return Answer(429, "too many requests for a slow table are in flight, try again later")
        return None

    def _is_slow(self, item_id: str) -> bool:
        return self._slow.get(item_id, float("-inf")) > self._coordinator.clock.monotonic_s()

    async def take(self, path: tuple[str, ...], headers: Headers, body: bytes) -> Answer:
        """The answer, when the rows are durable.  All of the body is there: from now on it takes a place."""
        refusal, item = self.refusal(path), self._item(path)
        if refusal is not None or item is None:
            return refusal or _not_there(path)
        self._in_flight += 1
        self._in_flight_for[item.id] += 1
        try:
            return await self._take(item, headers, body)
        finally:
            self._in_flight -= 1
            self._in_flight_for[item.id] -= 1
            if not self._in_flight_for[item.id]:
                del self._in_flight_for[item.id]

    async def _take(self, item: Item, headers: Headers, body: bytes) -> Answer:
        details: WebhookTable = item.details  # type: ignore[assignment]
        for name, _, _ in details.mapped:
            if sum(sent == name.encode() for sent, _ in headers) > 1:
                return Answer(401, f'header "{name}" is sent more than once')
        key = next((value for name, value in headers if name == KEY_HEADER), None)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        request = Request(item.id, body, headers, answer)
        if key is not None:
            request.taken = Taken(_digest(key), _digest(body))
        self._waiting.append(request)
        self._come.set()
        return await answer

    def url(self, item: Item) -> str:
        """Where requests for a table are sent."""
        parts = SessionNames(self._coordinator.catalog.state).full_name_parts(item)
        path = "/".join(quote(part, safe="") for part in parts)
        return f"{self.base_url}/api/webhook/{path}"

    def _item(self, path: tuple[str, ...]) -> Item | None:
        state = self._coordinator.catalog.state
        if state is not self._state:
            self._state, self._addresses = state, {}
            variable = find("webhook_concurrent_request_limit")
            self._limit = int(state.system_variables.get(variable.name, variable.default))
        if path not in self._addresses:
            if len(self._addresses) > WEBHOOK_PATHS_MAX:  # of those who try names
                self._addresses = {}
            self._addresses[path] = _found(state, path)
        return self._addresses[path]

    # The loop

    async def run(self) -> None:
        """Write what waits, turn after turn."""
        self._recall(self._coordinator.ledger.counters())
        self._accepting = True
        try:
            while True:
                await self._come.wait()
                self._come.clear()
                if self._doubtful:
                    self._recall(await asyncio.to_thread(self._coordinator.ledger.counters))
                    self._doubtful = False
                await self._turn()
        finally:
            self._accepting = False
            left, self._under_way = list(self._under_way.values()), {}
            for each in left:
                tell_all(each.requests, _STOPPED)
            tell_all(self._waiting, _STOPPED)
            self._waiting = []
            await end_loops([each.made for each in left])

    async def _turn(self) -> None:
        """Write what is ready; what takes longer than the others is written in a later turn."""
        begun_s = self._coordinator.clock.monotonic_s()
        begun = [
            _UnderWay(id_, some, begun_s, asyncio.create_task(self._contained(id_, some)))
            for id_, some in self._batches().items()
        ]
        self._under_way |= {each.item_id: each for each in begun}
        if begun:
            await asyncio.wait([each.made for each in begun], timeout=WEBHOOK_TOGETHER_S_MAX)
        for each in begun:
            if not each.made.done():
                each.made.add_done_callback(lambda _: self._come.set())
        await self._write([each for each in self._under_way.values() if each.made.done()])
        if any(request.item_id not in self._under_way for request in self._waiting):
            self._come.set()

    def _batches(self) -> dict[str, list[Request]]:
        """By table: what waits, as much as is written at once, where nothing is under way already."""
        size = 0
        taken: dict[str, list[Request]] = {}
        left: list[Request] = []
        for number, request in enumerate(self._waiting):
            if request.item_id in self._under_way:
                left.append(request)
                continue
            size += len(request.body)
            if taken and size > WEBHOOK_BATCH_BYTES_MAX:
                left += self._waiting[number:]
                break
            taken.setdefault(request.item_id, []).append(request)
        self._waiting = left
        return taken

    async def _write(self, ready: Sequence[_UnderWay]) -> None:
        clock = self._coordinator.clock
        unknown = _STOPPED  # what a client is told if this is cancelled
        try:
            if ready:
                await self._append([made for each in ready if (made := each.made.result())])
                metrics.webhook_appended(clock.monotonic_s() - min(each.begun_s for each in ready))
        except HeadwaterError as error:
            log.warning("requests could not be stored", error=str(error))
            self._keys.clear()  # what is durable is asked again
            self._doubtful = True
            unknown = Answer(503, _NOT_STORED)
        except Exception:
            unknown = _INTERNAL
            self._keys.clear()
            raise
        finally:
            for each in ready:
                del self._under_way[each.item_id]
                for request in each.requests:
                    tell(request, unknown if request.twin is None else told(request.twin, unknown))

    async def _append(self, writing: Sequence[_Writing]) -> None:
        """All rows at once; tables that are gone by then are left out."""
        failpoint("webhooks.before_append")
        coordinator = self._coordinator
        left = list(writing)
        while written := [each for each in left if each.changes is not None]:
            accepted = {each.item.id: Accepted(each.taken, self._counters(each)) for each in written}
            rows = {each.item.id: (each.item.relation, [each.changes]) for each in written}
            try:
                await coordinator.commit_writes(rows, accepted=accepted)
                break
            except UserError:
                there = coordinator.catalog.state.items
                if all(each.item.id in there for each in written):
                    raise
                for each in written:
                    if each.item.id not in there:
                        left.remove(each)
                        tell_all(each.requests, _gone(each.item))
        failpoint("webhooks.after_append")
        for each in left:
            self._remember(each)
            self._numbers(each.item).settled.update(self._counters(each))
            tell_all(each.requests, _OK)
            metrics.webhook_rows(each.row_count)

    async def _contained(self, item_id: str, requests: list[Request]) -> _Writing | None:
        """The rows of requests for one table; what is wrong with it is no matter of the others'."""
        begun_s = self._coordinator.clock.monotonic_s()
        try:
            return await self._prepared(item_id, requests)
        except HeadwaterError as error:
            log.warning("requests could not be checked", table=item_id, error=str(error))
            tell_all(requests, Answer(503, _NOT_STORED))
        except Exception:
            log.exception("requests made a webhook fail", table=item_id)
            tell_all(requests, _INTERNAL)
        finally:
            ended_s = self._coordinator.clock.monotonic_s()
            if ended_s - begun_s > WEBHOOK_SLOW_S:
                slow = {id_: until_s for id_, until_s in self._slow.items() if until_s > ended_s}
                self._slow = {**slow, item_id: ended_s + WEBHOOK_SLOW_S_MAX}
        return None

    async def _prepared(self, item_id: str, requests: list[Request]) -> _Writing | None:
        """The rows of the requests that may come in; the others are answered."""
        item = self._coordinator.catalog.state.items.get(item_id)
        if item is None or not isinstance(item.details, WebhookTable):
            tell_all(requests, Answer(404, "no object was found at the path any more"))
            return None
        numbers = self._numbers(item)
        _add(numbers, "messages_received", len(requests))
        _add(numbers, "bytes_received", sum(len(request.body) for request in requests))
        left = await self._conditions.checked(item, item.details, requests)
        left = await self._new(item, left)
        if not left:
            return None
        details, relation = item.details, item.relation
        rows = await asyncio.to_thread(
            rows_of, details, relation, [r.body for r in left], [r.headers for r in left]
        )
        for number, reason in rows.refused.items():
            tell(left[number], Answer(400, reason))
        kept = [request for number, request in enumerate(left) if number not in rows.refused]
        made = _Writing(item, kept, row_count=rows.table.num_rows)
        if rows.table.num_rows:  # a body without any document can be taken again and again
            made.taken = [request.taken for request in kept if request.taken is not None]
            made.changes = inserted(rows.table)
        return made

    # Statistics

    def _numbers(self, item: Item) -> Numbers:
        return self._coordinator.controller.health.numbers.setdefault(item.id, Numbers())

    def _counters(self, written: _Writing) -> dict[str, int]:
        """What is counted of a table once this is durable."""
        numbers = self._numbers(written.item)
        rows = dict.fromkeys(("updates_staged", "updates_committed"), written.row_count)
        return {name: numbers.settled.get(name, 0) + rows.get(name, 0) for name in _COUNTERS}

    def _recall(self, durable: Mapping[str, Mapping[str, int]]) -> None:
        """The ledger knows what is durable; requests that were refused since are counted here only."""
        for id_, counters in durable.items():
            settled = self._coordinator.controller.health.numbers.setdefault(id_, Numbers()).settled
            settled.update({name: max(count, settled.get(name, 0)) for name, count in counters.items()})

    # Keys

    async def _new(self, item: Item, requests: list[Request]) -> list[Request]:
        """Requests that were not taken before; those that were are answered, or wait for their twin."""
        if all(request.taken is None for request in requests):
            return requests
        known = await self._known(item)
        twins: dict[bytes, Request] = {}
        left = []
        for request in requests:
            taken = request.taken
            if taken is None:
                left.append(request)
                continue
            before = known.get(taken.key)
            twin = twins.get(taken.key)
            content = before[0] if before is not None else twin.taken.content if twin and twin.taken else None
            if content is None:
                twins[taken.key] = request
                left.append(request)
            elif content != taken.content:
                tell(request, _OTHER_BODY)
            elif twin is None:
                tell(request, _OK)
            else:
                request.twin = twin
        return left

    async def _known(self, item: Item) -> dict[bytes, tuple[bytes, int]]:
        known = self._keys.get(item.id)
        if known is None:
            async with self._coordinator.tables.turn(frozenset({item.id})):
                pass  # no append is in doubt any more
            rows = await asyncio.to_thread(self._coordinator.ledger.taken, item.id)
            known = self._keys[item.id] = {one.key: (one.content, ts) for ts, one in rows}
        oldest = self._coordinator.clock.now_ms() - int(WEBHOOK_KEY_S_MAX * 1000)
        extra = len(known) - WEBHOOK_KEYS_MAX
        until = 0
        for number, (_, ts) in enumerate(known.values()):
            if ts >= oldest and number >= extra:
                break
            until = ts
        if until and (extra > WEBHOOK_KEYS_MAX // 10 or next(iter(known.values()))[1] < oldest):
            await asyncio.to_thread(self._coordinator.ledger.forget_taken, item.id, until)
            known = self._keys[item.id] = {key: one for key, one in known.items() if one[1] > until}
        return known

    def _remember(self, writing: _Writing) -> None:
        known = self._keys.get(writing.item.id)
        if known is not None:
            ts = self._coordinator.tables.last_ts
            known.update({one.key: (one.content, ts) for one in writing.taken})


def _found(state: CatalogState, path: tuple[str, ...]) -> Item | None:
    """The webhook at a path of database, schema and name."""
    database = state.database_named(path[0])
    schemas = [s for s in state.schemas.values() if database and s.database_id == database.id]
    schema = next((s for s in schemas if s.name == path[1]), None)
    item = None if schema is None else state.item_named(schema.id, path[2])
    return item if item is not None and isinstance(item.details, WebhookTable) else None


def _not_there(path: tuple[str, ...]) -> Answer:
    return Answer(404, "no object was found at the path " + ".".join(f'"{part}"' for part in path))


def _gone(item: Item) -> Answer:
    return Answer(404, f'no object was found at the path any more: "{item.name}" was dropped')


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _add(numbers: Numbers, name: str, count: int) -> None:
    numbers.settled[name] = numbers.settled.get(name, 0) + count
