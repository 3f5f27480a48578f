"""One role cannot take all threads that statements have.

Goal: whatever a role runs for ever, and however often, others and the operator go on; its own statements wait
for each other.

Method: an environment without a cluster, real clients; queries without an end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest

from headwater.core.limits import PEEKS_CONCURRENT_MAX
from tests.support.environment import Environment
from tests.support.server import eventually

ENDLESS = b"SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000000000) b"
SOON = "options='-c statement_timeout=30s'"


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("turns")) as running:
        yield running


def connect(environment: Environment, options: str) -> psycopg.Connection:
    return psycopg.connect(f"{environment.dsn()} {options}", autocommit=True)


def run_for_ever(session: psycopg.Connection) -> None:
    with suppress(psycopg.errors.QueryCanceled):
        session.execute(ENDLESS)


def test_who_runs_endless_statements_keeps_nobody_else_waiting(environment: Environment) -> None:
    with ExitStack() as stack:
        operator = stack.enter_context(connect(environment, f"port={environment.internal_port} {SOON}"))
        operator.execute("CREATE USER bob")
        operator.execute("CREATE USER ann")
        greedy = [
            stack.enter_context(connect(environment, "user=bob")) for _ in range(PEEKS_CONCURRENT_MAX + 2)
        ]
        threads = [threading.Thread(target=run_for_ever, args=(session,)) for session in greedy]
        for thread in threads:
            thread.start()
        try:
            busy = "SELECT count(*)::int4 FROM pg_stat_activity WHERE usename = 'bob' AND state = 'active'"
            eventually(lambda: operator.execute(busy.encode()).fetchone() == (len(greedy),))
            with connect(environment, f"user=ann {SOON}") as ann:
                assert ann.execute("SELECT 1 + 1").fetchone() == (2,)
                assert ann.execute("SELECT count(*) FROM generate_series(1, 1000)").fetchone() == (1000,)
            quick = stack.enter_context(connect(environment, "user=bob options='-c statement_timeout=200ms'"))
            with pytest.raises(psycopg.errors.QueryCanceled):
                quick.execute("SELECT 1 + 1")
        finally:
            operator.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'bob'")
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert greedy[0].execute("SELECT 1 + 1").fetchone() == (2,), "its places are free again"
