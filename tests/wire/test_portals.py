"""Many portals and cursors may be left half read: they cost disk, and every row comes once and in order.

Method: a whole environment (without a cluster), a table of several batches, and one connection.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headwater.core.limits import (
    ARGUMENTS_BYTES_MAX,
    MESSAGES_BYTES_MAX,
    PORTALS_MAX,
    RESULTS_RESTING_MAX,
)
from tests.support.environment import Environment
from tests.support.server import eventually
from tests.support.wire import driver
from tests.support.wire.driver import Reply
from tests.wire.plain import Plain

ROWS = 6_000
PORTALS = 60


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("environment")) as environment:
        with environment.connect() as connection:
            connection.execute("CREATE TABLE t (a int, b text)")
            connection.execute(
                f"INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, {ROWS}) AS g(i)"
            )
        yield environment


def aside(environment: Environment) -> int:
    return len(list(environment.data_dir.glob("scratch/aside/*")))


def test_portals_that_are_left_are_put_on_disk_and_go_on_from_there(
    environment: Environment, client: Plain
) -> None:
    client.send(driver.query("BEGIN") + driver.parse("SELECT a FROM t ORDER BY a", "s") + driver.SYNC)
    client.until_ready()
    client.until_ready()
    for number in range(PORTALS):
        client.send(
            driver.bind((), (), (), f"p{number}", "s") + driver.execute(1, f"p{number}") + driver.SYNC
        )
        assert driver.kinds(client.until_ready()) == "2DsZ"
    assert aside(environment) == PORTALS - RESULTS_RESTING_MAX
    session = environment.coordinator.sessions[client.pid]
    assert len(session.resting._order) == RESULTS_RESTING_MAX
    for number in reversed(range(PORTALS)):
        client.send(driver.execute(2_500, f"p{number}") + driver.execute(0, f"p{number}") + driver.SYNC)
        rows = driver.rows_of(client.until_ready())
        assert [int(a or b"") for (a,) in rows] == list(range(2, ROWS + 1))
    client.send(driver.query("COMMIT"))
    client.until_ready()
    assert aside(environment) == 0


def test_what_portals_have_put_on_disk_goes_with_their_connection(environment: Environment) -> None:
    client = Plain(environment)
    client.send(driver.query("BEGIN") + driver.parse("SELECT a, b FROM t", "s") + driver.SYNC)
    client.until_ready()
    client.until_ready()
    for number in range(RESULTS_RESTING_MAX + 2):
        client.send(
            driver.bind((), (), (), f"p{number}", "s") + driver.execute(1, f"p{number}") + driver.SYNC
        )
        client.until_ready()
    assert aside(environment) == 2
    client.close()
    eventually(lambda: aside(environment) == 0)


def test_cursors_that_are_left_are_put_on_disk_too(environment: Environment) -> None:
    with psycopg.connect(environment.dsn()) as connection:
        for number in range(PORTALS):
            connection.execute(f"DECLARE c{number} CURSOR FOR SELECT a FROM t ORDER BY a".encode())
            assert connection.execute(f"FETCH 3 FROM c{number}".encode()).fetchall() == [(1,), (2,), (3,)]
        assert aside(environment) == PORTALS - RESULTS_RESTING_MAX
        for number in range(PORTALS):
            first = connection.execute(f"FETCH 3000 FROM c{number}".encode()).fetchall()
            rest = connection.execute(f"FETCH ALL FROM c{number}".encode()).fetchall()
            assert [a for (a,) in (*first, *rest)] == list(range(4, ROWS + 1))
    assert aside(environment) == 0


def test_the_number_of_portals_is_bounded(client: Plain) -> None:
    client.send(driver.query("BEGIN") + driver.parse("SELECT 1", "s") + driver.SYNC)
    client.until_ready()
    client.until_ready()
    bound = b"".join(driver.bind((), (), (), f"p{number}", "s") for number in range(PORTALS_MAX + 1))
    client.send(bound + driver.SYNC)
    replies = client.until_ready()
    assert len(replies) == PORTALS_MAX + 2
    assert driver.error_of(replies)["C"] == "53400"


def test_arguments_that_wait_are_bounded_in_sum(client: Plain) -> None:
    client.send(driver.query("BEGIN") + driver.parse("SELECT length($1)", "s", (25,)) + driver.SYNC)
    client.until_ready()
    client.until_ready()
    large = b"x" * (ARGUMENTS_BYTES_MAX // 2)

    def bound(name: str, more: bytes = b"") -> list[Reply]:
        client.send(driver.bind((large + more,), (), (), name, "s") + driver.SYNC)
        return client.until_ready()

    assert [driver.kinds(bound(name)) for name in "ab"] == ["2Z", "2Z"]
    client.send(driver.execute(0, "a") + driver.SYNC)
    assert driver.rows_of(client.until_ready()) == [(str(len(large)).encode(),)]
    assert driver.kinds(bound("c")) == "2Z", "what was executed makes room"
    client.send(driver.close("P", "b") + driver.SYNC)
    assert driver.kinds(client.until_ready()) == "3Z"
    assert driver.kinds(bound("d")) == "2Z", "and so does what was closed"
    refused = driver.error_of(bound("e", b"x"))
    assert (refused["C"], "arguments" in refused["M"]) == ("53400", True)
    client.send(driver.query("ROLLBACK"))
    client.until_ready()
    client.send(driver.query("BEGIN") + driver.SYNC)
    client.until_ready()
    client.until_ready()
    assert driver.kinds(bound("f", large + b"x")) == "2Z", "one portal alone may have more"


def test_long_messages_of_a_role_have_room_for_so_many_bytes_together(
    environment: Environment, client: Plain
) -> None:
    """Others announce the longest that there are; what then comes is refused, and dropped unread."""
    half = MESSAGES_BYTES_MAX // 2
    other = Plain(environment)
    other.send(b"B" + half.to_bytes(4, "big"))  # and sends nothing of it
    eventually(lambda: environment.server.room._taken)
    client.send(driver.parse("SELECT length($1)", "s", (25,)))
    client.send(driver.bind((b"x" * 2_000_000,), (), (), "", "s") + driver.execute() + driver.SYNC)
    refused = driver.error_of(client.until_ready())
    assert (refused["C"], "materialize" in refused["M"]) == ("53200", True)
    other.close()
    eventually(lambda: not environment.server.room._taken)
    client.send(driver.bind((b"x" * 2_000_000,), (), (), "", "s") + driver.execute() + driver.SYNC)
    assert driver.rows_of(client.until_ready()) == [(b"2000000",)]
