"""VERIFY TABLE on tables of messages: the topic is read again and compared; what it forgot is no difference.

Method: tables are compared as they are, after messages were removed or compacted away, and after their files
were changed behind their backs.
"""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from tests.support.mirror import Mirror
from tests.support.topics import Row

UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"
ROWS: list[Row] = [(b"%d" % (n % 50), None if n % 7 == 0 else b"%d" % n, n % 2) for n in range(300)]


def filled(here: Mirror, rows: list[Row] = ROWS, partitions: int = 2) -> str:
    topic = here.topic(partitions=partitions)
    here.kafka.produce(topic, rows[: len(rows) // 2])
    here.source(topic)
    here.run(
        f"CREATE TABLE t FROM SOURCE s {UPSERT}", "CREATE TABLE log FROM SOURCE s FORMAT TEXT INCLUDE OFFSET"
    )
    here.run("SELECT * FROM t", "SELECT * FROM log")
    here.produce(topic, rows[len(rows) // 2 :])
    return topic


def test_tables_are_what_their_messages_come_to(here: Mirror) -> None:
    topic = filled(here)
    here.run("CREATE TABLE raw FROM SOURCE s")
    for table, count in (("t", 300), ("log", 257), ("raw", 300)):
        ((result, key, row),) = here.rows(f"VERIFY TABLE {table}")
        assert (result, key) == ("equal", None)
        assert row.startswith(f"{count} messages as of ")
    here.produce(topic, [(b"1", b"new", 1), (b"2", None, 0)])
    assert here.rows("VERIFY TABLE t")[0][0] == "equal"


def test_flaws_are_compared_like_values(here: Mirror) -> None:
    topic = filled(here)
    here.produce(topic, [(b"1", b"\xff", 1), (b"\xff", b"x", 0), (None, b"x", 0)])
    assert here.rows("VERIFY TABLE t")[0][0] == "equal"


def test_rows_of_messages_that_are_gone_are_not_called_different(here: Mirror) -> None:
    topic = filled(here, [(b"%d" % n, b"%d" % n, 0) for n in range(20)], 1)
    here.kafka.delete_records(topic, {0: 5})
    why = "5 rows are of no message that can still be read: 5 messages were removed from the topic"
    for table in ("t", "log"):
        unknown, equal = here.rows(f"VERIFY TABLE {table}")
        assert unknown == ("unknown", None, why)
        assert equal[0] == "equal"
        assert equal[2].startswith("15 messages as of ")


def test_keys_that_moved_to_another_partition_are_not_called_different(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}", "SELECT * FROM t")
    here.produce(topic, [(b"a", b"old", 1), (b"b", b"1", 0), (b"c", b"1", 1)])
    here.produce(topic, [(b"a", b"new", 0), (b"c", b"1", 0)])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", "new"), ("b", "1"), ("c", "1")]
    unknown, equal = here.rows("VERIFY TABLE t")
    assert unknown[0] == "unknown"
    assert "2 rows differ whose keys have messages in several partitions" in unknown[2]
    assert equal[0] == "equal"


def verify_for(here: Mirror, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        here.rows("VERIFY TABLE log")


def test_a_comparison_can_be_cancelled(here: Mirror) -> None:
    filled(here, [(b"k", b"x" * 100)] * 200_000, 1)
    cancel = threading.Timer(0.3, here.session.cancel)
    cancel.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        verify_for(here, 60.0)
    assert here.rows("SELECT count(*) FROM log") == [(200_000,)]
