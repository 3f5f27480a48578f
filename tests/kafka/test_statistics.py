"""Statistics of sources and tables of a topic are what was produced and what became of it.

Method: messages whose keys and values are counted here go to a topic; what mz_source_statistics says of
snapshots, of ticks and after a death is compared with them.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.topics import Aborted, Row

NAMES = (
    *("messages_received", "bytes_received", "updates_staged", "updates_committed"),
    *("records_indexed", "bytes_indexed", "snapshot_records_known", "snapshot_records_staged"),
    *("offset_known", "offset_committed"),
)
UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"


def statistics(here: Mirror, name: str) -> dict[str, Any]:
    listed = ", ".join(f"s.{name}::int8" for name in NAMES)
    ((*values, latency, committed),) = here.rows(
        f"SELECT {listed}, s.rehydration_latency, s.snapshot_committed"
        " FROM mz_internal.mz_source_statistics s JOIN mz_objects o ON o.id = s.id"
        f" JOIN mz_schemas m ON m.id = o.schema_id WHERE m.name = '{here.schema}' AND o.name = '{name}'"
    )
    return {**dict(zip(NAMES, values, strict=True)), "latency": latency, "committed": committed}


def check(here: Mirror, name: str, **wanted: Any) -> dict[str, Any]:
    """Wait until this is said; all that is."""

    def said() -> dict[str, Any]:
        found = statistics(here, name)
        assert {key: found[key] for key in wanted} == wanted, (name, found)
        return found

    return eventually(said)


def size(rows: list[Row]) -> int:
    """Of keys and values."""
    return sum(len(part) for row in rows for part in row[:2] if part is not None)


@pytest.fixture
def surviving(mortal_server: HeadwaterServer, kafka: KafkaServer) -> Mirror:
    return Mirror(mortal_server, kafka)


def test_statistics_are_what_happened(surviving: Mirror) -> None:
    here = surviving
    topic = here.topic(partitions=2)
    before: list[Row] = [(b"k%d" % (n % 10), b"value %d" % n, n % 2) for n in range(100)]
    before += [(b"k1", None, 1), (None, b"no key", 0)]
    here.kafka.produce(topic, before)
    here.source(topic)
    here.run(
        "CREATE TABLE whole FROM SOURCE s",
        "CREATE TABLE log FROM SOURCE s FORMAT TEXT",
        f"CREATE TABLE newest FROM SOURCE s {UPSERT}",
    )
    received = {"messages_received": 102, "bytes_received": size(before)}
    read = {**received, "snapshot_records_known": 102, "snapshot_records_staged": 102, "committed": True}
    check(
        here, "whole", **read, updates_staged=102, updates_committed=102, records_indexed=0, bytes_indexed=0
    )
    check(here, "log", **read, updates_staged=101, updates_committed=101)
    # Nine keys that have a value, and the one that is null.
    found = check(here, "newest", **read, updates_staged=10, updates_committed=10, records_indexed=10)
    assert found["bytes_indexed"] > 0
    after: list[Row] = [(b"new%d" % n, b"x" * n, n % 2) for n in range(20)] + [(b"k2", None, 0)]
    here.produce(topic, after)
    total = {"messages_received": 123, "bytes_received": size(before + after)}
    offsets = {"offset_known": 123, "offset_committed": 123}
    check(here, "whole", **total, **offsets, updates_staged=123, updates_committed=123)
    check(here, "log", **total, **offsets, updates_staged=121, updates_committed=121)
    check(here, "newest", **total, **offsets, updates_staged=31, updates_committed=31)
    source = check(here, "s", messages_received=369, bytes_received=3 * size(before + after), **offsets)
    assert source["updates_committed"] == 123 + 121 + 31
    assert source["records_indexed"] == 10
    assert source["snapshot_records_known"] == 306
    for name in ("s", "whole", "log", "newest"):
        assert statistics(here, name)["latency"] is not None
    # After a death nothing is read again, and nothing is counted again.
    here.server.kill_cluster()
    more: list[Row] = [(b"k3", b"after", 1)]
    here.produce(topic, more)
    total = {"messages_received": 124, "bytes_received": size(before + after + more)}
    found = check(here, "newest", **total, updates_staged=32, updates_committed=32, records_indexed=10)
    assert found["committed"]
    eventually(lambda: statistics(here, "newest")["latency"] is not None)
    here.leave()


def test_a_snapshot_is_told_in_offsets_also_where_there_is_no_message(here: Mirror) -> None:
    topic = here.topic()
    rows: list[Row] = [(b"k", b"value")] * 10
    here.kafka.produce(topic, rows)
    for _ in range(2):
        with here.kafka.transaction() as write:
            write(topic, [(b"k", b"never")] * 5)
            raise Aborted
    here.settle(topic)
    (end,) = here.kafka.end_offsets(topic).values()
    assert end == 22, "a control record after each transaction"
    here.source(topic)
    here.run("CREATE TABLE whole FROM SOURCE s", f"CREATE TABLE newest FROM SOURCE s {UPSERT}")
    for table, updates in (("whole", 10), ("newest", 1)):
        check(
            here,
            table,
            snapshot_records_known=end,
            snapshot_records_staged=end,
            messages_received=10,
            bytes_received=size(rows),
            updates_committed=updates,
            offset_committed=end,
        )


def test_a_table_that_has_ended_stays_behind(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run("CREATE TABLE log FROM SOURCE s FORMAT JSON", "CREATE TABLE whole FROM SOURCE s")
    here.produce(topic, [(None, b"1")])
    check(here, "log", offset_committed=1)
    here.produce(topic, [(None, b"{")])
    here.produce(topic, [(None, b"2")])
    check(here, "whole", offset_known=3, offset_committed=3)
    check(here, "log", offset_known=3, offset_committed=1, updates_committed=1)


def test_keys_are_counted_when_changes_are_folded(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run(f"CREATE TABLE newest FROM SOURCE s {UPSERT}")
    check(here, "newest", records_indexed=0, messages_received=0)
    here.produce(topic, [(b"k%d" % n, b"v") for n in range(500)])
    for number in range(60):
        here.produce(topic, [(b"k%d" % number, None)])
    eventually(lambda: statistics(here, "newest")["records_indexed"] >= 440, within_s=60)
    ((there,),) = here.rows("SELECT count(*) FROM newest")
    assert there == 440
    assert 440 <= statistics(here, "newest")["records_indexed"] <= 500
