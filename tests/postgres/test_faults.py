"""What breaks between a source and its upstream is said and overcome; nothing is lost or doubled.

Method: one PostgreSQL and one server for all of it, and a proxy between them.  Something is broken,
mostly under writes; the status must say so, another source must go on, and once the cause is gone the
tables must come to equal the upstream's without anything being done.  `close` sees that no slot is left.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.core.limits import REPLICATION_SEGMENT_BYTES, UPSTREAM_CONNECT_S_MAX
from headwater.observe.failpoints import FAILPOINTS
from tests.support.dying import DyingServer
from tests.support.faulty import (
    NOTICE_S_MAX,
    PAIR,
    RESUME_S_MAX,
    Faulty,
    Writer,
    check_beside_goes_on,
    check_failed,
    check_newest,
    check_running,
    check_stalled,
    committing,
    faulty,
    peak_bytes,
    quickly,
    source,
    waiting_for_a_standby,
)
from tests.support.following import Following
from tests.support.metadata import change_metadata
from tests.support.postgres import PostgresServer
from tests.support.server import HeadwaterServer, eventually

LARGE_ROWS = 150_000
SILENCE_NOTICE_S_MAX = 10.0
SILENCE_RETURN_S_MAX = 15.0
LARGE_MEMORY_BYTES_MAX = 400 * 2**20


@pytest.fixture(scope="module")
def postgres(breakable_postgres: PostgresServer) -> PostgresServer:
    return breakable_postgres


@pytest.fixture(scope="module")
def server(breakable_server: DyingServer) -> DyingServer:
    return breakable_server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Faulty]:
    with faulty(postgres, *PAIR) as made:
        yield made


# The server itself


def test_an_upstream_that_restarts_or_dies_is_followed_on(
    server: HeadwaterServer, postgres: PostgresServer, database: Faulty
) -> None:
    with source(server, database, "a", "b") as here:
        with Writer(database):
            check_newest(here)
            postgres.restart()
            database.again()
            check_newest(here)
            postgres.kill()
            check_stalled(here, "src", "stream ended prematurely", "error connecting to server")
            check_beside_goes_on(server)
            postgres.resume()
            database.again()
            check_running(here, "src")
            check_newest(here)
        here.follows("a")
        here.follows("b")
        assert len(here.slots()) == 1


# What nobody foresaw


@pytest.mark.timeout(300)
def test_an_error_nobody_foresaw_stays_with_its_value_or_its_table(
    server: HeadwaterServer, database: Faulty
) -> None:
    """The server's jsonb has a defect (tests/kinds/planted)."""
    tables = ("good", "few", "many", "filled")
    database.run(*(f"CREATE TABLE {name} (id int PRIMARY KEY, doc jsonb)" for name in tables))
    broken = """INSERT INTO {} SELECT n, '{{"break": 1}}' FROM generate_series(1, {}) n"""
    database.run(broken.format("filled", 40))
    with source(server, database, "good", "few", "many") as here:
        database.run(
            broken.format("few", 1), broken.format("many", 40), """INSERT INTO good VALUES (1, '{"a": 1}')"""
        )
        here.follows("good")
        said = here.value_error_of("few")
        assert """value "{"break": 1}" of column "doc" in row (id)=(1)""" in said
        assert "cannot be stored: internal error: KeyError: 'planted'" in said
        told = "internal error while changes were decoded: KeyError: 'planted'"
        check_failed(here, "many", told)
        database.run("INSERT INTO good VALUES (2)", "UPDATE few SET doc = '{}' WHERE id = 1")
        here.follows("good")
        here.follows("few")
        # A table that cannot be filled ends as well; what was made with it does not wait for it.
        here.run("BEGIN")
        for name in ("filled", "good"):
            here.create_table(f"{name}_too", name, "TEXT COLUMNS (doc)" if name == "good" else "")
        here.run("COMMIT")
        check_failed(here, "filled_too", told)
        assert here.value("SELECT count(*) FROM good_too") == 2
        check_running(here, "src")
        assert "in _breaking_from_text" in server.log_tail(10_000), "the log says where"


# The way to it


