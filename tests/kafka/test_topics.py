"""What becomes of topics: they grow, are cut, go away, come back as others, and their brokers do.

Method: a topic of the test's own; what was readable before stays readable, and nothing that is gone is passed
over in silence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from headwater.core.errors import DefiniteError
from headwater.sources.kafka import reader as readers
from headwater.sources.kafka.frontier import Place, Places
from headwater.sources.kafka.reader import KafkaReader
from tests.support.kafka import PROXIED, KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.topics import Aborted

TEXT = "CREATE TABLE t FROM SOURCE s FORMAT TEXT"
OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"


@dataclass(frozen=True)
class Held:
    """A topic that a transaction holds back until somebody closes it."""

    here: Mirror
    topic: str
    transaction: ExitStack


@pytest.fixture(scope="module", autouse=True)
def held(server: HeadwaterServer, kafka: KafkaServer) -> Iterator[Held]:
    """Begun with the first test of this file: a minute passes until it is told."""
    here = Mirror(server, kafka)
    topic = here.topic(partitions=2)
    here.source(topic)
    here.run(TEXT)
    with ExitStack() as transaction:
        lasting = {"transaction.timeout.ms": 900_000}
        write = transaction.enter_context(kafka.transaction(config=lasting))
        write(topic, [(None, b"held", 1), (None, b"back", 1)])
        kafka.produce(topic, [(None, b"free", 0), (None, b"behind", 1)])
        yield Held(here, topic, transaction)
    here.leave()


def texts(here: Mirror, table: str = "t") -> list[str]:
    return sorted(text for (text,) in here.rows(f"SELECT text FROM {table}"))


def test_an_empty_topic_is_an_empty_table(here: Mirror) -> None:
    topic = here.topic(partitions=3)
    here.source(topic)
    here.run(TEXT)
    assert texts(here) == []
    assert here.offsets() == {0: 0, 1: 0, 2: 0}
    here.produce(topic, [(None, b"a")])
    assert texts(here) == ["a"]


def test_partitions_that_are_added_are_read(here: Mirror) -> None:
    topic = here.topic()
    here.kafka.produce(topic, [(None, b"0")])
    here.source(topic, options=OFTEN)
    here.run(TEXT)
    here.kafka.add_partitions(topic, 3)
    here.produce(topic, [(None, b"1", 1), (None, b"2", 2), (None, b"0", 0)])
    assert texts(here) == ["0", "0", "1", "2"]
    here.kafka.delete_records(topic, {2: 1})
    here.run("CREATE TABLE later FROM SOURCE s FORMAT TEXT INCLUDE PARTITION")
    assert texts(here, "later") == ["0", "0", "1"]
    here.produce(topic, [(None, b"3", 2)])
    assert texts(here) == ["0", "0", "1", "2", "3"]
    assert texts(here, "later") == ["0", "0", "1", "3"]


def test_only_what_is_committed_is_read(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    here.source(topic)
    here.run(TEXT)

    def settled() -> list[str]:
        here.settle(topic)
        here.wait(topic, within_s=15)
        return texts(here)

    with here.kafka.transaction() as write:
        write(topic, [(None, b"a", 0), (None, b"b", 1)])
    assert settled() == ["a", "b"]
    with here.kafka.transaction() as write:
        write(topic, [(None, b"never", 0), (None, b"never", 1)])
        here.wait(topic)
        assert texts(here) == ["a", "b"]
        raise Aborted
    assert settled() == ["a", "b"]
    for _ in range(3):
        with here.kafka.transaction() as write:
            write(topic, [(None, b"never", 0)])
            raise Aborted
        assert settled() == ["a", "b"]
    with here.kafka.transaction() as write:
        write(topic, [(None, b"c", 1)])
    assert settled() == ["a", "b", "c"]
    here.run("CREATE TABLE later FROM SOURCE s FORMAT TEXT INCLUDE OFFSET")
    assert texts(here, "later") == ["a", "b", "c"]


def test_compaction_leaves_gaps_that_are_passed(here: Mirror) -> None:
    topic = here.topic(
        config={
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "max.compaction.lag.ms": "100",
            "delete.retention.ms": "0",
        }
    )
    here.kafka.produce(topic, [(b"k%d" % (n % 3), b"%d" % n) for n in range(300)])
    here.source(topic)
    here.run("CREATE TABLE t FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT")
    here.produce(topic, [(b"k0", None), (b"k4", b"4")])
    rows = [("k1", "298"), ("k2", "299"), ("k4", "4")]
    assert sorted(here.rows("SELECT * FROM t")) == rows
    here.run("CREATE TABLE later FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT")
    assert sorted(here.rows("SELECT * FROM later")) == rows


def test_what_was_removed_before_it_was_read_is_told(here: Mirror) -> None:
    topic = here.topic()
    here.kafka.produce(topic, [(None, b"%d" % n) for n in range(10)])
    here.source(topic, options=", START OFFSET (2)")
    here.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT")
    assert len(texts(here)) == 8
    here.kafka.delete_records(topic, {0: 10})
    here.produce(topic, [(None, b"more")])
    assert len(texts(here)) == 9


def test_a_topic_that_was_deleted_is_told(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic, options=OFTEN)
    here.run(TEXT)
    here.produce(topic, [(None, b"a")])
    here.kafka.delete_topic(topic)
    here.topics.remove(topic)
    eventually(lambda: "topic was deleted" in str(here.status("s")[1]))
    assert "topic was deleted" in eventually(lambda: here.refused("SELECT * FROM t"))
    stopped = f'Table "materialize.{here.schema}.t" is stopped.'
    assert here.error("SELECT * FROM t").message_detail == stopped
    here.kafka.create_topic(topic)
    here.topics.append(topic)
    here.kafka.produce(topic, [(None, b"b")])
    said = here.refused("CREATE TABLE u FROM SOURCE s FORMAT TEXT")
    assert "topic was" in said
    assert "topic was deleted" in here.refused("SELECT * FROM t")


def test_an_end_that_stays_before_what_was_read_is_a_loss(
    kafka: KafkaServer, here: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once: a new leader may not know yet how far others have what it has."""
    topic = here.topic()
    kafka.produce(topic, [(None, b"a")] * 5)
    id_ = kafka.topic_id(topic)
    connection = {"brokers": [kafka.address()], "security_protocol": "PLAINTEXT"}
    known = {topic: {"id": id_, "start": [0]}}
    options = {"connection": connection, "topics": [topic], "pattern": None, "several": False, "known": known}
    stands = Places({topic: Place(id_, (7,))}, False)
    reader = KafkaReader(options, lambda _: b"", stands, None, lambda *_: False)
    assert reader.probe(0) == stands
    monkeypatch.setattr(readers, "KAFKA_BEHIND_S", 0.0)
    with pytest.raises(DefiniteError, match="it ends at 5, and was read to 7"):
        reader.probe(0)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_topic_that_was_made_again_is_another(here: Mirror, count: int) -> None:
    """Also if it has as many messages; that is seen when it is looked at for new partitions."""
    topic = here.topic()
    here.source(topic, options=OFTEN if count == 1 else "")
    here.run(TEXT)
    here.produce(topic, [(None, b"a")])
    assert texts(here) == ["a"]
    here.kafka.delete_topic(topic)
    here.kafka.create_topic(topic)
    here.kafka.produce(topic, [(None, b"new")] * count)
    eventually(lambda: "topic was " in str(here.status("s")[1]))
    assert "topic was " in eventually(lambda: here.refused("SELECT * FROM t"))


