"""What max_statement_memory bounds, and whom.

Goal: whatever of a limited role's statements needs memory ends with 53200 that names the limit; all of its
statements share it; nobody else is limited, and the role cannot undo it.

Method: an environment without a cluster, real clients; each statement needs far more than the limit, and
is run by somebody without one too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.environment import Environment

OutOfMemory = psycopg.errors.OutOfMemory
GATHERED = "SELECT array_length(array_agg(a::bigint), 1) FROM generate_series(1, 6000000) AS s (a)"
WIDE = "SELECT repeat('x', 10000) || a AS b FROM generate_series(1, 6000) AS s (a)"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("memory")) as running:
        yield running


@pytest.fixture(scope="module")
def admin(environment: Environment) -> Iterator[psycopg.Connection]:
    with connect(environment) as session:
        for text in (
            "CREATE USER bob",
            "ALTER ROLE bob SET max_statement_memory = '32MB'",
            "CREATE TABLE t (b text)",
            "GRANT ALL ON t TO bob",
        ):
            session.execute(text.encode())
        yield session


@pytest.fixture
def bob(environment: Environment, admin: psycopg.Connection) -> Iterator[psycopg.Connection]:
    with connect(environment, "bob") as session:
        yield session


def connect(environment: Environment, user: str = "materialize") -> psycopg.Connection:
    return psycopg.connect(f"{environment.dsn()} user={user}", autocommit=True)


def kept(environment: Environment) -> int:
    """Bytes that are counted for bob now."""
    role = environment.coordinator.catalog.state.role_named("bob")
    assert role is not None
    account = environment.coordinator.accounts.of(role.id, "bob", "32MB")
    assert account is not None
    return account.kept_bytes


def test_what_a_query_computes_is_bounded(admin: psycopg.Connection, bob: psycopg.Connection) -> None:
    with pytest.raises(OutOfMemory, match='role "bob" need more memory than max_statement_memory') as told:
        bob.execute(GATHERED.encode())
    assert "may take 32MB together" in str(told.value.diag.message_detail)
    assert "ALTER ROLE bob SET max_statement_memory" in str(told.value.diag.message_hint)
    assert admin.execute(GATHERED.encode()).fetchone() == (6_000_000,)
    assert bob.execute("SELECT count(*) FROM generate_series(1, 6000000)").fetchone() == (6_000_000,)


def test_rows_that_are_written_are_bounded(
    environment: Environment, admin: psycopg.Connection, bob: psycopg.Connection
) -> None:
    with pytest.raises(OutOfMemory, match="max_statement_memory"):
        bob.execute(f"INSERT INTO t {WIDE}".encode())
    with pytest.raises(OutOfMemory, match="max_statement_memory"):
        _copy_in(bob)
    assert kept(environment) == 0
    with bob.transaction():  # what a block has written is there until it ends
        bob.execute("INSERT INTO t SELECT repeat('x', 1000000) FROM generate_series(1, 20)")
        with pytest.raises(OutOfMemory), bob.transaction():
            bob.execute("INSERT INTO t SELECT repeat('x', 1000000) FROM generate_series(1, 20)")
        raise psycopg.Rollback
    assert kept(environment) == 0
    assert admin.execute(f"INSERT INTO t {WIDE}".encode()).rowcount == 6_000
    with pytest.raises(OutOfMemory):
        bob.execute("DELETE FROM t")
    assert admin.execute("DELETE FROM t").rowcount == 6_000


def _copy_in(session: psycopg.Connection) -> None:
    with session.cursor().copy("COPY t FROM STDIN") as copy:
        for _ in range(60):
            copy.write(b"x" * 1_000_000 + b"\n")


def test_all_statements_of_a_role_share_its_memory(environment: Environment, bob: psycopg.Connection) -> None:
    text = b"INSERT INTO t SELECT repeat('x', 1000000) FROM generate_series(1, 20)"
    with connect(environment, "bob") as other, bob.transaction():
        bob.execute(text)
        with pytest.raises(OutOfMemory):
            other.execute(text)
        raise psycopg.Rollback
    assert kept(environment) == 0


def test_what_is_followed_is_bounded(
    environment: Environment, admin: psycopg.Connection, bob: psycopg.Connection
) -> None:
    admin.execute("INSERT INTO t SELECT repeat('x', 10000) || a FROM generate_series(1, 3500) AS s (a)")
    counted = "SUBSCRIBE (SELECT b, count(*) FROM t GROUP BY b) WITH (SNAPSHOT = false)"
    with bob.cursor().copy(f"COPY ({counted}) TO STDOUT".encode()) as copy:
        admin.execute("INSERT INTO t VALUES ('one more')")
        with pytest.raises(OutOfMemory, match="max_statement_memory"):
            next(iter(copy))
    assert kept(environment) == 0
    admin.execute("DELETE FROM t")


def test_a_text_is_bounded_before_it_is_planned(admin: psycopg.Connection, bob: psycopg.Connection) -> None:
    text = f"SELECT length('{'x' * 5_000_000}')".encode()
    with pytest.raises(OutOfMemory):
        bob.execute(text)
    assert admin.execute(text).fetchone() == (5_000_000,)


def test_a_limited_role_stays_away_from_spark(bob: psycopg.Connection, admin: psycopg.Connection) -> None:
    bob.execute("SET read_engine = spark")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot run queries on Spark"):
        bob.execute("SELECT * FROM t")
    assert "Engine: duckdb" in str(connected_explain(bob))


def connected_explain(session: psycopg.Connection) -> object:
    session.execute("SET read_engine = auto")
    return session.execute("EXPLAIN PHYSICAL PLAN FOR SELECT * FROM t").fetchone()


def test_the_limit_is_not_for_the_role_to_change(environment: Environment, bob: psycopg.Connection) -> None:
    for text in (
        "SET max_statement_memory = 0",
        "ALTER ROLE bob SET max_statement_memory = 0",
        "ALTER ROLE bob RESET max_statement_memory",
        "ALTER ROLE bob RESET ALL",
    ):
        with pytest.raises(psycopg.Error, match=r"cannot be changed by a session|permission denied"):
            bob.execute(text.encode())
    with pytest.raises(psycopg.OperationalError, match="cannot be changed by a session"):
        psycopg.connect(f"{environment.dsn()} user=bob options='-c max_statement_memory=0'")


def test_a_limit_is_a_size_in_which_something_can_be_computed(admin: psycopg.Connection) -> None:
    for value in ("1MB", "-5", "much"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="max_statement_memory"):
            admin.execute(f"ALTER ROLE bob SET max_statement_memory = '{value}'".encode())


def test_the_limit_of_the_server_is_everybodys_but_the_operators(
    environment: Environment, admin: psycopg.Connection, bob: psycopg.Connection
) -> None:
    operator = psycopg.connect(f"{environment.dsn()} port={environment.internal_port}", autocommit=True)
    operator.execute("ALTER SYSTEM SET max_statement_memory = '40MB'")
    try:
        with pytest.raises(OutOfMemory, match='role "materialize"') as told:
            admin.execute(GATHERED.encode())
        assert "40MB" in str(told.value.diag.message_detail)
        with pytest.raises(OutOfMemory) as told:
            bob.execute(GATHERED.encode())
        assert "32MB" in str(told.value.diag.message_detail)
        assert operator.execute(GATHERED.encode()).fetchone() == (6_000_000,)
    finally:
        operator.execute("ALTER SYSTEM RESET max_statement_memory")
        operator.close()
    assert admin.execute(GATHERED.encode()).fetchone() == (6_000_000,)


def test_a_session_has_only_so_many_prepared_statements(bob: psycopg.Connection) -> None:
    value = "x" * 1_000_000
    texts = [f"PREPARE p{i} AS SELECT '{value}'".encode() for i in range(68)]
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="prepared statements of 64 MiB"):
        deque(map(bob.execute, texts), 0)
    bob.execute("DEALLOCATE ALL")
    bob.execute("PREPARE p AS SELECT 1")
