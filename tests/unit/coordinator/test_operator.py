"""The operator's address: who comes in by it may do more, and is not kept out by who comes in by the other.

Method: an environment without a cluster, with both addresses open, and real clients.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headwater.coordinator import operator
from tests.support.environment import Environment


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("operator")) as running:
        yield running


def connect(
    environment: Environment, *, internal: bool = False, user: str = "materialize"
) -> psycopg.Connection:
    port = environment.internal_port if internal else environment.port
    return psycopg.connect(f"{environment.dsn()} port={port} user={user}", autocommit=True)


@pytest.mark.parametrize("user", ["mz_system", "mz_support"])
def test_users_of_the_product_come_in_by_the_operators_address_alone(
    environment: Environment, user: str
) -> None:
    with pytest.raises(psycopg.OperationalError, match=f"unauthorized login to user '{user}'"):
        connect(environment, user=user)
    with connect(environment, internal=True, user=user) as session:
        assert session.execute("SELECT current_user").fetchone() == (user,)


def test_variables_of_the_server_are_the_operators(environment: Environment) -> None:
    with connect(environment) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("ALTER SYSTEM SET force_source_table_syntax = on")
    with connect(environment, internal=True) as session:
        session.execute("ALTER SYSTEM SET statement_timeout = '5s'")
        session.execute("ALTER SYSTEM RESET ALL")


def test_what_is_there_from_the_start_is_dropped_by_the_operator_alone(environment: Environment) -> None:
    drops = ("DROP SCHEMA public", "DROP DATABASE materialize CASCADE", "DROP CLUSTER quickstart")
    with connect(environment) as session:
        for statement in drops:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="cannot be dropped"):
                session.execute(statement.encode())
        session.execute("CREATE SCHEMA mine")
        session.execute("DROP SCHEMA mine")
    with connect(environment, internal=True) as session:
        session.execute("BEGIN")
        for statement in drops:
            session.execute(statement.encode())
        session.execute("ROLLBACK")


RENAMES = ("ALTER SCHEMA public RENAME TO other", "ALTER CLUSTER quickstart RENAME TO other")


def test_what_is_there_from_the_start_is_renamed_by_the_operator_alone(environment: Environment) -> None:
    with connect(environment) as session:
        for statement in RENAMES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="cannot be renamed"):
                session.execute(statement.encode())
        session.execute("CREATE SCHEMA before")
        session.execute("ALTER SCHEMA before RENAME TO later")
        session.execute("DROP SCHEMA later")
    with connect(environment, internal=True) as session:
        session.execute("BEGIN")
        for statement in RENAMES:
            session.execute(statement.encode())
        session.execute("ROLLBACK")


def test_what_took_the_place_of_public_stays_and_what_was_public_goes(environment: Environment) -> None:
    with connect(environment) as session:
        session.execute("CREATE SCHEMA next")
        session.execute("ALTER SCHEMA public SWAP WITH next")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="cannot be dropped"):
            session.execute("DROP SCHEMA public")
        session.execute("DROP SCHEMA next")


def test_a_full_address_does_not_lock_the_operator_out(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "CONNECTIONS_MAX", 2)
    sessions = [connect(environment), connect(environment)]
    with pytest.raises(psycopg.OperationalError, match="too many clients"):
        connect(environment)
    with connect(environment, internal=True) as session:
        assert session.execute("SELECT count(*) FROM mz_internal.mz_sessions").fetchone() == (3,)
    monkeypatch.setattr(operator, "OPERATOR_CONNECTIONS_MAX", 0)
    with pytest.raises(psycopg.OperationalError, match="too many clients"):
        connect(environment, internal=True)
    for session in sessions:
        session.close()
