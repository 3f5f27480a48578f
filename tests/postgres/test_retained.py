"""The log that an upstream keeps for a source: what is said of it grows with it, and stays below the limit.

Method: a slot that nobody reads, and a log that goes on by whole files; and a source that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

from headwater.coordinator.retained_logs import level
from headwater.sources.postgres.retained import retained
from tests.support.database import Database
from tests.support.following import following
from tests.support.here import EQUAL_S_MAX
from tests.support.server import HeadwaterServer, eventually

MIB = 1024 * 1024
LOGS = """
    SELECT o.id, l.state, l.held_bytes::text::int8 FROM mz_internal.mz_source_upstream_logs l
    JOIN mz_objects o ON o.id = l.id JOIN mz_schemas s ON s.id = o.schema_id
    WHERE o.name = 'src' AND s.name = '{schema}'"""


def nobody(id_: str) -> bytes:
    raise KeyError(id_)


@contextmanager
def keeping(database: Database, size: str) -> Iterator[None]:
    database.run(f"ALTER SYSTEM SET max_slot_wal_keep_size = '{size}'", "SELECT pg_reload_conf()")
    eventually(lambda: database.value("SHOW max_slot_wal_keep_size") == size)
    try:
        yield
    finally:
        database.run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")
        eventually(lambda: database.value("SHOW max_slot_wal_keep_size") == "-1")


def test_what_is_kept_and_what_is_left_until_it_is_lost(database: Database) -> None:
    options = {"slot": f"s_{database.name}", "connection": database.options()}
    assert retained(options, nobody).lost, "there is no slot"
    database.run(f"SELECT pg_create_logical_replication_slot('{options['slot']}', 'pgoutput')")
    first = retained(options, nobody)
    assert (first.state, first.left_bytes, first.limit_bytes, first.lost) == ("reserved", None, None, False)
    assert first.held_bytes is not None
    with keeping(database, "64MB"):
        before = retained(options, nobody)
        assert before.limit_bytes == 64 * MIB
        assert level(before) == "fine"
        assert before.left_bytes is not None
        for _ in range(4):
            database.run("SELECT pg_logical_emit_message(false, 'x', 'y')", "SELECT pg_switch_wal()")
        now = retained(options, nobody)
        assert (now.held_bytes or 0) > first.held_bytes + 48 * MIB
        assert now.left_bytes is not None
        assert now.left_bytes < before.left_bytes - 48 * MIB
        assert level(now) == "low"
        for _ in range(3):
            database.run("SELECT pg_logical_emit_message(false, 'x', 'y')", "SELECT pg_switch_wal()")
        database.run("CHECKPOINT")
        assert level(retained(options, nobody)) == "lost"


def test_a_source_shows_it(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, "CREATE TABLE t (id int PRIMARY KEY)") as here:
        text = LOGS.format(schema=here.schema)
        ((id_, state, held_bytes),) = eventually(lambda: here.rows(text), within_s=EQUAL_S_MAX)
        assert (state, held_bytes >= 0) == ("reserved", True)
        with urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=30) as page:
            assert f'headwater_upstream_log_held_bytes{{source="{id_}"}}' in page.read().decode()
