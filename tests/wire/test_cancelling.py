"""What is cancelled ends soon, and leaves the conversation where both sides know it to be.

Method: a whole environment (without a cluster) and messages by hand, because what matters is what the client
does not send.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.environment import Environment
from tests.support.server import eventually
from tests.support.wire import driver
from tests.support.wire.driver import Reply
from tests.wire.plain import WAIT_S_MAX, Plain


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("environment")) as environment:
        with environment.connect() as connection:
            connection.execute("CREATE TABLE t (a int, b text)")
        yield environment


def row_count(environment: Environment) -> int:
    with environment.connect() as connection:
        found = connection.execute("SELECT count(*) FROM t").fetchone()
        assert found is not None
        return int(found[0])


HALVES: dict[str, bytes] = {
    "nothing": b"",
    "rows": driver.message("d", b"1\tx\n"),
    "half a header": driver.message("d", b"1\tx\n") + b"d\x00",
    "half a message": driver.message("d", b"1\tx\n") + driver.message("d", b"2\ty\n")[:-2],
}
RESTS = {"half a header": driver.message("d", b"2\ty\n")[2:], "half a message": b"y\n"}


@pytest.mark.parametrize("sent", HALVES)
@pytest.mark.parametrize("why", ["cancelled", "too late"])
def test_a_copy_whose_client_sends_nothing_can_be_ended(
    environment: Environment, client: Plain, sent: str, why: str
) -> None:
    client.send(driver.query("BEGIN"))
    client.until_ready()
    if why == "too late":
        client.send(driver.query("SET LOCAL statement_timeout = '300ms'"))
        client.until_ready()
    client.send(driver.query("COPY t FROM STDIN"))
    client.until("G")
    client.send(HALVES[sent])
    if why == "cancelled":
        client.heard()
        client.cancel()
    replies = client.until_ready()
    error = driver.error_of(replies)
    assert error["C"] == "57014"
    assert "user request" in error["M"] if why == "cancelled" else "timeout" in error["M"]
    assert replies[-1] == ("Z", b"E")
    client.send(RESTS.get(sent, b"") + driver.message("d", b"3\tz\n") + driver.COPY_DONE)
    client.send(driver.query("COMMIT"))
    assert client.until_ready()[-2:] == [("C", b"ROLLBACK\x00"), ("Z", b"I")]
    assert row_count(environment) == 0


def test_a_copy_that_goes_on_for_too_long_is_ended_although_data_keeps_coming(
    environment: Environment, client: Plain
) -> None:
    client.send(driver.query("SET statement_timeout = '300ms'"))
    client.until_ready()
    client.send(driver.query("COPY t FROM STDIN"))
    client.until("G")
    data = driver.message("d", b"1\tx\n" * 1000)
    replies: list[Reply] = []

    def told() -> bool:
        try:
            client._socket.settimeout(WAIT_S_MAX)
            client.send(data)
            client._socket.settimeout(0.001)
            replies.extend(client.until_ready())
        except TimeoutError:
            return False
        return True

    eventually(told, every_s=0.0)
    client._socket.settimeout(WAIT_S_MAX)
    assert driver.error_of(replies)["C"] == "57014"
    assert row_count(environment) == 0


def test_what_was_cancelled_while_nothing_ran_is_not_cancelled_later(client: Plain) -> None:
    rows = "SELECT i FROM generate_series(1, 100000) AS g(i)"
    client.send(driver.query("BEGIN"))
    client.until_ready()
    client.send(driver.parse(rows) + driver.bind() + driver.execute(1) + driver.SYNC)
    client.until_ready()
    client.cancel()
    client.send(driver.execute(90_000) + driver.SYNC)
    replies = client.until_ready()
    assert driver.kinds(replies)[-2:] == "sZ"
    assert len(driver.rows_of(replies)) == 90_000


def test_the_time_of_a_portal_begins_anew_when_it_is_gone_on_with(
    environment: Environment, client: Plain
) -> None:
    rows = "SELECT i FROM generate_series(1, 100000) AS g(i)"
    client.send(driver.query("BEGIN") + driver.query("SET LOCAL statement_timeout = '20s'"))
    client.until_ready()
    client.until_ready()
    client.send(driver.parse(rows) + driver.bind() + driver.execute(1) + driver.SYNC)
    client.until_ready()
    session = environment.coordinator.sessions[client.pid]
    assert session.query_started_at_ms is not None
    session.query_started_at_ms -= 60_000  # as if the client had thought for a minute
    client.send(driver.execute(0) + driver.SYNC)
    assert driver.kinds(client.until_ready())[-2:] == "CZ"


def test_a_statement_that_comes_after_a_cancelled_copy_runs(client: Plain) -> None:
    client.send(driver.query("COPY t FROM STDIN"))
    client.until("G")
    client.heard()
    client.cancel()
    assert driver.error_of(client.until_ready())["C"] == "57014"
    client.send(driver.query("SELECT 1"))
    assert driver.kinds(client.until_ready()) == "TDCZ"


def waiting(environment: Environment, client: psycopg.Connection[tuple[object, ...]]) -> None:
    """Wait until a client's statement is under way."""
    session = environment.coordinator.sessions[client.info.backend_pid]
    eventually(lambda: session._running is not None)


@contextmanager
def endless(
    environment: Environment, client: psycopg.Connection[tuple[object, ...]]
) -> Iterator[Future[Any]]:
    """A statement that is under way for ever, unless somebody ends it."""
    text = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r"
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(client.execute, text.encode())
        waiting(environment, client)
        yield running


def test_pg_cancel_backend_cancels_what_another_session_runs(environment: Environment) -> None:
    with (
        environment.connect() as other,
        environment.connect() as mine,
        endless(environment, other) as running,
    ):
        assert mine.execute("SELECT pg_cancel_backend(%s)", [other.info.backend_pid]).fetchone() == (True,)
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.result(WAIT_S_MAX)
        assert other.execute("SELECT 1").fetchone() == (1,)
        assert mine.execute("SELECT pg_cancel_backend(2147483647)").fetchone() == (False,)


def test_pg_terminate_backend_ends_another_session(environment: Environment) -> None:
    with (
        environment.connect() as other,
        environment.connect() as mine,
    ):
        pid = other.info.backend_pid
        found = mine.execute(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s", [pid]
        )
        assert found.fetchall() == [(pid, True)]
        with pytest.raises(psycopg.errors.AdminShutdown, match="administrator command"):
            other.execute("SELECT 1")
        eventually(lambda: pid not in environment.coordinator.sessions)
        assert mine.execute("SELECT pg_terminate_backend(%s)", [pid]).fetchone() == (False,)


def test_who_is_terminated_while_a_statement_runs_is_told_that_alone(environment: Environment) -> None:
    with (
        environment.connect() as other,
        environment.connect() as mine,
        endless(environment, other) as running,
    ):
        assert mine.execute("SELECT pg_terminate_backend(%s)", [other.info.backend_pid]).fetchone() == (True,)
        with pytest.raises(psycopg.errors.AdminShutdown):
            running.result(WAIT_S_MAX)
        with pytest.raises(psycopg.errors.AdminShutdown):
            mine.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        eventually(lambda: not environment.coordinator.sessions)
