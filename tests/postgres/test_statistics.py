"""Statistics of tables are what came from the upstream and what became of it.

Method: statements whose messages, rows and bytes are known run upstream; what mz_source_statistics says is
compared with that.
"""

from __future__ import annotations

from typing import Any

from tests.support.database import Database
from tests.support.faulty import check_failed
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer, eventually

ROWS, BYTES = 20, 10_000
UPSTREAM = (
    "CREATE TABLE long (id int PRIMARY KEY, note text)",
    f"INSERT INTO long SELECT g, repeat('x', {BYTES}) FROM generate_series(1, {ROWS}) AS g",
    "CREATE TABLE bag (n int)",
    "ALTER TABLE bag REPLICA IDENTITY FULL",
)
COUNTERS = ("messages_received", "bytes_received", "updates_staged", "updates_committed")
OFFSETS = ("offset_known", "offset_committed")


def statistics(here: Following, name: str) -> dict[str, Any]:
    names = ", ".join(f"s.{name}::int8" for name in (*COUNTERS, *OFFSETS))
    ((*values, latency, replica_id),) = here.rows(
        f"SELECT {names}, s.rehydration_latency, s.replica_id FROM mz_internal.mz_source_statistics s"
        " JOIN mz_objects o ON o.id = s.id JOIN mz_schemas c ON c.id = o.schema_id"
        f" WHERE o.name = '{name}' AND c.name = '{here.schema}'"
    )
    found = dict(zip((*COUNTERS, *OFFSETS), values, strict=True))
    return {**found, "latency": latency, "replica_id": replica_id}


def check_counts(here: Following, name: str, messages: int, updates: int) -> dict[str, Any]:
    """Wait until a table has had so many messages and rows; what else is said of it."""

    def reached() -> dict[str, Any]:
        found = statistics(here, name)
        assert [found[key] for key in COUNTERS if key != "bytes_received"] == [messages, updates, updates]
        return found

    return eventually(reached)


def test_statistics_are_what_happened(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *UPSTREAM) as here:
        for table in ("long", "bag"):
            here.create_table(table)
            here.follows(table)
        read = check_counts(here, "long", ROWS, ROWS)
        # Values that Parquet packs to nothing; and a little for lengths and numbers.
        assert ROWS * BYTES <= read["bytes_received"] <= ROWS * (BYTES + 100)
        here.create_table("copied", "long")
        here.follows("copied", "long")
        copied = check_counts(here, "copied", 0, ROWS)
        assert copied["bytes_received"] == 0, "it was copied here"
        database.run("INSERT INTO bag VALUES (1), (2), (3)", "UPDATE bag SET n = n + 10")
        here.follows("bag")
        bag = check_counts(here, "bag", 6, 9)
        assert 0 < bag["bytes_received"] < 6 * 100
        source = statistics(here, "src")
        assert source["messages_received"] == ROWS + 6
        assert source["bytes_received"] == read["bytes_received"] + bag["bytes_received"]
        for name in ("src", "long", "bag", "copied"):
            found = statistics(here, name)
            assert found["latency"] is not None
            assert found["replica_id"] == "u1"
            assert found["offset_known"] >= found["offset_committed"] > 0
        database.run("ALTER TABLE bag DROP COLUMN n", "INSERT INTO bag DEFAULT VALUES")
        check_failed(here, "bag", "incompatible schema change")
        database.run(f"INSERT INTO long VALUES ({ROWS + 1}, 'more')")
        here.follows("long")

        def ahead() -> bool:
            ended, going = statistics(here, "bag"), statistics(here, "long")
            assert going["offset_committed"] == statistics(here, "src")["offset_committed"]
            return bool(ended["offset_committed"] < going["offset_committed"])

        eventually(ahead)
