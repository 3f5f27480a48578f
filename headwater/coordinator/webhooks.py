"""Webhooks: requests become rows, many of them with one append, and are answered when these are durable.

    request ──► waiting ──► batch ──check──► decode ──► one append for all tables ──► answers
                   ▲                                          │
                   └──── while one batch is written, the next one gathers

**Durable.**  An answer of 200 comes after the append.  Rows of one request come at one timestamp.  What dies
before the append has written nothing, and its client hears no 200.

**Once.**  A request with an Idempotency-Key is remembered with its rows, in the same append: the same key
with the same body is answered 200 again and writes nothing, with another body it is refused (422).  A table
remembers its newest WEBHOOK_KEYS_MAX keys, for WEBHOOK_KEY_S_MAX at most.  When the outcome of an append is
in doubt, the ledger is asked before any key is looked up again.

**Bounded.**  So many requests in flight, so many bytes of them; more are told to come later (429).  A request
is in flight once its body is there; bodies that are still coming make room for others (webhook_room.py).

Not here: HTTP (http/webhooks.py), what a condition may be (webhook_checks.py), rows (webhook_rows.py).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import structlog

from headwater.catalog.details import WebhookTable
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.tables import inserted
from headwater.coordinator.variables import find
from headwater.coordinator.webhook_checks import NUMBER, REQUEST, check_relation, plan_check, timed
from headwater.coordinator.webhook_room import Room
from headwater.coordinator.webhook_rows import Headers, header_maps, rows_of
from headwater.core.errors import HeadwaterError, TransientError, UserError
from headwater.core.limits import (
    WEBHOOK_BATCH_BYTES_MAX,
    WEBHOOK_CHECK_S_MAX,
    WEBHOOK_KEY_S_MAX,
    WEBHOOK_KEYS_MAX,
    WEBHOOK_PATHS_MAX,
)
from headwater.core.relation import Relation
from headwater.decode.text import text_and_errors
from headwater.formats.arrow import state_schema
from headwater.observe import metrics
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import Accepted, Taken
from headwater.storage.health import Numbers

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("webhooks")

KEY_HEADER: Final = b"idempotency-key"
_DIGEST_BYTES: Final = 16
_ROWS: Final = "request"
_COUNTERS: Final = ("messages_received", "bytes_received", "updates_staged", "updates_committed")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client is told."""

    status: int
    text: str = ""


_OK: Final = Answer(200)
_INVALID: Final = Answer(400, "failed to validate the request")
_STOPPED: Final = Answer(503, "the server is not ready to take requests")
_NOT_STORED: Final = "the request could not be stored, the server's log says why"  # to a stranger no more
_INTERNAL: Final = Answer(500, _NOT_STORED)
_OTHER_BODY: Final = Answer(422, "this Idempotency-Key was used for a request with another body")


@dataclass(slots=True)
class Request:
    """One request, whose body is there."""

    item_id: str
    body: bytes
    headers: Headers
    answer: asyncio.Future[Answer]
    taken: Taken | None = None
    twin: Request | None = None  # one of the same batch with the same key, which is told the same


@dataclass(slots=True)
class _Check:
    """A condition, planned."""

    item: Item
    columns: pa.Schema  # of the answers
    sql: str
    constants: dict[str, pa.Table]  # that the text names
    timed: bool  # the plan has the time in it


