"""What is granted and taken away while others read.

Goal: views read as their owners; what was taken away counts at once, in blocks, prepared statements and
running subscriptions; what is shown of rights is what holds.

Method: an environment without a cluster, real clients.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from structlog.testing import capture_logs

from headwater.coordinator.value_errors import Row
from headwater.core.flaws import Flaw, Flaws
from headwater.core.limits import REFUSALS_OF_ROLE_MAX
from tests.support.environment import Environment

Denied = psycopg.errors.InsufficientPrivilege


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("readers")) as running:
        yield running


@pytest.fixture
def admin(environment: Environment) -> Iterator[psycopg.Connection]:
    with connect(environment) as session:
        for text in (
            "CREATE ROLE readers",
            "CREATE USER ann IN ROLE readers",
            "CREATE USER bob",
            "CREATE TABLE t (a int)",
            "INSERT INTO t VALUES (1)",
            "CREATE VIEW v AS SELECT a FROM t",
        ):
            session.execute(text.encode())
        yield session


def connect(environment: Environment, user: str = "materialize") -> psycopg.Connection:
    return psycopg.connect(f"{environment.dsn()} user={user}", autocommit=True)


def test_a_view_reads_with_the_rights_of_its_owner(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("GRANT SELECT ON v TO ann")
    with connect(environment, "ann") as ann:
        assert ann.execute("SELECT a FROM v").fetchall() == [(1,)]
        with pytest.raises(Denied, match='permission denied for TABLE "materialize') as told:
            ann.execute("SELECT a FROM v NATURAL JOIN t")
        detail = "The 'ann' role needs SELECT privileges on TABLE \"materialize.public.t\""
        assert told.value.diag.message_detail == detail
        admin.execute("ALTER VIEW v OWNER TO bob")
        for reader in (ann, admin):  # a superuser is not led to what bob may not read
            with pytest.raises(Denied) as told:
                reader.execute("SELECT a FROM v")
            assert "'bob' role needs SELECT" in str(told.value.diag.message_detail)
        with psycopg.connect(f"{environment.dsn()} port={environment.internal_port}") as operator:
            assert operator.execute("SELECT a FROM v").fetchall() == [(1,)]
        admin.execute("GRANT SELECT ON t TO bob")
        assert ann.execute("SELECT a FROM v").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "taking",
    [
        "REVOKE SELECT ON t FROM readers",
        "REVOKE readers FROM ann",
        "ALTER TABLE t OWNER TO bob; REVOKE ALL ON t FROM readers",
        "DROP OWNED BY readers; DROP ROLE readers",
        "REVOKE USAGE ON SCHEMA public FROM PUBLIC",
    ],
)
def test_a_subscription_ends_when_the_right_to_read_does(
    environment: Environment, admin: psycopg.Connection, taking: str
) -> None:
    admin.execute("GRANT SELECT ON t TO readers")
    with connect(environment, "ann") as ann:
        ann.execute("BEGIN")
        ann.execute("DECLARE c CURSOR FOR SUBSCRIBE t")
        assert ann.execute("FETCH 1 c").fetchall()[0][-1] == 1
        for text in taking.split("; "):
            admin.execute(text.encode())
        admin.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(Denied):
            ann.execute("FETCH 1 c WITH (timeout = '20s')")


def test_reading_takes_the_use_of_the_cluster(environment: Environment, admin: psycopg.Connection) -> None:
    admin.execute("CREATE CLUSTER c (SIZE 'x')")
    admin.execute("GRANT SELECT ON v TO ann")
    with connect(environment, "ann") as ann:
        ann.execute("SET cluster = c")
        assert ann.execute("SELECT count(*) > 0 FROM mz_tables").fetchall() == [(True,)]
        with pytest.raises(Denied, match='permission denied for CLUSTER "c"'):
            ann.execute("SELECT a FROM v")
        admin.execute("GRANT USAGE ON CLUSTER c TO ann")
        assert ann.execute("SELECT a FROM v").fetchall() == [(1,)]


def test_what_was_taken_counts_in_blocks_and_prepared_statements(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("GRANT SELECT ON t TO ann")
    with connect(environment, "ann") as ann:
        ann.execute("PREPARE p AS SELECT a FROM t")
        ann.execute("BEGIN")
        assert ann.execute("SELECT a FROM t").fetchall() == [(1,)]
        admin.execute("REVOKE ALL ON t FROM ann")
        with pytest.raises(Denied):
            ann.execute("SELECT a FROM t")
        ann.execute("ROLLBACK")
        with pytest.raises(Denied):
            ann.execute("EXECUTE p")


def test_a_role_that_is_dropped_can_do_nothing_more(
    environment: Environment, admin: psycopg.Connection
) -> None:
    with connect(environment, "bob") as bob:
        admin.execute("DROP ROLE bob")
        admin.execute("CREATE USER bob SUPERUSER")
        with pytest.raises(Denied, match='role "bob" was dropped'):
            bob.execute("SELECT a FROM t")
    admin.execute("ALTER ROLE bob NOLOGIN")
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        connect(environment, "bob")
    with pytest.raises(psycopg.OperationalError, match='role "nobody" does not exist'):
        connect(environment, "nobody")


def test_what_the_functions_say_is_what_happens(environment: Environment, admin: psycopg.Connection) -> None:
    for text in (
        "CREATE SCHEMA s",
        "CREATE TABLE s.u (a int)",
        "GRANT SELECT ON s.u TO readers",
        "GRANT SELECT, INSERT ON t TO readers",
    ):
        admin.execute(text.encode())
    asked = (
        "SELECT has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(c.relnamespace, 'USAGE')"
        " FROM pg_class c WHERE relname = %s"
    )
    for user in ("ann", "bob", "materialize"):
        with connect(environment, user) as session:
            for name in ("s.u", "t", "v"):
                try:
                    session.execute(f"SELECT * FROM {name}".encode())
                    read = True
                except Denied:
                    read = False
                assert session.execute(asked, [name.split(".")[-1]]).fetchone() == (read,), (user, name)


def test_settings_and_limits_of_a_role_hold_for_its_sessions(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("ALTER ROLE bob SET statement_timeout = '7s'")
    admin.execute("ALTER ROLE bob CONNECTION LIMIT 1")
    with connect(environment, "bob") as bob:
        assert bob.execute("SHOW statement_timeout").fetchone() == ("7 s",)
        with pytest.raises(psycopg.OperationalError, match='too many connections for role "bob"'):
            connect(environment, "bob")


def test_what_limits_a_role_is_not_for_the_role_to_change(
    environment: Environment, admin: psycopg.Connection
) -> None:
    long = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    with connect(environment, "bob") as bob:
        admin.execute("ALTER ROLE bob SET max_statement_time = '100ms'")
        assert bob.execute("SHOW max_statement_time").fetchone() == ("100 ms",)
        bob.execute("SET statement_timeout = 0")
        for text in (
            "SET max_statement_time = 0",
            "ALTER ROLE bob SET max_statement_time = 0",
            "ALTER ROLE bob RESET max_statement_time",
            "ALTER ROLE bob RESET ALL",
        ):
            with pytest.raises(psycopg.Error, match=r"cannot be changed by a session|permission denied"):
                bob.execute(text.encode())
        with pytest.raises(psycopg.errors.QueryCanceled, match="due to statement timeout"):
            bob.execute(long.encode())
        bob.execute("ALTER ROLE bob SET statement_timeout = '7s'")
    with connect(environment, "bob") as bob, pytest.raises(psycopg.errors.QueryCanceled):
        bob.execute(long.encode())
    with pytest.raises(psycopg.OperationalError, match='"max_statement_time" cannot be changed by a session'):
        psycopg.connect(f"{environment.dsn()} user=bob options='-c max_statement_time=0'")


def test_the_limits_of_the_server_hold_for_all_but_the_operator(
    environment: Environment, admin: psycopg.Connection
) -> None:
    operator = psycopg.connect(f"{environment.dsn()} port={environment.internal_port}", autocommit=True)
    operator.execute("ALTER SYSTEM SET max_statement_time = '50ms'")
    slow = "SELECT count(*) FROM generate_series(1, 20000000)"
    with pytest.raises(psycopg.errors.QueryCanceled):
        admin.execute("SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b")
    assert operator.execute(slow.encode()).fetchone() == (20_000_000,)
    operator.close()


def test_a_setting_of_the_server_is_none_of_a_role(admin: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error, match="cannot be changed by a session"):
        admin.execute("ALTER ROLE bob SET webhook_concurrent_request_limit = 5")


REFUSED = 'SELECT "user", client_ip, statement, object, error, count::int8 FROM mz_internal.mz_refusals'


def refuse(session: psycopg.Connection, text: str, count: int = 1) -> None:
    for _ in range(count):
        with pytest.raises(Denied):
            session.execute(text.encode())


def test_who_was_refused_what_can_be_asked(environment: Environment, admin: psycopg.Connection) -> None:
    with connect(environment, "bob") as bob:
        refuse(bob, "SELECT a, 'planted-secret' FROM t", count=3)
        refuse(bob, "CREATE SECRET s AS 'planted-secret'")
        refuse(bob, "DROP TABLE t")
        table, schema = "TABLE materialize.public.t", "SCHEMA materialize.public"
        kept = [
            ("bob", "127.0.0.1", "SELECT", table, 'permission denied for TABLE "materialize.public.t"', 3),
            *[("bob", "127.0.0.1", "CREATE SECRET", schema)],
            ("bob", "127.0.0.1", "DROP", table, f"must be owner of {table}", 1),
        ]
        found = admin.execute(REFUSED.encode()).fetchall()
        assert [row[: len(wanted)] for row, wanted in zip(found, kept, strict=True)] == kept
        assert "planted-secret" not in str(found)
        assert bob.execute(REFUSED.encode()).fetchall() == found
    with connect(environment, "ann") as ann:  # whose own there are none
        assert ann.execute(REFUSED.encode()).fetchall() == []


def test_who_repeats_what_is_refused_takes_no_place_of_others(
    environment: Environment, admin: psycopg.Connection
) -> None:
    with connect(environment, "ann") as ann, connect(environment, "bob") as bob:
        refuse(ann, "SELECT * FROM t")
        for number in range(REFUSALS_OF_ROLE_MAX + 5):
            admin.execute(f"CREATE TABLE t{number} (a int)".encode())
        with capture_logs() as lines:
            for number in range(REFUSALS_OF_ROLE_MAX + 5):
                refuse(bob, f"SELECT * FROM t{number}")
            refuse(bob, f"SELECT * FROM t{REFUSALS_OF_ROLE_MAX}", count=20)
    found = admin.execute(REFUSED.encode()).fetchall()
    assert [row[0] for row in found].count("bob") == REFUSALS_OF_ROLE_MAX
    assert [row[5] for row in found if row[0] == "ann"] == [1]
    assert found[-1][-1] == 21
    refused = [line for line in lines if line["event"] == "statement refused"]
    assert len(refused) == REFUSALS_OF_ROLE_MAX + 5


def test_the_audit_log_tells_what_became_of_a_role(admin: psycopg.Connection) -> None:
    for text in (
        "ALTER ROLE ann SUPERUSER PASSWORD 'hidden'",
        "ALTER ROLE ann SET statement_timeout = '5s'",
        "CREATE USER eve SUPERUSER",
    ):
        admin.execute(text.encode())
    lines = admin.execute(
        "SELECT event_type, details - 'id' FROM mz_audit_events WHERE object_type = 'role' ORDER BY id DESC"
        " LIMIT 3"
    ).fetchall()
    assert lines[::-1] == [
        ("alter", {"name": "ann", "superuser": True, "password": "changed"}),
        ("alter", {"name": "ann", "settings": {"statement_timeout": "5 s"}}),
        ("create", {"name": "eve", "superuser": True}),
    ]


def test_the_name_of_a_program_is_plain_text(environment: Environment, admin: psycopg.Connection) -> None:
    """Those who look at sessions may do so on a terminal."""
    with connect(environment, "ann") as ann:
        ann.execute("SET application_name = E'\\x1b[31m\\n\u00e9" + "x" * 100 + "'")
        shown = ann.execute("SHOW application_name").fetchone()
        assert shown == (("?[31m??" + "x" * 100)[:63],)
        assert (shown[0],) in admin.execute("SELECT application_name FROM pg_stat_activity").fetchall()


def test_passwords_are_shown_nowhere(environment: Environment, admin: psycopg.Connection) -> None:
    admin.execute("ALTER ROLE bob PASSWORD 'planted-password'")
    kept = environment.coordinator.catalog.state.role_named("bob")
    assert kept is not None
    assert (kept.verifier or "").startswith("SCRAM-SHA-256$4096:")
    relations = admin.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname IN ('pg_catalog', 'mz_catalog', 'mz_internal', 'information_schema')"
    ).fetchall()
    assert len(relations) > 100
    for schema, name in relations:
        found = str(admin.execute(f'SELECT * FROM {schema}."{name}"'.encode()).fetchall())
        assert "planted" not in found, name
        assert "SCRAM-SHA-256$" not in found, name
    assert "SCRAM" not in repr(kept)


def test_who_follows_sessions_sees_no_more_of_them_than_who_reads_them(
    environment: Environment, admin: psycopg.Connection
) -> None:
    admin.execute("GRANT SELECT ON t TO bob")
    with connect(environment, "bob") as bob:
        bob.execute("BEGIN")
        bob.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT t.a, s.query FROM t, pg_stat_activity s)")
        seen = bob.execute("FETCH ALL c WITH (timeout = '1s')").fetchall()
        for number in range(2, 5):
            admin.execute(f"INSERT INTO t VALUES ({number})".encode())
            while number not in {row[2] for row in seen}:
                seen += bob.execute("FETCH ALL c WITH (timeout = '1s')").fetchall()
        assert not [row for row in seen if "INSERT" in row[3]]
        bob.execute("ROLLBACK")


def test_rows_that_cannot_be_stored_are_shown_to_readers_of_their_table(
    environment: Environment, admin: psycopg.Connection
) -> None:
    ((table_id,),) = admin.execute("SELECT id FROM mz_tables WHERE name = 't'").fetchall()
    row = Row("(a, b)=(1, hidden)", Flaws({"b": Flaw("hidden", "no form")}, "0/1"))
    environment.coordinator.value_errors.known[table_id] = [row]
    listed = "SELECT key FROM mz_internal.mz_source_value_errors"
    with connect(environment, "ann") as ann:
        assert ann.execute(listed).fetchall() == []
        admin.execute("GRANT SELECT ON t TO readers")
        assert ann.execute(listed).fetchall() == [(row.key,)]
    assert admin.execute(listed).fetchall() == [(row.key,)]
