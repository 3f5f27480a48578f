"""Conditions of webhooks, asked for all requests of a batch at once.

    batch ──one query──► true, or not                   each request is told
          └──error, or no end──► halves, their halves, ...    until it is found whose fault it was

A condition has WEBHOOK_CHECK_S_MAX for a batch, however many requests make it fail or take long.  Each
query may take half of what is left, and halves of one size come before smaller ones, so a request that
takes long leaves time for all others; what is not decided in time is told to come later.

Not here: what a condition may be (webhook_checks.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from headwater.catalog.details import WebhookTable
from headwater.catalog.state import Item
from headwater.coordinator.webhook_checks import NUMBER, REQUEST, check_relation, plan_check, timed
from headwater.coordinator.webhook_requests import Answer, Request, tell
from headwater.coordinator.webhook_rows import header_maps
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import WEBHOOK_CHECK_S_MAX, WEBHOOK_CHECK_S_MIN
from headwater.core.relation import Relation
from headwater.decode.text import text_and_errors
from headwater.formats.arrow import state_schema

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

_ROWS: Final = "request"
_INVALID: Final = Answer(400, "failed to validate the request")
_LATER: Final = Answer(503, "the condition could not be checked in time, try again later")


@dataclass(slots=True)
class _Check:
    """A condition, planned."""

    item: Item
    columns: pa.Schema  # of the answers
    sql: str
    constants: dict[str, pa.Table]  # that the text names
    timed: bool  # the plan has the time in it


class Conditions:
    """All of them, planned, and the secrets that they name; belongs to the event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._checks: dict[str, _Check] = {}
        self._secrets: dict[tuple[str, object], bytes] = {}

    async def checked(self, item: Item, details: WebhookTable, requests: list[Request]) -> list[Request]:
        """The requests for which the condition holds; the others are answered."""
        if details.condition is None:
            return requests
        check = await self._check(item, details)
        refused: dict[int, str] = {}
        columns = [self._bound(*bind, requests, refused) for bind in details.binds]
        for number, reason in refused.items():
            tell(requests[number], Answer(400, reason))
        relation = Relation((*check_relation(details).columns, NUMBER))
        arrays = [*columns, pa.array(np.arange(len(requests)), pa.int64())]
        schema = state_schema(relation)
        table = pa.table([a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema)
        if refused:
            table = table.filter(pa.array(~np.isin(np.arange(len(requests)), list(refused))))
        holds = await self._evaluated(check, table)
        for number, request in enumerate(requests):
            held = holds.get(number, _LATER)
            if isinstance(held, UserError):
                secretive = any(secret_id is not None for *_, secret_id in details.binds)
                held = _INVALID if secretive else Answer(400, f"{_INVALID.text}: {held.message}")
            if held is not True:
                tell(request, held or _INVALID)
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

    async def _evaluated(self, check: _Check, rows: pa.Table) -> dict[int, bool | UserError]:
        """By number: whether the condition holds.  What is not there could not be decided in time."""
        clock = self._coordinator.clock
        deadline_s = clock.monotonic_s() + WEBHOOK_CHECK_S_MAX
        holds: dict[int, bool | UserError] = {}
        left = deque([rows] if rows.num_rows else [])
        while left and (left_s := deadline_s - clock.monotonic_s()) > 0:
            some = left.popleft()
            found = await self._held(check, some, max(left_s / 2, WEBHOOK_CHECK_S_MIN))
            if isinstance(found, dict):
                holds |= found
            elif some.num_rows > 1:
                half = some.num_rows // 2
                left += [part.combine_chunks() for part in (some.slice(0, half), some.slice(half))]
            elif found is not None:
                holds[some.column(NUMBER.name)[0].as_py()] = found
        return holds

    async def _held(
        self, check: _Check, rows: pa.Table, within_s: float
    ) -> dict[int, bool | UserError] | UserError | None:
        """Of each row, or the error of any; None: it takes longer."""
        tables = {**check.constants, _ROWS: rows}
        try:
            async with asyncio.timeout(within_s):
                found = await self._coordinator.engine.table(check.sql, check.columns, tables)
        except TimeoutError:
            return None
        except UserError as raised:
            return raised
        numbers, values = (column.to_pylist() for column in found.columns)
        return {number: value is True for number, value in zip(numbers, values, strict=True)}