def test_a_promoted_standby_is_not_taken_for_the_server_it_was(
    server: HeadwaterServer, postgres: PostgresServer, database: Faulty
) -> None:
    with source(server, database, "a") as here:
        standby = postgres.standby()
        try:
            standby.promote()
            database.proxy.lead_to(standby.port)
            assert "Expected timeline ID 1 but got 2" in here.error_of("a")
            check_beside_goes_on(server)
            with psycopg.connect(standby.dsn(database.name), autocommit=True) as promoted:
                promoted.execute("INSERT INTO a VALUES (77, 7, 'promoted')")
                here.run("ALTER SOURCE src RESYNC")
                eventually(lambda: here.rows("SELECT id FROM a") == [(77,)])
                promoted.execute("INSERT INTO a VALUES (78, 7, 'followed')")
                eventually(lambda: here.rows("SELECT count(*) FROM a") == [(2,)])
            here.run("DROP SOURCE src CASCADE")
        finally:
            database.proxy.lead_to(postgres.port)
            standby.stop()


def test_an_upstream_that_was_put_back_to_an_earlier_day_ends_its_source(
    server: HeadwaterServer, postgres: PostgresServer, database: Faulty
) -> None:
    with source(server, database, "a") as here:
        postgres.halt()
        copy = postgres.copy()
        postgres.resume()
        database.again()
        database.run("INSERT INTO a VALUES (1)", "SELECT pg_switch_wal()", "INSERT INTO a VALUES (2)")
        here.follows("a")
        postgres.halt()
        postgres.put_back(copy)
        postgres.resume()
        database.again()
        database.run("INSERT INTO a VALUES (3)")
        assert "an earlier copy of itself" in here.error_of("a")
        check_failed(here, "src", "an earlier copy of itself")
        check_beside_goes_on(server)


def test_an_upstream_that_cannot_be_reached_is_waited_for(server: HeadwaterServer, database: Faulty) -> None:
    with source(server, database, "a") as here:
        with Writer(database):
            database.proxy.refuse()
            check_stalled(here, "src", "error connecting to server: Connection refused")
            check_stalled(here, "a", "error connecting to server: Connection refused")
            check_beside_goes_on(server)
            database.proxy.accept()
            check_running(here, "src")
            check_running(here, "a")
            check_newest(here)
        here.follows("a")


def test_a_stream_that_is_cut_within_a_message_goes_on(server: HeadwaterServer, database: Faulty) -> None:
    marker = "cut in the middle of this"
    with source(server, database, "a", "b") as here:
        for number in range(3):
            database.proxy.cut_within(marker)
            database.run(
                f"BEGIN; INSERT INTO a SELECT g, 0, 'x' FROM generate_series({number}000, {number}500) AS g;"
                f" INSERT INTO b VALUES ({number}, 0, '{marker}'); COMMIT",
                f"INSERT INTO a VALUES ({number}999, 1, 'after')",
            )
            eventually(lambda: database.proxy.cut_count > number)  # noqa: B023
            here.follows("a")
            here.follows("b")


def test_a_snapshot_that_is_cut_is_taken_again(server: HeadwaterServer, database: Faulty) -> None:
    marker = "cut in the middle of this"
    database.run("INSERT INTO a SELECT g, 0, repeat('x', 100) FROM generate_series(1, 20000) AS g")
    database.run(f"UPDATE a SET tag = '{marker}' WHERE id = 20000")
    with source(server, database, "b") as here, Writer(database, ("b",)):
        database.proxy.cut_within(marker)
        here.create_table("a")
        here.follows("a")
        assert database.proxy.cut_count == 1
        check_newest(here, "b")


def test_a_way_that_swallows_everything_is_noticed_and_so_is_its_return(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "a", "b") as here:
        database.proxy.swallow()
        database.run("INSERT INTO a VALUES (1, 1, 'waits')")
        check_stalled(here, "src", "the server has stopped answering", within_s=SILENCE_NOTICE_S_MAX)
        began_s = time.monotonic()
        with pytest.raises(psycopg.Error, match="error connecting to server: connection timeout"):
            here.create_table("c", "a")
        assert time.monotonic() - began_s < SILENCE_NOTICE_S_MAX
        check_beside_goes_on(server)
        quickly(here, "DROP TABLE b")
        check_stalled(here, "src", "error connecting to server: connection timeout")
        database.proxy.pass_on()
        eventually(lambda: here.value("SELECT count(*) FROM a") == 1, within_s=SILENCE_RETURN_S_MAX)
        check_running(here, "src")


