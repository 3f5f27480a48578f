"""Who was refused what: statements without a right, logins of roles that there are.

    refused ──► the same again?  one more, and later
           └──► another entry    each role has so many at most, all together so many: the oldest go

So whoever repeats what is refused, or varies it, takes the place of their own entries, and no disk.  The log
has a line for each entry, and one a minute if it goes on.

What is kept of a statement is its kind, and the error, which names what was wanted: the text may have
more in it than that.  Names that nobody has are not kept at all: somebody may have typed a password there.

Durable every few seconds; what came in the last ones before a crash is in the log only.

Not here: who shows it (catalog/builtin/mz_internal/mz_refusals.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Final

import structlog

from headwater.catalog.builtin.facts import Refusal
from headwater.catalog.rights import Denied
from headwater.core.clock import Clock
from headwater.core.errors import UserError
from headwater.core.limits import (
    REFUSAL_CHARACTERS_MAX,
    REFUSAL_LOG_S,
    REFUSALS_MAX,
    REFUSALS_OF_ROLE_MAX,
)

_LOG: Final = structlog.get_logger("logins")
_NO_RIGHT: Final = "42501"
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_Key = tuple[str, str, str, str]


class Refusals:
    """The newest of them; belongs to the event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[_Key, Refusal] = {}  # the latest last
        self._logged_at_ms: dict[_Key, int] = {}
        self.recorded = 0
        """Another number whenever there is more to keep."""

    def statement(self, error: UserError, user: str, address: str, kind: type) -> None:
        """A client is told this error; it is kept if it says that a right is missing."""
        if error.sqlstate == _NO_RIGHT:
            object_name = error.object if isinstance(error, Denied) else None
            self._add(user, address, _WORD.sub(" ", kind.__name__).upper(), object_name, error.message)

    def login(self, user: str, address: str, method: str) -> None:
        """A role that there is was asked for by somebody who is not let in as it; the log knows already."""
        self._add(user, address, "LOGIN", None, f"{method} authentication failed", log=False)

    def _add(
        self, user: str, address: str, statement: str, object_name: str | None, text: str, log: bool = True
    ) -> None:
        now_ms, client = self._clock.now_ms(), _host(address)
        error = text[:REFUSAL_CHARACTERS_MAX]
        key = (user, client, statement, error)
        before = self._entries.pop(key, None)
        if before is None:
            entry = Refusal(user, client, statement, object_name, error, 1, now_ms, now_ms)
        else:
            entry = replace(before, count=before.count + 1, last_at_ms=now_ms)
        self._entries[key] = entry
        self.recorded += 1
        if log and now_ms - self._logged_at_ms.get(key, 0) >= REFUSAL_LOG_S * 1000:
            self._logged_at_ms[key] = now_ms
            _LOG.warning("statement refused", user=user, client=address, error=error, count=entry.count)
        self._forget(user)

    def _forget(self, user: str) -> None:
        own = [key for key in self._entries if key[0] == user]
        beyond = own[: max(0, len(own) - REFUSALS_OF_ROLE_MAX)]
        if not beyond and len(self._entries) > REFUSALS_MAX:
            beyond = [next(iter(self._entries))]
        for key in beyond:
            del self._entries[key]
            self._logged_at_ms.pop(key, None)

    def shown(self) -> Sequence[Refusal]:
        """The oldest first."""
        return tuple(self._entries.values())

    def to_json(self) -> str:
        """For the next process."""
        return json.dumps([asdict(entry) for entry in self._entries.values()])

    def restore(self, entries: Iterable[dict[str, object]]) -> None:
        """What the process before has kept."""
        for values in entries:
            entry = Refusal(**values)  # type: ignore[arg-type]
            self._entries[(entry.user, entry.client, entry.statement, entry.error)] = entry


def _host(address: str) -> str:
    """Without the port."""
    return address.rpartition(":")[0].strip("[]") or address
