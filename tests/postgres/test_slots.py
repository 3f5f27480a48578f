"""The replication slot of a source and whoever sends from it: taken over, waited for, lost, begun anew.

Method: as in test_faults.py, with its PostgreSQL and its server.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.dying import DyingServer
from tests.support.faulty import (
    PAIR,
    RESUME_S_MAX,
    Faulty,
    Writer,
    check_beside_goes_on,
    check_failed,
    check_newest,
    check_running,
    check_stalled,
    faulty,
    source,
)
from tests.support.following import Following
from tests.support.postgres import PostgresServer
from tests.support.server import HeadwaterServer, eventually


@pytest.fixture(scope="module")
def server(breakable_server: DyingServer) -> DyingServer:
    return breakable_server


@pytest.fixture
def database(breakable_postgres: PostgresServer) -> Iterator[Faulty]:
    with faulty(breakable_postgres, *PAIR) as made:
        yield made


def test_a_slot_that_waits_for_an_open_transaction_says_so(server: HeadwaterServer, database: Faulty) -> None:
    here = Following(server, database)
    with psycopg.connect(database.server.dsn(database.name)) as session:
        session.execute("INSERT INTO a VALUES (1, 1)")
        here.create_source()
        error = check_stalled(here, "src", "waits for open transactions")
        assert f"process {session.info.backend_pid} since" in error
        session.commit()
    check_running(here, "src")
    here.create_table("a")
    here.follows("a")
    here.close()


def test_a_walsender_that_is_ended_is_replaced(server: HeadwaterServer, database: Faulty) -> None:
    with source(server, database, "a", "b") as here:
        with Writer(database):
            for _ in range(3):
                before = eventually(database.walsender)
                database.run(f"SELECT pg_terminate_backend({before})")
                eventually(lambda: database.walsender() not in (None, before))  # noqa: B023
                check_newest(here)
        here.follows("a")
        here.follows("b")


def test_a_slot_that_an_orphaned_walsender_holds_is_taken_over(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "a") as here, Writer(database, ("a",)):
        before = eventually(database.walsender)
        database.proxy.orphan()
        server.kill_cluster()
        assert database.walsender() == before
        eventually(lambda: database.walsender() not in (None, before), within_s=RESUME_S_MAX)
        database.proxy.release()
        check_newest(here)
        assert len(here.slots()) == 1


def test_a_slot_that_is_gone_stops_its_source_and_no_other(server: HeadwaterServer, database: Faulty) -> None:
    with source(server, database, "a") as here:
        here.run(database.direct_sql("direct"))
        database.proxy.refuse()
        eventually(lambda: database.walsender() is None)
        database.drop_slots()
        here.run(
            "CREATE SOURCE other FROM POSTGRES CONNECTION direct (PUBLICATION 'p')",
            "CREATE TABLE b FROM SOURCE other (REFERENCE b)",
        )
        here.follows("b")
        database.proxy.accept()
        missing = "replication slot mysteriously missing"
        error = check_failed(here, "src", missing)
        assert missing in here.error_of("a")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match=error) as refused:
            here.create_table("a2", "a")
        assert "RESYNC" in str(refused.value.diag.message_hint)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match=missing) as refused:
            here.run("VERIFY TABLE a")
        assert f"ALTER SOURCE materialize.{here.schema}.src RESYNC" in str(refused.value.diag.message_hint)
        database.run("INSERT INTO b VALUES (1, 1, 'other')")
        here.follows("b")
        check_running(here, "other")
        here.run("DROP SOURCE src CASCADE")
        assert len(here.slots()) == 1


def test_a_slot_that_is_lost_is_an_error_of_its_tables(server: HeadwaterServer, database: Faulty) -> None:
    message = "replication slot has been invalidated because it exceeded the maximum reserved size"
    with source(server, database, "a", "b") as here:
        database.proxy.refuse()
        eventually(lambda: database.walsender() is None)
        database.run("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
        try:
            lost = "SELECT bool_or(wal_status = 'lost') FROM pg_replication_slots"

            def losing() -> bool:
                database.run(
                    "INSERT INTO a SELECT max(id) + 1 FROM a", "SELECT pg_switch_wal()", "CHECKPOINT"
                )
                return bool(database.value(lost))

            database.run("INSERT INTO a VALUES (1)")
            eventually(losing)
        finally:
            database.run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")
        database.proxy.accept()
        assert message in here.error_of("a")
        assert message in here.error_of("b")
        check_failed(here, "src", message)
        check_failed(here, "a", message)
        check_beside_goes_on(server)
        here.run("ALTER SOURCE src RESYNC")
        here.follows("a")
        here.follows("b")


def test_a_source_that_begins_anew_brings_its_tables_up_to_date_and_keeps_what_they_were(
    server: DyingServer, database: Faulty
) -> None:
    """Through deaths at every step of it, under writes."""
    database.run("INSERT INTO a SELECT -g, 0, 'x' FROM generate_series(1, 100) AS g")
    database.run("CREATE TABLE bag (n float8, t text)", "ALTER TABLE bag REPLICA IDENTITY FULL")
    database.run("INSERT INTO bag SELECT g % 3, 'x' FROM generate_series(1, 9) AS g")
    with source(server, database, "a", "b", "bag") as here:
        here.run("CREATE VIEW v AS SELECT count(*) AS n FROM a")
        here.run("ALTER TABLE a SET (RETAIN HISTORY FOR '1h')")
        before = here.value("SELECT mz_now()::text FROM a LIMIT 1")
        ids = here.rows("SELECT id FROM mz_tables ORDER BY id")
        database.proxy.refuse()
        eventually(lambda: database.walsender() is None)
        database.drop_slots()
        # What nobody will ever be told of.
        database.run(
            "DELETE FROM a WHERE id >= -50",
            "UPDATE a SET n = 1 WHERE id < -90",
            "INSERT INTO bag VALUES (0, 'x'), ('-0', 'x'), ('NaN', NULL)",
            "DELETE FROM bag WHERE n = 1",
            "INSERT INTO b VALUES (-7, 7, 'new')",
        )
        database.proxy.accept()
        assert "mysteriously missing" in here.error_of("v")
        with Writer(database):
            for step in ("ingestion.before_restart", "ingestion.after_restart", "backfill.before_hydrate"):
                server.arm(step)
            here.run("ALTER SOURCE src RESYNC")
            eventually(lambda: not any(server.armed.iterdir()), within_s=3 * RESUME_S_MAX)
            check_newest(here)
        for table in ("a", "b", "bag"):
            here.follows(table)
            assert here.rows(f"VERIFY TABLE {table}")[0][0] == "equal"
        assert here.value("SELECT n FROM v") == here.value("SELECT count(*) FROM a")
        assert here.value(f"SELECT count(*) FROM a AS OF {before}") == 100
        assert here.rows("SELECT id FROM mz_tables ORDER BY id") == ids
        assert len(here.slots()) == 1
        check_running(here, "src")


@pytest.mark.parametrize("resync_first", [False, True])
def test_what_is_added_between_a_loss_and_the_new_beginning_has_nothing_of_before(
    server: HeadwaterServer, database: Faulty, resync_first: bool
) -> None:
    """A table could be copied from another, and columns put beside others, that are of before the loss."""
    database.run(
        "INSERT INTO a SELECT g, g, 'x' FROM generate_series(1, 100) AS g",
        "INSERT INTO b SELECT g, g, 'x' FROM generate_series(1, 100) AS g",
    )
    here = Following(server, database)
    cluster = f"c_{here.schema}"
    here.run(
        f"CREATE CLUSTER {cluster} (SIZE 'small', REPLICATION FACTOR 1)",
        f"CREATE SOURCE src IN CLUSTER {cluster} FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
        " WITH (TIMESTAMP INTERVAL '100ms')",
    )
    here.create_table("a")
    here.create_table("b")
    here.follows("a")
    here.follows("b")
    database.run("ALTER TABLE b ADD extra text DEFAULT 'x'")
    here.run(f"ALTER CLUSTER {cluster} SET (REPLICATION FACTOR 0)")
    eventually(lambda: database.walsender() is None)
    database.drop_slots()
    database.run(  # what nobody will ever be told of
        "INSERT INTO a VALUES (9001, 1, 'new')",
        "INSERT INTO b VALUES (9101, 1, 'new', 'y')",
        "UPDATE b SET extra = 'z', n = -1 WHERE id = 50",
        "DELETE FROM b WHERE id = 51",
    )
    resync = "ALTER SOURCE src RESYNC"
    if resync_first:
        here.run(resync)
    here.create_table("copied", "a")
    here.run("SET statement_timeout = '1s'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        here.run("ALTER TABLE b ADD COLUMN extra")
    here.run("SET statement_timeout = '60s'")
    if not resync_first:
        here.run(resync)
    here.run(f"ALTER CLUSTER {cluster} SET (REPLICATION FACTOR 1)")
    for table, reference in (("copied", "a"), ("a", "a"), ("b", "b")):
        here.follows(table, reference)
        assert here.rows(f"VERIFY TABLE {table}")[0][0] == "equal"
    here.close()
    server.query(f"DROP CLUSTER {cluster}")


def test_an_idle_table_beside_a_busy_one_does_not_keep_the_log(
    server: HeadwaterServer, database: Faulty
) -> None:
    database.run(
        "DROP PUBLICATION p",
        "CREATE PUBLICATION p FOR TABLE a",
        "CREATE TABLE busy (x text)",
    )
    with source(server, database, "a"):
        for _ in range(2):
            database.run("INSERT INTO busy SELECT repeat('x', 1000) FROM generate_series(1, 5000)")
            written = database.value("SELECT pg_current_wal_insert_lsn()::text")

            def let_go(until: str) -> bool:
                database.run("CHECKPOINT")
                return bool(
                    database.value(
                        f"SELECT confirmed_flush_lsn >= '{until}' AND restart_lsn >= '{until}'"
                        " FROM pg_replication_slots WHERE database = current_database()"
                    )
                )

            eventually(lambda: let_go(written), every_s=0.5)  # noqa: B023


def test_a_slot_that_another_source_has_only_named_is_not_free(
    server: HeadwaterServer, database: Faulty
) -> None:
    here = Following(server, database)
    here.run("CREATE CLUSTER later (REPLICATION FACTOR 0)")
    made = [f"room_{n}_{database.name}" for n in range(100)]
    taken = 0
    try:
        while database.value("SHOW max_replication_slots") != str(
            database.value("SELECT count(*) FROM pg_replication_slots") + 1
        ):
            database.run(f"SELECT pg_create_physical_replication_slot('{made[taken]}')")
            taken += 1
        text = "CREATE SOURCE {} IN CLUSTER later FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
        here.run(text.format("first"))
        with pytest.raises(
            psycopg.errors.ConfigurationLimitExceeded, match="no replication slot left"
        ) as told:
            here.run(text.format("second"))
        assert "1 of them is for other sources that begin later" in str(told.value.diag.message_detail)
        here.run("DROP SOURCE first", text.format("second"))
    finally:
        for name in made[:taken]:
            database.run(f"SELECT pg_drop_replication_slot('{name}')")
        here.run("DROP SOURCE IF EXISTS first", "DROP SOURCE IF EXISTS second", "DROP CLUSTER later")
        here.close()
