"""Asking upstreams while a statement is planned.

    question(scope, statement)   pure: what is to be asked, None when nothing is
    Upstreams.ask(question)      in a thread, never on the event loop; may be cancelled
    plan(scope, statement)       pure: finds what was said in `scope.answer`

The catalog may change while an upstream thinks, so that planning begins afresh with the
catalog of then and only takes from the answer what the upstream said.

A statement that is cancelled does not wait for the thread; the thread ends by itself,
because everything it does has a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.coordinator.api import Notice
from headwater.coordinator.ddl import DdlScope, Question
from headwater.coordinator.turns import Turns
from headwater.core.errors import UserError
from headwater.core.limits import UPSTREAM_QUESTIONS_CONCURRENT_MAX, UPSTREAM_QUESTIONS_OF_ALL_MAX
from headwater.sources.contract import Options, Reference, Secrets, Unlisted
from headwater.sources.dialect import any_number


class Upstreams:
    """The threads that talk to upstreams for the sessions."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._threads = Turns("upstream", UPSTREAM_QUESTIONS_CONCURRENT_MAX, UPSTREAM_QUESTIONS_OF_ALL_MAX)

    async def ask(self, question: Question, secrets: Secrets | None = None) -> Any:
        """What the upstream says; a session's own secrets may not be durable yet."""
        return await self._threads.run(question, secrets or self._secrets)

    def close(self) -> None:
        self._threads.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """What an upstream has; `options` are those that the catalog keeps of the source."""

    source_type: str
    options: dict[str, Any]
    references: tuple[Reference, ...]
    notices: tuple[Notice, ...] = ()
    unlisted: tuple[Unlisted, ...] = ()  # what was asked for and is no reference
    check_room: Callable[[Sequence[Options]], None] = any_number  # Examined.check_room


def answer_of(scope: DdlScope) -> Answer:
    """What was said; without it the catalog had something else in it when the question was made."""
    if not isinstance(scope.answer, Answer):
        raise changed_meanwhile()
    return scope.answer


def changed_meanwhile() -> UserError:
    """The question was about other objects than the plan is."""
    return UserError(
        "another session modified the catalog while the upstream was asked",
        "40001",
        hint="Run the statement again.",
    )