def test_a_statement_that_asks_a_silent_upstream_can_be_cancelled(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "b") as here, here.connect() as asking:
        database.proxy.swallow()
        failures: list[psycopg.Error] = []

        def ask() -> None:
            try:
                asking.execute("CREATE TABLE a FROM SOURCE src (REFERENCE a)")
            except psycopg.Error as error:
                failures.append(error)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()

        def cancelled() -> bool:
            asking.cancel_safe()
            return not thread.is_alive()

        eventually(cancelled, within_s=UPSTREAM_CONNECT_S_MAX / 2)
        assert [error.sqlstate for error in failures] == ["57014"]
        database.proxy.pass_on()
        here.follows("b")


def test_a_snapshot_that_is_swallowed_is_taken_again(server: HeadwaterServer, database: Faulty) -> None:
    marker = "swallowed in the middle of this"
    database.run("INSERT INTO a SELECT g, 0, repeat('x', 100) FROM generate_series(1, 20000) AS g")
    database.run(f"UPDATE a SET tag = '{marker}' WHERE id = 20000")
    with source(server, database, "b") as here:
        database.proxy.swallow_within(marker)
        here.create_table("a")
        eventually(lambda: database.proxy.swallowing)
        check_stalled(here, "a", "the server has stopped answering", within_s=SILENCE_NOTICE_S_MAX)
        check_stalled(here, "src", "the server has stopped answering", "timeout")
        database.proxy.pass_on()
        eventually(lambda: here.value("SELECT count(*) FROM a") == 20000, within_s=SILENCE_RETURN_S_MAX)
        here.follows("a")


def test_connections_that_were_swallowed_are_given_up_also_when_new_ones_work(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "a") as here:
        database.proxy.swallow()
        database.proxy.pass_on()
        database.run("INSERT INTO a VALUES (1, 1, 'waits')")
        eventually(lambda: here.value("SELECT count(*) FROM a") == 1, within_s=SILENCE_NOTICE_S_MAX)


# Commits that wait for a standby


def test_rows_of_a_commit_that_waits_for_a_standby_are_in_new_tables_and_columns(
    server: HeadwaterServer, database: Faulty
) -> None:
    database.run("INSERT INTO a VALUES (1, 1, 'x')", "INSERT INTO b VALUES (1, 1, 'x')")
    with source(server, database) as here:
        here.create_table("a", options="EXCLUDE COLUMNS (tag)")
        here.follows("a", columns="id, n")
        adding = here.connect()
        with waiting_for_a_standby(database) as go_on:
            both = [f"INSERT INTO {table} VALUES (2, 2, 'waits')" for table in "ab"]
            with committing(database, "BEGIN", *both, "COMMIT"):
                check_stalled(here, "src", "has committed and does not show yet")
                here.create_table("b")
                assert here.value("SELECT count(*) FROM a") == 1  # as upstream
                text = b"ALTER TABLE a ADD COLUMN tag"
                thread = threading.Thread(target=adding.execute, args=(text,), daemon=True)
                thread.start()
                go_on()
        here.follows("b")
        thread.join(RESUME_S_MAX)
        here.follows("a")
        assert [row[0] for row in here.rows("VERIFY TABLE a")] == ["equal"]
        assert [row[0] for row in here.rows("VERIFY TABLE b")] == ["equal"]
        adding.close()


# What a source is made with


def test_a_publication_that_is_dropped_stops_its_source_and_no_other(
    server: HeadwaterServer, database: Faulty
) -> None:
    message = 'publication "p" does not exist'
    database.run("CREATE PUBLICATION q FOR ALL TABLES")
    with source(server, database, "a", "b") as here:
        here.run(
            "CREATE SOURCE other FROM POSTGRES CONNECTION pg (PUBLICATION 'q')",
            "CREATE TABLE c FROM SOURCE other (REFERENCE a)",
        )
        here.follows("c", "a")
        database.run("DROP PUBLICATION p", "INSERT INTO a VALUES (1, 1, 'unseen')")
        assert message in here.error_of("a")
        assert message in here.error_of("b")
        check_failed(here, "src", message)
        check_failed(here, "a", message)
        here.follows("c", "a")
        check_running(here, "other")


