"""A table whose rows another one has already is made from that one: the broker is not asked.

Method: what the broker has sent of the topic is read from its metrics; a table that has to be fetched shows
how much that is.
"""

from __future__ import annotations

from tests.support.mirror import Mirror
from tests.support.topics import Row

BLOCK = b"x" * 1000
ROWS: list[Row] = [(b"%d" % (n % 100), b"%d " % n + BLOCK) for n in range(500)]
FETCHED_BYTES = 500_000


def sent(here: Mirror, topic: str, name: str, clauses: str, columns: str = "") -> int:
    """What the broker sends until a new table can be read."""
    before = here.kafka.bytes_out(topic)
    here.run(f"CREATE TABLE {name} {columns} FROM SOURCE s {clauses}", f"SELECT * FROM {name} LIMIT 1")
    return here.kafka.bytes_out(topic) - before


def filled(here: Mirror) -> str:
    topic = here.topic(partitions=2)
    here.kafka.produce(topic, ROWS)
    here.source(topic)
    here.wait(topic)
    return topic


def test_columns_that_a_table_has_are_not_fetched_again(here: Mirror) -> None:
    topic = filled(here)
    whole = "KEY FORMAT TEXT VALUE FORMAT TEXT INCLUDE KEY, PARTITION, OFFSET"
    assert sent(here, topic, "t", whole) > FETCHED_BYTES
    assert sent(here, topic, "u", "FORMAT TEXT INCLUDE OFFSET", "(line, place)") == 0
    assert sent(here, topic, "v", whole) == 0
    assert here.rows('SELECT line, place FROM u EXCEPT ALL SELECT text, "offset" FROM t') == []
    here.produce(topic, [(b"new", b"new")])
    for table in ("t", "u", "v"):
        assert here.rows(f"SELECT count(*) FROM {table}") == [(501,)]
    # What is not there, or was decoded otherwise, is fetched.
    assert sent(here, topic, "w", "FORMAT TEXT INCLUDE TIMESTAMP") > FETCHED_BYTES
    assert sent(here, topic, "x", "FORMAT BYTES") > FETCHED_BYTES


def test_errors_that_belong_to_the_rows_come_along(here: Mirror) -> None:
    topic = filled(here)
    upsert = "KEY FORMAT TEXT VALUE FORMAT TEXT INCLUDE {} ENVELOPE UPSERT"
    here.run(f"CREATE TABLE t FROM SOURCE s {upsert.format('OFFSET')}")
    bad: list[Row] = [(b"1", b"\xff"), (b"\xfe", b"x"), (b"\xfd", b"x"), (None, b"x")]
    here.produce(topic, [(key, value, 0) for key, value in bad])
    before = here.refused("SELECT * FROM t")
    bytes_before = here.kafka.bytes_out(topic)
    here.run("CREATE TABLE u FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT")
    assert here.refused("SELECT * FROM u").replace(".u", ".t") == before
    assert here.kafka.bytes_out(topic) == bytes_before
    for key, value in [(b"1", b"good"), (b"\xfe", None), (None, None)]:
        here.produce(topic, [(key, value, 0)])
        for table in "tu":
            assert "Envelope error: Upsert: " in here.refused(f"SELECT * FROM {table}")
    here.produce(topic, [(b"\xfd", None, 0)])
    assert here.rows("SELECT count(*) FROM t") == [(100,)]
    assert here.rows("SELECT key, text FROM u EXCEPT SELECT key, text FROM t") == []
    assert here.rows("SELECT text FROM u WHERE key = '1'") == [("good",)]


def test_an_error_that_is_one_tables_own_does_not_come_along(here: Mirror) -> None:
    topic = filled(here)
    here.run(
        "CREATE TABLE t FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT"
        " INCLUDE HEADER 'h' AS h ENVELOPE UPSERT"
    )
    assert "was not found in the message headers" in here.refused("SELECT * FROM t")
    plain = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"
    assert sent(here, topic, "u", plain) > FETCHED_BYTES
    assert here.rows("SELECT count(*) FROM u") == [(100,)]
