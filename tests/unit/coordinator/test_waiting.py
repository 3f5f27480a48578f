"""A read that waits for a source that does not move tells its client so, while it waits.

Method: an environment without a cluster, so that nothing ever moves; what a cluster would have said of the
source is put in its place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest

from headwater.core.protocol import Status
from tests.support.environment import Environment

STATEMENTS = (
    "CREATE SOURCE s FROM LOAD GENERATOR COUNTER",
    "CREATE TABLE t FROM SOURCE s",
    "CREATE TABLE plain (a int)",
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("waiting")) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as session:
            for statement in STATEMENTS:
                session.execute(statement.encode())
        yield running


def waited(environment: Environment, *settings: str) -> list[tuple[tuple[str | None, ...], float]]:
    """Severity, message, detail and hint of each notice of a read until its timeout, and when it came."""
    heard: list[tuple[tuple[str | None, ...], float]] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        said = (notice.severity, notice.message_primary, notice.message_detail, notice.message_hint)
        heard.append((said, time.monotonic() - began))

    with environment.connect() as session:
        for setting in (*settings, "SET statement_timeout = '2500ms'"):
            session.execute(setting.encode())
        began = time.monotonic()
        session.add_notice_handler(hear)
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute("SELECT * FROM t")
    return heard


def say(environment: Environment, status: str, error: str | None) -> None:
    state = environment.coordinator.catalog.state
    source = next(item for item in state.items.values() if item.name == "s")
    statuses = environment.coordinator.controller.health.statuses
    statuses[source.id] = Status(source.id, status, error, None if error is None else "Mend it.", 0)


def test_the_reason_is_told_once_and_before_the_end(environment: Environment) -> None:
    say(environment, "stalled", "could not connect")
    ((said, after_s),) = waited(environment)
    text = 'waiting for source "materialize.public.s", which is stalled'
    assert said == ("NOTICE", text, "could not connect", "Mend it.")
    assert after_s < 2.4


def test_a_source_that_is_paused_is_told_with_what_resumes_it(environment: Environment) -> None:
    say(environment, "paused", None)
    (((_, text, _, hint), _),) = waited(environment)
    assert "which is paused" in str(text)
    assert "REPLICATION FACTOR 1" in str(hint)


def test_who_does_not_want_notices_and_what_moves_by_itself_is_not_told(environment: Environment) -> None:
    say(environment, "stalled", "could not connect")
    assert waited(environment, "SET client_min_messages = warning") == []
    say(environment, "starting", None)
    assert waited(environment) == []