def test_a_table_on_its_way_in_shares_the_error_of_its_source(server: DyingServer, database: Faulty) -> None:
    message = 'publication "p" does not exist'
    database.run("INSERT INTO b VALUES (1, 1, 'x')")
    with source(server, database, "a") as here:
        armed = server.arm("ingestion.after_join", "sleep(2000)")
        here.create_table("b")
        eventually(lambda: not armed.exists())
        database.run("DROP PUBLICATION p", "INSERT INTO a VALUES (1, 1, 'unseen')")
        assert message in here.error_of("b")
        assert message in here.error_of("a")
        check_failed(here, "b", message)


def test_a_password_that_is_changed_is_waited_for(server: HeadwaterServer, database: Faulty) -> None:
    database.run(
        "DROP ROLE IF EXISTS guarded",
        "CREATE ROLE guarded LOGIN REPLICATION SUPERUSER PASSWORD 'old'",
    )
    here = Following(server, database)
    try:
        here.run(
            "CREATE SECRET word AS 'old'",
            re.sub(r"\)$", ", PASSWORD SECRET word)", database.connection_sql("safe", "guarded")),
            "CREATE SOURCE src FROM POSTGRES CONNECTION safe (PUBLICATION 'p')"
            " WITH (TIMESTAMP INTERVAL '100ms')",
        )
        here.create_table("a")
        here.follows("a")
        with Writer(database):
            database.run("ALTER ROLE guarded PASSWORD 'new'")
            database.proxy.cut()
            check_stalled(here, "src", 'password authentication failed for user "guarded"')
            check_beside_goes_on(server)
            here.run("ALTER SECRET word AS 'new'")
            check_running(here, "src")
            check_newest(here)
        here.follows("a")
    finally:
        here.close()


# Leaving, while the upstream is away


def test_what_is_dropped_while_the_upstream_is_away_is_gone_at_once_and_its_slot_later(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "a", "b") as here:
        database.proxy.refuse()
        check_stalled(here, "src", "error connecting to server")
        quickly(here, "DROP TABLE b", "DROP SOURCE src CASCADE")
        assert here.rows("SHOW TABLES") == []
        assert len(here.slots()) == 1
        database.proxy.accept()
        eventually(lambda: not here.slots(), within_s=NOTICE_S_MAX)


def test_a_restart_of_everything_forgets_neither_slots_to_drop_nor_slots_that_are_missing(
    server: HeadwaterServer, postgres: PostgresServer, database: Faulty
) -> None:
    with faulty(postgres, *PAIR) as leaving, source(server, database, "a") as here:
        gone = Following(server, leaving)
        gone.run(
            "CREATE SECRET word AS 'any'",
            re.sub(r"\)$", ", PASSWORD SECRET word)", leaving.connection_sql("safe")),
            "CREATE SOURCE src FROM POSTGRES CONNECTION safe (PUBLICATION 'p')",
        )
        gone.create_table("a")
        gone.follows("a")
        leaving.proxy.refuse()
        quickly(gone, "DROP SECRET word CASCADE")
        assert len(gone.slots()) == 1
        server.stop()
        eventually(lambda: database.walsender() is None)
        database.drop_slots()
        server.start()
        here.session, gone.session = here.connect(), gone.connect()
        leaving.proxy.accept()
        eventually(lambda: not gone.slots(), within_s=RESUME_S_MAX)
        check_stalled(
            here, "src", "replication slot mysteriously missing", within_s=RESUME_S_MAX, as_word="failed"
        )
        check_beside_goes_on(server)
        gone.close()


def test_what_a_snapshot_has_shown_is_forgotten_with_the_process_that_took_it(
    server: HeadwaterServer, database: Faulty
) -> None:
    """Numbers of transactions come again: the point is given the one that would be next by then."""
    with source(server, database, "a") as here:
        table_id = here.value(
            "SELECT t.id FROM mz_tables t JOIN mz_schemas s ON s.id = t.schema_id"
            f" WHERE t.name = 'a' AND s.name = '{here.schema}'"
        )
        server.stop()
        later = database.value("SELECT pg_current_xact_id()::text::int8") + 1_000_000
        moved = change_metadata(
            server.data_dir,
            "UPDATE ledger_collection SET point = json_set(point, '$.snapshot', ?)"
            " WHERE collection_id = ? AND point LIKE '%snapshot%'",
            *(f"{later}:{later}:", table_id),
        )
        assert moved == 1
        database.run("INSERT INTO a VALUES (1), (2)", "DELETE FROM a WHERE id = 2")
        server.start()
        here.session = here.connect()
        here.follows("a")
        database.run("INSERT INTO a VALUES (3)")
        here.follows("a")


