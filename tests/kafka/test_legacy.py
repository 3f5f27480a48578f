"""Legacy Kafka sources, whose rows are under their own names, and the migration from them.

Method: rows, columns and what is shown of them before and after a restart with the migration switched on.
"""

from __future__ import annotations

from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer

UPSERT = "KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE OFFSET ENVELOPE UPSERT"


def test_a_source_with_a_format_has_the_rows(here: Mirror) -> None:
    topic = here.topic()
    here.kafka.produce(topic, [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    here.source(topic, "old", clauses="FORMAT TEXT")
    here.source(topic, "last", clauses=UPSERT)
    assert sorted(here.rows("SELECT * FROM old")) == [("1",), ("2",), ("3",)]
    assert here.columns("last") == [
        ("key", False, "text"),
        ("data", False, "jsonb"),
        ("offset", False, "uint8"),
    ]
    here.produce(topic, [(b"b", None), (b"c", b"4")])
    assert sorted(here.rows("SELECT * FROM old")) == [("1",), ("2",), ("3",), ("4",)]
    found = here.rows('SELECT key, data::text, "offset"::int8 FROM last')
    assert sorted(found) == [("a", "3", 2), ("c", "4", 4)]
    assert here.offsets("old_progress") == {0: 5}
    # It takes tables as well.
    here.run("CREATE TABLE t FROM SOURCE old KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT")
    here.produce(topic, [(b"d", b"5")])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", "3"), ("c", "4"), ("d", "5")]
    assert here.refused("CREATE SOURCE no FROM KAFKA CONNECTION k (TOPIC 'no') FORMAT TEXT") == (
        "KAFKA source validation: Topic does not exist"
    )
    assert here.refused(
        f"CREATE SOURCE no FROM KAFKA CONNECTION k (TOPIC '{topic}') FORMAT TEXT FOR ALL TABLES"
    ) == ("FOR ALL TABLES is only valid for multi-output sources")
    assert here.refused("ALTER SOURCE old ADD SUBSOURCE x") == "source old does not support ALTER SOURCE."
    here.run("DROP TABLE t", "DROP SOURCE last")
    here.forget("last_progress")


def test_legacy_sources_become_tables_and_sources(mortal_server: HeadwaterServer, kafka: KafkaServer) -> None:
    here = Mirror(mortal_server, kafka)
    topic = here.topic(partitions=2)
    here.kafka.produce(topic, [(b"k%d" % (n % 10), b"%d" % n) for n in range(100)])
    here.source(topic, "old", clauses="FORMAT TEXT")
    here.source(topic, "last", clauses=UPSERT)
    here.source(topic, "new")
    here.run("CREATE TABLE t FROM SOURCE new FORMAT TEXT", "CREATE VIEW v AS SELECT count(*) FROM old")
    here.wait(topic)
    before = {
        table: sorted(here.rows(f"SELECT * FROM {table}"), key=str) for table in ("old", "last", "t", "v")
    }
    columns = here.columns("last")
    explained = here.rows("EXPLAIN MIGRATION")
    assert any("old_progress" in str(row) for row in explained)
    mortal_server.operate("ALTER SYSTEM SET force_source_table_syntax = on")
    out = kafka.bytes_out(topic)
    mortal_server.stop()
    mortal_server.start()
    here.enter()
    after = {table: sorted(here.rows(f"SELECT * FROM {table}"), key=str) for table in before}
    assert after == before
    assert here.columns("last") == columns
    assert {row[0] for row in here.rows("SHOW TABLES")} == {"old", "last", "t"}
    assert {row[0] for row in here.rows("SHOW SOURCES")} == {"old_progress", "last_progress", "new"}
    shown = here.rows("SHOW CREATE TABLE last")[0][1]
    full = f"materialize.{here.schema}"
    assert shown.startswith(
        f'CREATE TABLE {full}.last\nFROM SOURCE {full}.last_progress (REFERENCE = "{topic}")'
    )
    assert "KEY FORMAT TEXT\nVALUE FORMAT JSON\nINCLUDE OFFSET\nENVELOPE UPSERT" in shown
    assert "FORMAT" not in here.rows("SHOW CREATE SOURCE last_progress")[0][1]
    here.produce(topic, [(b"k1", b"1000"), (b"k2", None)])
    assert ("1000",) in here.rows("SELECT * FROM old")
    found = dict(here.rows("SELECT key, data::text FROM last"))
    assert found["k1"] == "1000"
    assert "k2" not in found
    assert here.rows("SELECT * FROM v") == [(101,)]
    assert kafka.bytes_out(topic) - out < 10_000
    mortal_server.operate("ALTER SYSTEM RESET force_source_table_syntax")
    here.leave()
