"""Partitions whose leaders go away: without one they wait, and one that lacks messages is noticed.

Method: three brokers, of which the first keeps the metadata and lives; each topic has its copies where the
test wants them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
from confluent_kafka.admin import NewTopic

from headwater.core.errors import TransientError
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.topic import Topic, describe, ends
from tests.support import kafka as brokers
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.several import Several

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@pytest.fixture(scope="module")
def three() -> Iterator[KafkaServer]:
    """An upstream of three brokers."""
    with brokers.running(brokers=3) as server:
        yield server


def made(here: Mirror, on: list[int]) -> str:
    """A topic of one partition with copies on these brokers; the first of them leads."""
    name = f"{here.schema}-{len(here.topics)}"
    topic = NewTopic(name, num_partitions=1, replica_assignment=[on], config=UNCLEAN)
    here.kafka.admin().create_topics([topic])[name].result(30)
    here.topics.append(name)
    eventually(lambda: here.kafka.leaders(name) == {0: on[0]})
    return name


def in_sync(kafka: KafkaServer, topic: str) -> list[int]:
    return sorted(kafka.admin().list_topics(topic, timeout=10).topics[topic].partitions[0].isrs)


def test_asking_for_what_a_broker_has_that_is_gone_takes_no_processor(three: KafkaServer) -> None:
    name = "asked"
    topic = NewTopic(name, num_partitions=2, replica_assignment=[[1], [2]])
    three.admin().create_topics([topic])[name].result(30)
    eventually(lambda: three.leaders(name) == {0: 1, 1: 2})
    admin = Admin({"brokers": [three.address()], "security_protocol": "PLAINTEXT"}, lambda id_: b"")
    found = describe(admin, [name])[name]
    assert isinstance(found, Topic)
    ends(admin, [found])
    three.kill(2)
    began_s, used_s = time.monotonic(), time.process_time()
    while time.monotonic() - began_s < 3.0:
        with suppress(TransientError):
            ends(admin, [found])
    assert time.process_time() - used_s < 0.2 * (time.monotonic() - began_s)
    three.resume(2)


def test_who_lacks_messages_that_were_read_is_noticed(server: HeadwaterServer, three: KafkaServer) -> None:
    here = Mirror(server, three)
    several = Several(here)
    copied, single, whole = made(here, [2, 3]), made(here, [2]), made(here, [1])
    several.named(copied, single, whole)
    here.source(copied, "one")
    several.table("tc", copied)
    several.table("ts", single)
    several.table("tw", whole)
    here.run("CREATE TABLE t1 FROM SOURCE one FORMAT TEXT")
    for topic in (copied, single, whole):
        several.produce(topic, [(None, b"0")] * 5)
    three.kill(3)
    eventually(lambda: in_sync(three, copied) == [2], within_s=60)
    several.produce(copied, [(None, b"1")] * 5)  # which 3 does not get
    here.wait(copied)
    three.kill(2)
    eventually(lambda: three.leaders(single) == {0: -1}, within_s=60)
    several.produce(whole, [(None, b"1")])
    assert several.texts("tw") == ["0"] * 5 + ["1"]
    eventually(lambda: here.status("s")[0] == "stalled", within_s=60)
    assert "could not be asked" in str(here.status("s")[1])
    assert several.texts("ts") == ["0"] * 5
    three.resume(3)
    eventually(lambda: three.leaders(copied) == {0: 3}, within_s=60)
    # It comes to as many as were read while another topic goes on, and then to more.
    three.produce(copied, [(None, b"2")] * 5)
    several.produce(whole, [(None, b"2")])
    three.produce(copied, [(None, b"2")] * 15)
    text = f'messages of partition 0 of topic "{copied}" that were read before offset 10 are there no more'

    def told(table: str) -> bool:
        found = here.status(table), here.status("s"), several.offsets(copied)
        assert text in str(found[0][1]), found
        return True

    for table in ("tc", "t1"):
        eventually(partial(told, table), within_s=60)
        assert text in here.refused(f"SELECT * FROM {table}")
    several.produce(whole, [(None, b"3")])
    assert several.texts("tw") == ["0"] * 5 + ["1", "2", "3"]
    # What there is now can be read as a whole.
    several.table("anew", copied)
    assert several.texts("anew") == ["0"] * 5 + ["2"] * 20
    three.resume(2)
    several.wait(single)
    several.produce(single, [(None, b"3")])
    assert several.texts("ts") == ["0"] * 5 + ["3"]
    eventually(lambda: here.status("s") == ("running", None), within_s=60)
    here.leave()
