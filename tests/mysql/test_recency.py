"""What a source knows of where its upstream is: for reads that must be recent, and in numbers for people.

Method: a real MySQL and a real MariaDB, and a real server; what was committed when a read began must be in
it, and what mz_source_statistics says is compared with what the statements upstream are known to have made.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.mysql.database import Database
from tests.mysql.following import Following, following
from tests.support.mysql import MysqlServer
from tests.support.server import HeadwaterServer, eventually

TABLE = "CREATE TABLE t (id int PRIMARY KEY, note text)"
TIMES = 4
ROWS, BYTES = 20, 10_000
POSITION = {"mysql": "SELECT @@gtid_executed", "mariadb": "SELECT @@gtid_binlog_pos"}
COUNTERS = ("messages_received", "updates_staged", "updates_committed")
GAUGES = ("bytes_received", "offset_known", "offset_committed")


def newest(here: Following, how: str = "") -> int:
    [(found,)] = here.rows(f"SELECT max(id) FROM t{how}")
    return int(found)


def test_a_read_shows_what_was_committed_when_it_began(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "INSERT INTO t VALUES (0, '')") as here:
        here.create_table("t")
        here.run("ALTER SOURCE src SET (TIMESTAMP INTERVAL '1s')")
        here.follows("t")
        here.run("SET real_time_recency = on", "SET real_time_recency_timeout = '60s'")
        for number in range(1, TIMES):
            database.run(f"INSERT INTO t VALUES ({number}, '')")
            assert newest(here) == number
        database.run("CREATE TABLE beside (id int)", "INSERT INTO beside VALUES (1)")
        assert newest(here) == TIMES - 1, "what does not concern us has been read as well"
        here.run("SET real_time_recency = off")
        database.run(f"INSERT INTO t VALUES ({TIMES}, '')")
        [(written,)] = database.run(POSITION[database.server.flavour])
        text = "".join(str(written).split())
        assert newest(here, f" AS OF AT LEAST POSITION '{text}'") == TIMES
        with pytest.raises(psycopg.Error, match=r'invalid position of source ".*src": "yesterday"'):
            newest(here, " AS OF AT LEAST POSITION 'yesterday'")


def statistics(here: Following, name: str) -> dict[str, Any]:
    names = (*COUNTERS, *GAUGES)
    [values] = here.rows(
        f"SELECT {', '.join(f's.{column}::int8' for column in names)} FROM mz_internal.mz_source_statistics s"
        " JOIN mz_objects o ON o.id = s.id JOIN mz_schemas c ON c.id = o.schema_id"
        f" WHERE o.name = '{name}' AND c.name = '{here.schema}'"
    )
    return dict(zip(names, values, strict=True))


def test_statistics_are_what_happened(server: HeadwaterServer, database: Database) -> None:
    filled = [f"INSERT INTO t VALUES ({place}, REPEAT('x', {BYTES}))" for place in range(ROWS)]
    with following(server, database, TABLE, *filled, "CREATE TABLE bag (n int)") as here:
        for table in ("t", "bag"):
            here.create_table(table)
            here.follows(table)

        def reached(name: str, messages: int, updates: int) -> dict[str, Any]:
            found = statistics(here, name)
            assert [found[column] for column in COUNTERS] == [messages, updates, updates]
            return found

        read = eventually(lambda: reached("t", ROWS, ROWS))
        assert ROWS * BYTES <= read["bytes_received"] <= ROWS * (BYTES + 100)
        database.run(
            "INSERT INTO bag VALUES (1)", "INSERT INTO bag VALUES (2), (3)", "UPDATE bag SET n = n + 10"
        )
        here.follows("bag")
        # Events of rows are what is received, and a row without a key that changes goes and comes.
        bag = eventually(lambda: reached("bag", 3, 9))
        assert 0 < bag["bytes_received"] < 3 * 200
        executed = _count(database)
        for name in ("src", "t", "bag"):
            found = statistics(here, name)
            assert found["offset_known"] >= found["offset_committed"] > 0
        eventually(lambda: statistics(here, "src")["offset_committed"] >= executed)


def _count(database: Database) -> int:
    """How many transactions the server has committed."""
    [(text,)] = database.run(POSITION[database.server.flavour])
    parts = "".join(str(text).split()).split(",")
    if database.server.flavour == "mariadb":
        return sum(int(part.rpartition("-")[2]) for part in parts)
    return sum(
        int(last or first) - int(first) + 1
        for part in parts
        for first, _, last in (piece.partition("-") for piece in part.split(":")[1:] if piece[:1].isdigit())
    )


def test_progress_tells_of_transactions_that_have_a_tag(server: HeadwaterServer, mysql: MysqlServer) -> None:
    database = Database(mysql)
    with following(server, database, TABLE) as here:
        here.create_table("t")
        here.follows("t")
        tag = database.name
        database.run(
            f"SET SESSION gtid_next = 'AUTOMATIC:{tag}'",
            "INSERT INTO t VALUES (1, 'tagged')",
            "INSERT INTO t VALUES (2, 'tagged')",
            "SET SESSION gtid_next = 'AUTOMATIC'",
        )
        here.follows("t")
        [(uuid,)] = database.run("SELECT @@server_uuid")
        told = f"SELECT source_id_lower::text, transaction_id::int8 FROM src WHERE tag = '{tag}'"
        assert eventually(lambda: here.rows(told)) == [(uuid, 3)]
        [(count,)] = here.rows(
            "SELECT count(*) FROM src WHERE tag IS NULL AND source_id_lower::text = '" + uuid + "'"
        )
        assert count == 1
    database.close()
