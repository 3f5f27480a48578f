"""Who reads what requests write waits for none, and keeps none waiting.

Method: an environment without a cluster; requests are handed to it as the door for HTTP does.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.environment import Environment


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("webhooks")) as running:
        yield running


def request(environment: Environment, body: bytes) -> int:
    taken = environment.coordinator.webhooks.take(("materialize", "public", "w"), [], body)
    return environment.run(taken).status


def test_a_request_is_no_conflict_of_who_reads_the_rows_of_others(environment: Environment) -> None:
    with psycopg.connect(environment.dsn(), autocommit=True) as session:
        session.execute("CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        session.execute("CREATE TABLE counts (n int8)")
        assert request(environment, b"one") == 200
        with session.transaction():
            session.execute("INSERT INTO counts SELECT count(*) FROM w")
            assert request(environment, b"two") == 200
        session.execute("INSERT INTO counts SELECT count(*) FROM w")
        assert session.execute("SELECT n FROM counts ORDER BY n").fetchall() == [(1,), (2,)]