# Much at once, and deaths of our own


def test_a_large_transaction_appears_whole_and_within_bounded_memory(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "a") as here:
        pid = server.cluster_pid()
        assert pid is not None
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        before = peak_bytes(pid)
        done = threading.Event()
        spooled: set[Path] = set()

        def watch() -> None:
            while not done.wait(0.02):
                spooled.update(server.data_dir.glob("scratch/*/*/*.stream"))

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        database.run(
            f"INSERT INTO a SELECT g, g, repeat(md5(g::text), 16) FROM generate_series(1, {LARGE_ROWS}) AS g"
        )
        seen: set[int] = set()

        def whole() -> bool:
            seen.add(here.value("SELECT count(*) FROM a"))
            return LARGE_ROWS in seen

        eventually(whole, within_s=RESUME_S_MAX)
        done.set()
        watching.join()
        assert seen <= {0, LARGE_ROWS}
        total = "SELECT sum(id), sum(n), sum(length(tag)) FROM a"
        assert here.rows(total) == database.connection.execute(total.encode()).fetchall()
        assert len(spooled) >= LARGE_ROWS * 512 // REPLICATION_SEGMENT_BYTES
        eventually(lambda: not list(server.data_dir.glob("scratch/*/*/*.stream")))
        assert peak_bytes(pid) - before < LARGE_MEMORY_BYTES_MAX


def test_a_snapshot_goes_on_after_a_death_with_what_it_has(server: DyingServer, database: Faulty) -> None:
    database.run(
        "CREATE TABLE large (id int PRIMARY KEY, n int, long text, tag text)",
        "ALTER TABLE large ALTER long SET STORAGE EXTERNAL",
        "INSERT INTO large SELECT g, 0, CASE WHEN g % 1000 = 0 THEN repeat(md5(g::text), 100) END,"
        " md5(g::text) FROM generate_series(1, 1200000) AS g",
        "DELETE FROM large WHERE id < 20000",
        "VACUUM ANALYZE large",  # early pages have room: later rows will move there
    )
    with source(server, database, "a") as here:
        armed = server.arm("backfill.before_chunk", "2*exit")
        here.create_table("large")
        eventually(lambda: not armed.exists(), within_s=RESUME_S_MAX)
        database.run(
            "UPDATE large SET n = n + 1 WHERE id > 1180000",  # moves, and leaves `long` out of the stream
            "UPDATE large SET n = n + 1 WHERE id BETWEEN 30000 AND 40000",
            "UPDATE large SET id = -id WHERE id BETWEEN 50001 AND 50999",
            "DELETE FROM large WHERE id % 100 = 7",
            "INSERT INTO large SELECT g, 0, repeat('long', 999) FROM generate_series(1300000, 1300100) AS g",
        )
        total = "SELECT count(*), sum(id), sum(n), sum(length(long)), count(DISTINCT tag) FROM large"
        wanted = database.connection.execute(total.encode()).fetchall()
        eventually(lambda: here.rows(total) == wanted, within_s=RESUME_S_MAX)
        ((result, _, _),) = here.rows("VERIFY TABLE large")
        assert result == "equal"
        assert "snapshot goes on" in server.log_tail(2000)


@pytest.mark.timeout(900)
def test_a_death_at_every_failpoint_under_writes_leaves_everything_equal(
    server: DyingServer, database: Faulty
) -> None:
    database.run("CREATE TABLE c (id int PRIMARY KEY, tag text)", "INSERT INTO c VALUES (1, 'one')")
    names = [
        name
        for name in FAILPOINTS
        if name.partition(".")[0] in ("ingestion", "backfill", "ledger", "fold") and "restart" not in name
    ]
    assert len(names) > 10
    with source(server, database, "a", "b") as here:
        here.create_table("c")
        with Writer(database):
            for name in names:
                armed = server.arm(name)
                if name.startswith("backfill") or name.endswith("join"):
                    here.run("DROP TABLE c")
                    here.create_table("c")
                eventually(lambda: not armed.exists(), within_s=RESUME_S_MAX)  # noqa: B023
            check_newest(here)
        for table in "abc":
            here.follows(table)
        assert len(here.slots()) == 1