def test_a_source_begins_where_it_is_told(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    minute = 60_000
    now = time.time_ns() // 1_000_000
    for partition in (0, 1):
        here.kafka.produce(
            topic,
            [(None, b"%d-%d" % (partition, n), partition, None, now - (5 - n) * minute) for n in range(5)],
        )
    here.source(topic, "by_offset", options=", START OFFSET (3)")
    here.source(topic, "by_both", options=", START OFFSET (5, 4)")
    here.source(topic, "by_time", options=f", START TIMESTAMP {now - 2 * minute}")
    here.source(topic, "relative", options=f", START TIMESTAMP -{3 * minute + 30_000}")
    here.source(topic, "in_future", options=f", START TIMESTAMP {now + 60 * minute}")
    for source in ("by_offset", "by_both", "by_time", "relative", "in_future"):
        here.run(f"CREATE TABLE t_{source} FROM SOURCE {source} FORMAT TEXT")
    here.produce(topic, [(None, b"new", 1)])
    assert texts(here, "t_by_offset") == ["0-3", "0-4", "1-0", "1-1", "1-2", "1-3", "1-4", "new"]
    assert texts(here, "t_by_both") == ["1-4", "new"]
    assert texts(here, "t_by_time") == ["0-3", "0-4", "1-3", "1-4", "new"]
    assert texts(here, "t_relative") == ["0-2", "0-3", "0-4", "1-2", "1-3", "1-4", "new"]
    assert texts(here, "t_in_future") == ["new"]


def test_a_place_that_is_not_there_is_refused(here: Mirror) -> None:
    topic = here.topic()
    here.kafka.produce(topic, [(None, b"a")] * 10)
    here.kafka.delete_records(topic, {0: 5})

    def create(options: str, topic: str = topic) -> str:
        return here.refused(f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{topic}'{options})")

    assert create(", START OFFSET (4)") == (
        f"KAFKA source validation: Low watermark 5 of kafka topic {topic} partition 0 is past the start"
        " offset/resume upper: 4"
    )
    assert "START OFFSET has 2 offsets" in create(", START OFFSET (5, 0)")
    said: list[str] = []
    here.session.add_notice_handler(lambda diagnostic: said.append(str(diagnostic.message_primary)))
    here.source(topic, "later", options=", START OFFSET (12)")
    assert said == [f'START OFFSET 12 is past the end of partition 0 of topic "{topic}", 10']
    here.forget("later")
    assert create(", START OFFSET (-1)") == "START OFFSET must be a nonnegative integer"
    assert create(", START OFFSET (5), START TIMESTAMP 1") == (
        "cannot specify START TIMESTAMP and START OFFSET at same time"
    )
    assert create("", "no such topic") == "KAFKA source validation: Topic does not exist"
    assert create(", TOPIC METADATA REFRESH INTERVAL '2h'") == (
        "TOPIC METADATA REFRESH INTERVAL cannot be greater than 1 hour"
    )
    assert create(", TOPIC METADATA REFRESH INTERVAL '1ms'") == (
        "TOPIC METADATA REFRESH INTERVAL must be at least 1 second"
    )
    assert (
        here.refused("CREATE SOURCE s FROM KAFKA CONNECTION k (GROUP ID PREFIX 'x')")
        == "KAFKA CONNECTION without TOPIC"
    )
    # One that is still to come is waited for.
    here.source(topic, options=", START OFFSET (12)")
    here.run(TEXT)
    here.produce(topic, [(None, b"%d" % n) for n in range(10, 14)])
    assert texts(here) == ["12", "13"]


def test_a_large_message_is_read(here: Mirror) -> None:
    topic = here.topic(config={"max.message.bytes": str(12_000_000)})
    here.source(topic)
    here.run("CREATE TABLE t FROM SOURCE s FORMAT BYTES", "CREATE TABLE j FROM SOURCE s FORMAT JSON")
    value = json.dumps({"x": "y" * 10_000_000}).encode()
    here.kafka.produce(topic, [(None, value), (None, b"{}")], **{"message.max.bytes": 12_000_000})
    here.wait(topic)
    assert sorted(here.rows("SELECT length(data) FROM t")) == [(2,), (len(value),)]
    assert here.rows("SELECT count(*) FROM j WHERE length(data->>'x') = 10000000") == [(1,)]


def test_a_broker_that_is_out_of_reach_is_waited_for(here: Mirror, kafka: KafkaServer) -> None:
    topic = here.topic()
    here.run(
        f"CREATE CONNECTION far TO KAFKA (BROKER '{kafka.address(PROXIED)}', SECURITY PROTOCOL PLAINTEXT)"
    )
    here.source(topic, connection="far")
    here.run(TEXT)
    here.produce(topic, [(None, b"a")])
    assert texts(here) == ["a"]
    for proxy in kafka.proxies.values():
        proxy.cut()
    here.produce(topic, [(None, b"b")])
    try:
        for proxy in kafka.proxies.values():
            proxy.refuse()
        kafka.produce(topic, [(None, b"c")])
        eventually(lambda: here.status("s")[0] == "stalled", within_s=60)
        assert texts(here) == ["a", "b"]
    finally:
        for proxy in kafka.proxies.values():
            proxy.accept()
    here.wait(topic)
    assert texts(here) == ["a", "b", "c"]
    eventually(lambda: here.status("s") == ("running", None))


def test_a_partition_may_get_another_leader(server: HeadwaterServer, mortal_kafka: KafkaServer) -> None:
    here = Mirror(server, mortal_kafka)
    topic = here.topic(partitions=4, copies=2)
    here.source(topic)
    here.run(TEXT)
    here.produce(topic, [(None, b"a", partition) for partition in range(4)])
    assert texts(here) == ["a"] * 4
    # One that is to begin at what is still to come was nowhere yet: its place is lost by no change.
    here.source(topic, "later", options=", START OFFSET (2, 2, 2, 2)")
    here.run("CREATE TABLE t2 FROM SOURCE later FORMAT TEXT")
    assert texts(here, "t2") == []
    here.forget("later")
    assert 2 in mortal_kafka.leaders(topic).values()
    mortal_kafka.kill(2)
    eventually(lambda: set(mortal_kafka.leaders(topic).values()) == {1})
    here.produce(topic, [(None, b"b", partition) for partition in range(4)])
    assert texts(here) == ["a"] * 4 + ["b"] * 4
    mortal_kafka.restart()
    here.produce(topic, [(None, b"c", partition) for partition in range(4)])
    assert texts(here) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    eventually(lambda: texts(here, "t2") == ["c"] * 4)
    here.leave()


def test_a_transaction_that_nobody_ends_is_shown(held: Held) -> None:
    here, topic = held.here, held.topic
    text = f'kafka: a transaction holds back partition 1 of topic "{topic}" at offset 0: 3 offsets wait'
    eventually(lambda: str(here.status("s")[1]).startswith(text), within_s=100)
    assert here.status("s")[0] == "stalled"
    assert texts(here) == ["free"]
    held.transaction.close()
    here.settle(topic)
    here.wait(topic)
    assert texts(here) == ["back", "behind", "free", "held"]
    eventually(lambda: here.status("s") == ("running", None))


def test_a_message_is_sent_once_whichever_worker_reads_it(here: Mirror) -> None:
    """Several workers there are once several tables have been made; ticks go from one to the next."""
    topic, ticks, size = here.topic(partitions=2), 15, 200_000
    here.source(topic)
    here.produce(topic, [(None, b"first")])
    for name in ("a", "b", "c"):
        here.run(f"CREATE TABLE {name} FROM SOURCE s FORMAT BYTES INCLUDE OFFSET AS {name}", f"TABLE {name}")
    before = here.kafka.bytes_out(topic)
    for _ in range(ticks):
        here.produce(topic, [(None, b"x" * (size // 100), n % 2) for n in range(100)])
    # What a consumer is still asking for when it lets go is sent to it, too.
    assert here.kafka.bytes_out(topic) - before < 1.8 * ticks * size
