"""Names that mean one thing to a check and another to what is done.

Goal: what is asked for is the right on the very object that a statement will change, whatever else the
session calls by the same name, and whatever has gone meanwhile.

Method: an environment without a cluster, real clients; one role makes things of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.environment import Environment

Denied = psycopg.errors.InsufficientPrivilege


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("names")) as running:
        yield running


@pytest.fixture
def admin(environment: Environment) -> Iterator[psycopg.Connection]:
    with environment.connect() as session:
        for text in (
            "CREATE USER bob",
            "CREATE TABLE hidden (a int)",
            "INSERT INTO hidden VALUES (42)",
            "GRANT CREATE ON SCHEMA public TO bob",
        ):
            session.execute(text.encode())
        yield session


def test_owning_a_temporary_view_is_not_owning_another_of_its_name(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE VIEW v AS SELECT 1 AS a")
    admin.execute("GRANT SELECT ON v TO bob")
    with environment.connect("bob") as bob:
        bob.execute("CREATE TEMPORARY VIEW v AS SELECT 2 AS a")
        with pytest.raises(Denied, match=r"must be owner of VIEW materialize\.public\.v"):
            bob.execute("CREATE OR REPLACE VIEW v AS SELECT a FROM hidden")
        assert bob.execute("SELECT a FROM public.v").fetchall() == [(1,)]
        bob.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 3 AS a")
        assert bob.execute("SELECT a FROM v").fetchall() == [(3,)]


def test_a_view_is_replaced_where_it_is_made(environment: Environment, admin: psycopg.Connection) -> None:
    admin.execute("CREATE VIEW v AS SELECT 1 AS a")
    admin.execute("CREATE SCHEMA own")
    admin.execute("GRANT USAGE, CREATE ON SCHEMA own TO bob")
    with environment.connect("bob") as bob:
        bob.execute("SET search_path = own, public")
        bob.execute("CREATE OR REPLACE VIEW v AS SELECT 2 AS a")
        bob.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 3 AS a")
        assert bob.execute("SELECT o.a, v.a FROM own.v o, v").fetchall() == [(2, 3)]
    assert admin.execute("SELECT a FROM v").fetchall() == [(1,)]


def test_a_swap_takes_leave_of_both_places(environment: Environment, admin: psycopg.Connection) -> None:
    admin.execute("CREATE SCHEMA own")
    admin.execute("CREATE VIEW own.w AS SELECT 1 AS a")
    admin.execute("CREATE VIEW public.v AS SELECT 2 AS a")
    admin.execute("GRANT USAGE ON SCHEMA own TO bob")
    for view in ("own.w", "public.v"):
        admin.execute(f"ALTER VIEW {view} OWNER TO bob".encode())
    with environment.connect("bob") as bob:
        bob.execute("SET search_path = public, own")
        with pytest.raises(Denied, match=r'SCHEMA "materialize\.own"'):
            bob.execute("ALTER VIEW v SWAP WITH w")
        admin.execute("GRANT CREATE ON SCHEMA own TO bob")
        bob.execute("ALTER VIEW v SWAP WITH w")


def test_who_is_a_superuser_by_another_role_is_changed_by_superusers(
    environment: Environment, admin: psycopg.Connection
) -> None:
    for text in (
        "CREATE ROLE chiefs",
        "CREATE ROLE deputies IN ROLE chiefs",
        "GRANT materialize TO chiefs",
        "GRANT CREATEROLE ON SYSTEM TO bob",
    ):
        admin.execute(text.encode())
    with environment.connect("bob") as bob:
        for text in (
            "GRANT chiefs TO bob",
            "GRANT deputies TO bob",
            "CREATE USER eve IN ROLE deputies",
            "ALTER ROLE deputies LOGIN PASSWORD 'known'",
            "REVOKE deputies FROM bob",
            "DROP ROLE deputies",
        ):
            with pytest.raises(Denied, match="permission denied to"):
                bob.execute(text.encode())
        bob.execute("CREATE ROLE others")
        bob.execute("GRANT others TO deputies")  # which gives them more, and nobody theirs


def test_all_that_a_statement_makes_needs_a_place(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE SCHEMA theirs")
    admin.execute("GRANT CREATE ON CLUSTER quickstart TO bob")
    made = "CREATE SOURCE s FROM LOAD GENERATOR COUNTER (UP TO 0) EXPOSE PROGRESS AS theirs.progress"
    with environment.connect("bob") as bob:
        with pytest.raises(Denied, match=r'permission denied for SCHEMA "materialize\.theirs"'):
            bob.execute(made)
        assert admin.execute("SHOW SOURCES FROM theirs").fetchall() == []
        admin.execute("GRANT CREATE ON SCHEMA theirs TO bob")
        bob.execute(made)


def test_what_has_gone_is_no_defect(environment: Environment, admin: psycopg.Connection) -> None:
    admin.execute("CREATE TABLE gone (a int)")
    admin.execute("GRANT SELECT ON gone TO bob")
    with environment.connect("bob") as bob:
        bob.execute("BEGIN")
        assert bob.execute("SELECT a FROM gone").fetchall() == []
        admin.execute("DROP TABLE gone")
        bob.execute("LOCK TABLE gone IN ACCESS SHARE MODE")
        assert bob.execute("SELECT a FROM gone").fetchall() == []
        with pytest.raises(psycopg.Error) as told:
            bob.execute("ALTER TABLE gone RENAME TO other")
        assert told.value.sqlstate == "25000"