@dataclass(slots=True)
class _Writing:
    """What becomes of the requests for one table."""

    item: Item
    requests: list[Request]
    changes: pa.Table | None = None
    taken: list[Taken] = field(default_factory=list)
    row_count: int = 0


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
        self.room = Room()  # for bodies
        self._state: CatalogState | None = None  # what the next three are of
        self._addresses: dict[tuple[str, ...], Item | None] = {}
        self._limit = 0
        self._checks: dict[str, _Check] = {}
        self._secrets: dict[tuple[str, object], bytes] = {}
        self._keys: dict[
            str, dict[bytes, tuple[bytes, int]]
        ] = {}  # by table: what was taken, the oldest first

    # What the door asks

    def refusal(self, path: tuple[str, ...]) -> Answer | None:
        """Why a request for this table is not even read; None if it may come."""
        if not self._accepting:
            return _STOPPED
        if self._item(path) is None:
            return _not_there(path)
        if self._in_flight >= self._limit:
            return Answer(429, f"more than {self._limit} requests are in flight, try again later")
        return None

    async def take(self, path: tuple[str, ...], headers: Headers, body: bytes) -> Answer:
        """The answer, when the rows are durable.  All of the body is there: from now on it takes a place."""
        refusal, item = self.refusal(path), self._item(path)
        if refusal is not None or item is None:
            return refusal or _not_there(path)
        self._in_flight += 1
        try:
            return await self._take(item, headers, body)
        finally:
            self._in_flight -= 1

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
        """Write what waits, batch after batch."""
        self._recall(self._coordinator.ledger.counters())
        self._accepting = True
        try:
            while True:
                await self._come.wait()
                if self._doubtful:
                    self._recall(await asyncio.to_thread(self._coordinator.ledger.counters))
                    self._doubtful = False
                await self._write(self._batch())
        finally:
            self._accepting = False
            for request in self._waiting:
                _tell(request, _STOPPED)
            self._waiting = []

    def _batch(self) -> list[Request]:
        size, count = 0, 0
        for request in self._waiting:
            size += len(request.body)
            if count and size > WEBHOOK_BATCH_BYTES_MAX:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        if not self._waiting:
            self._come.clear()
        return batch

    async def _write(self, batch: Sequence[Request]) -> None:
        begun_s = self._coordinator.clock.monotonic_s()
        unknown = _STOPPED  # what a client is told if this is cancelled
        try:
            by_table: dict[str, list[Request]] = {}
            for request in batch:
                by_table.setdefault(request.item_id, []).append(request)
            writing = [made for id_, some in by_table.items() if (made := await self._contained(id_, some))]
            await self._append(writing)
            metrics.webhook_appended(self._coordinator.clock.monotonic_s() - begun_s)
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
            for request in batch:
                _tell(request, unknown if request.twin is None else _told(request.twin, unknown))

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
                        _tell_all(each.requests, _gone(each.item))
        failpoint("webhooks.after_append")
        for each in left:
            self._remember(each)
            self._numbers(each.item).settled.update(self._counters(each))
            _tell_all(each.requests, _OK)
            metrics.webhook_rows(each.row_count)

    async def _contained(self, item_id: str, requests: list[Request]) -> _Writing | None:
        """The same; what nobody foresaw in requests for one table is no matter of the others'."""
        try:
            return await self._prepared(item_id, requests)
        except HeadwaterError:
            raise
        except Exception:
            log.exception("requests made a webhook fail", table=item_id)
            _tell_all(requests, _INTERNAL)
            return None

    async def _prepared(self, item_id: str, requests: list[Request]) -> _Writing | None:
        """The rows of the requests that may come in; the others are answered."""
        item = self._coordinator.catalog.state.items.get(item_id)
        if item is None or not isinstance(item.details, WebhookTable):
            _tell_all(requests, Answer(404, "no object was found at the path any more"))
            return None
        numbers = self._numbers(item)
        _add(numbers, "messages_received", len(requests))
        _add(numbers, "bytes_received", sum(len(request.body) for request in requests))
        left = await self._checked(item, item.details, requests)
        left = await self._new(item, left)
        if not left:
            return None
        details, relation = item.details, item.relation
        rows = await asyncio.to_thread(
            rows_of, details, relation, [r.body for r in left], [r.headers for r in left]
        )
        for number, reason in rows.refused.items():
            _tell(left[number], Answer(400, reason))
        kept = [request for number, request in enumerate(left) if number not in rows.refused]
        made = _Writing(item, kept, row_count=rows.table.num_rows)
        if rows.table.num_rows:  # a body without any document can be taken again and again
            made.taken = [request.taken for request in kept if request.taken is not None]
            made.changes = inserted(rows.table)
        return made

    # Conditions

    async def _checked(self, item: Item, details: WebhookTable, requests: list[Request]) -> list[Request]:
        """The requests for which the condition holds."""
        if details.condition is None:
            return requests
        check = await self._check(item, details)
        refused: dict[int, str] = {}
        columns = [self._bound(*bind, requests, refused) for bind in details.binds]
        for number, reason in refused.items():
            _tell(requests[number], Answer(400, reason))
        relation = Relation((*check_relation(details).columns, NUMBER))
        arrays = [*columns, pa.array(np.arange(len(requests)), pa.int64())]
        schema = state_schema(relation)
        table = pa.table([a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema)
        if refused:
            table = table.filter(pa.array(~np.isin(np.arange(len(requests)), list(refused))))
        holds: dict[int, bool | UserError] = {}
        if table.num_rows:
            await self._evaluate(check, table, holds)
        for number, request in enumerate(requests):
            held = holds.get(number)
            if isinstance(held, UserError) and not _secretive(details):
                _tell(request, Answer(400, f"failed to validate the request: {held.message}"))
            elif held is not True:
                _tell(request, _INVALID)
        return [request for number, request in enumerate(requests) if holds.get(number) is True]

    async def _check(self, item: Item, details: WebhookTable) -> _Check:
        """The condition, planned anew only where the time is in it: that costs more than to run it."""
        coordinator = self._coordinator
        state, now_us = coordinator.catalog.state, coordinator.clock.now_ms() * 1000
        made = self._checks.get(item.id)
        if made is not None and made.item.details != details:
            made = None
        if made is None or made.timed:
            query = await coordinator.beside.run(lambda: plan_check(state, details, now_us))
            moves = made is not None or await coordinator.beside.run(lambda: timed(state, details))
            sql, constants = await coordinator.reads.generated(query, {REQUEST: _ROWS}, None, {})
            schema = state_schema(Relation(query.columns()))
            self._checks[item.id] = made = _Check(item, schema, sql, constants, moves)
        return made

    def _bound(
        self,
        given: str,
        name: str,
        binary: bool,
        secret_id: str | None,
        requests: Sequence[Request],
        refused: dict[int, str],
    ) -> pa.Array:
        """A column that the condition looks at."""
        if given == "headers":
            return header_maps([request.headers for request in requests], binary, refused)
        if secret_id is not None:
            what, column = "secret", pa.array([self._secret(secret_id)] * len(requests), pa.binary())
        else:
            what, column = "body", pa.array([request.body for request in requests], pa.binary())
        if binary:
            return column
        texts, errors = text_and_errors(column, what)
        for number in [] if errors is None else np.flatnonzero(errors.is_valid().to_numpy(False)).tolist():
            refused[number] = f"failed to validate the request: the {what} is not UTF-8 text"
        return texts

    def _secret(self, id_: str) -> bytes:
        """Its value now: each ALTER SECRET makes another version."""
        item = self._coordinator.catalog.state.items.get(id_)
        if item is None:
            raise TransientError("a secret of the webhook is gone")
        key = (id_, item.details)
        if key not in self._secrets:
            self._secrets = {other: value for other, value in self._secrets.items() if other[0] != id_}
            self._secrets[key] = self._coordinator.secrets.get(id_)
        return self._secrets[key]

    async def _evaluate(self, check: _Check, rows: pa.Table, holds: dict[int, bool | UserError]) -> None:
        """By number: whether the condition holds.  An error is one request's: it is looked for by halves."""
        tables = {**check.constants, _ROWS: rows}
        try:
            async with asyncio.timeout(WEBHOOK_CHECK_S_MAX):
                found = await self._coordinator.engine.table(check.sql, check.columns, tables)
        except TimeoutError:
            error = UserError("the condition took too long", "57014")
        except UserError as raised:
            error = raised
        else:
            numbers, values = (column.to_pylist() for column in found.columns)
            holds.update({n: value is True for n, value in zip(numbers, values, strict=True)})
            return
        if rows.num_rows == 1:
            holds[rows.column(NUMBER.name)[0].as_py()] = error
            return
        half = rows.num_rows // 2
        for part in (rows.slice(0, half), rows.slice(half)):
            await self._evaluate(check, part.combine_chunks(), holds)

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
                _tell(request, _OTHER_BODY)
            elif twin is None:
                _tell(request, _OK)
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


def _secretive(details: WebhookTable) -> bool:
    """Whether an error of the condition may quote a secret, as one of a cast does."""
    return any(secret_id is not None for *_, secret_id in details.binds)


def _not_there(path: tuple[str, ...]) -> Answer:
    return Answer(404, "no object was found at the path " + ".".join(f'"{part}"' for part in path))


def _gone(item: Item) -> Answer:
    return Answer(404, f'no object was found at the path any more: "{item.name}" was dropped')


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _tell(request: Request, answer: Answer) -> None:
    if not request.answer.done():
        request.answer.set_result(answer)


def _tell_all(requests: Sequence[Request], answer: Answer) -> None:
    for request in requests:
        _tell(request, answer)


def _told(request: Request, unknown: Answer) -> Answer:
    """What a request was told; one whose client has gone was told nothing."""
    return unknown if request.answer.cancelled() else request.answer.result()


def _add(numbers: Numbers, name: str, count: int) -> None:
    numbers.settled[name] = numbers.settled.get(name, 0) + count
