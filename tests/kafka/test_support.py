"""The upstreams that the tests of Kafka sources stand on do what real ones do.

Asked by the client that the product uses, and by urllib.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater.core.clock import unique_name
from tests.support.certificates import Authority
from tests.support.kafka import PLAIN, PROXIED, KafkaServer
from tests.support.registry import RegistryServer
from tests.support.server import eventually
from tests.support.topics import Aborted

RECORD = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]})


@pytest.fixture
def topic(kafka: KafkaServer) -> Iterator[str]:
    name = f"t{unique_name()[:12]}"
    kafka.create_topic(name)
    yield name
    kafka.delete_topic(name)


def read(server: KafkaServer, topic: str, count: int, guard: str = PLAIN, **config: Any) -> list[Message]:
    """So many messages from the begin of all partitions."""
    options = {"bootstrap.servers": server.address(guard), "group.id": unique_name(), **config}
    with closing(Consumer(options)) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in server.leaders(topic)])
        found: list[Message] = []

        def all_there() -> bool:
            for message in consumer.consume(count, 0.5):
                if message.error() is not None:
                    raise KafkaException(message.error())
                found.append(message)
            return len(found) >= count

        eventually(all_there)
    return found


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def test_what_is_produced_is_consumed(kafka: KafkaServer, topic: str) -> None:
    at_ms = 1_700_000_000_000
    kafka.produce(topic, [(b"k", b"v", 0, [("h", b"x"), ("h", None)], at_ms), (None, b""), (b"k", None)])
    first, second, third = read(kafka, topic, 3)
    assert (first.key(), first.value(), first.offset()) == (b"k", b"v", 0)
    assert (first.headers(), first.timestamp()[1]) == ([("h", b"x"), ("h", None)], at_ms)
    assert (second.key(), second.value(), third.value()) == (None, b"", None)
    assert kafka.end_offsets(topic) == {0: 3}


def test_an_aborted_transaction_is_invisible_to_read_committed(kafka: KafkaServer, topic: str) -> None:
    with kafka.transaction() as write:
        write(topic, [(None, b"aborted")])
        assert (kafka.end_offsets(topic), kafka.end_offsets(topic, committed=False)) == ({0: 0}, {0: 1})
        raise Aborted
    with kafka.transaction() as write:
        write(topic, [(None, b"committed")])
    assert values(read(kafka, topic, 1, **{"isolation.level": "read_committed"})) == [b"committed"]
    assert values(read(kafka, topic, 2, **{"isolation.level": "read_uncommitted"})) == [
        b"aborted",
        b"committed",
    ]
    # The ends of transactions have offsets of their own.
    assert kafka.end_offsets(topic) == {0: 4}


def test_a_topic_gets_more_partitions_and_loses_its_first_records(kafka: KafkaServer, topic: str) -> None:
    kafka.produce(topic, [(None, b"%d" % number) for number in range(5)])
    kafka.add_partitions(topic, 3)
    kafka.produce(topic, [(None, b"there", 2)])
    assert kafka.end_offsets(topic) == {0: 5, 1: 0, 2: 1}
    kafka.delete_records(topic, {0: 3})
    assert kafka.begin_offsets(topic) == {0: 3, 1: 0, 2: 0}


def test_a_topic_that_is_made_again_has_another_id(kafka: KafkaServer) -> None:
    name = f"t{unique_name()[:12]}"
    ids = set()
    for _ in range(2):
        kafka.create_topic(name)
        ids.add(kafka.topic_id(name))
        kafka.delete_topic(name)
        eventually(lambda: name not in kafka.admin().list_topics(timeout=5).topics)
    assert len(ids) == 2


def test_a_broker_counts_what_it_has_sent_of_a_topic(kafka: KafkaServer, topic: str) -> None:
    assert kafka.bytes_out(topic) == 0
    kafka.produce(topic, [(None, bytes(10_000))])
    read(kafka, topic, 1)
    eventually(lambda: 10_000 < kafka.bytes_out(topic) < 12_000)


@pytest.mark.parametrize("guard", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login_with_a_wrong_password_is_refused(kafka: KafkaServer, guard: str, mechanism: str) -> None:
    assert _seen(kafka, guard, mechanism, "let me in") is None
    assert _seen(kafka, guard, mechanism, "let me out") == KafkaError._AUTHENTICATION


def test_a_certificate_of_nobody_we_know_is_refused(kafka: KafkaServer, tmp_path: Path) -> None:
    assert _seen(kafka, "SSL", "PLAIN", "") is None
    other = Authority(tmp_path, "other").certificate
    assert _seen(kafka, "SSL", "PLAIN", "", other) == KafkaError._SSL


def _seen(
    server: KafkaServer, guard: str, mechanism: str, password: str, authority: str | None = None
) -> int | None:
    """Why a client could not enter; None if it could."""
    reasons: list[int] = []
    config: dict[str, Any] = {
        "bootstrap.servers": server.address(guard),
        "security.protocol": guard,
        "log_level": 0,
        "error_cb": lambda error: reasons.append(error.code()),
    }
    if guard.startswith("SASL"):
        config |= {"sasl.mechanism": mechanism, "sasl.username": "reader", "sasl.password": password}
    if guard.endswith("SSL"):
        config["ssl.ca.pem"] = authority or server.authority_certificate()
    admin = AdminClient(config)
    known = (KafkaError._AUTHENTICATION, KafkaError._SSL)

    def answered() -> bool:
        try:
            admin.list_topics(timeout=0.2)
            return True
        except KafkaException:
            admin.poll(0)
            return any(reason in known for reason in reasons)

    eventually(answered)
    return next((reason for reason in reasons if reason in known), None)


def test_a_reader_behind_the_proxy_goes_on_after_a_cut(kafka: KafkaServer, topic: str) -> None:
    kafka.produce(topic, [(None, b"before")])
    assert values(read(kafka, topic, 1, PROXIED)) == [b"before"]
    proxy = kafka.proxies[1]
    proxy.refuse()
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": kafka.address(PROXIED), "log_level": 0}).list_topics(timeout=0.5)
    proxy.accept()
    assert values(read(kafka, topic, 1, PROXIED)) == [b"before"]


def test_another_broker_leads_when_one_is_killed(mortal_kafka: KafkaServer) -> None:
    mortal_kafka.create_topic("led", partitions=2, copies=2)
    assert set(mortal_kafka.leaders("led").values()) == {1, 2}
    mortal_kafka.produce("led", [(None, b"kept", 0), (None, b"kept", 1)])
    mortal_kafka.kill(2)
    eventually(lambda: set(mortal_kafka.leaders("led").values()) == {1})
    assert values(read(mortal_kafka, "led", 2)) == [b"kept", b"kept"]
    mortal_kafka.resume()


def test_brokers_that_are_started_again_have_their_data(mortal_kafka: KafkaServer) -> None:
    mortal_kafka.create_topic("kept")
    mortal_kafka.produce("kept", [(None, b"kept")])
    identity, address = mortal_kafka.topic_id("kept"), mortal_kafka.address()
    mortal_kafka.restart()
    assert (mortal_kafka.topic_id("kept"), mortal_kafka.address()) == (identity, address)
    assert values(read(mortal_kafka, "kept", 1)) == [b"kept"]


def fetched(url: str, login: str | None = None, tls: ssl.SSLContext | None = None) -> Any:
    headers = {} if login is None else {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}
    with urlopen(Request(url, headers=headers), timeout=5, context=tls) as answer:
        return json.load(answer)


def test_a_schema_is_registered_and_read_back(registry: RegistryServer) -> None:
    number = registry.register_schema("a-value", RECORD)
    assert json.loads(fetched(f"{registry.url}/schemas/ids/{number}")["schema"]) == json.loads(RECORD)
    assert fetched(f"{registry.url}/subjects/a-value/versions/latest")["id"] == number
    with pytest.raises(HTTPError, match="404") as missing:
        fetched(f"{registry.url}/subjects/no-value/versions/latest")
    assert json.load(missing.value)["error_code"] == 40401


def test_a_schema_may_refer_to_another(registry: RegistryServer) -> None:
    registry.register_schema("b", 'syntax = "proto3"; package b; message B { int32 a = 1; }', "PROTOBUF")
    text = 'syntax = "proto3"; import "b.proto"; message C { b.B b = 1; }'
    number = registry.register_schema("c", text, "PROTOBUF", [("b.proto", "b", 1)])
    answer = fetched(f"{registry.url}/schemas/ids/{number}")
    assert answer["schemaType"] == "PROTOBUF"
    assert answer["references"] == [{"name": "b.proto", "subject": "b", "version": 1}]


def test_a_registry_is_slow_fails_and_refuses_when_it_is_told_to(registry: RegistryServer) -> None:
    registry.front.delay_s = 60
    with pytest.raises(TimeoutError):
        urlopen(f"{registry.url}/subjects", timeout=0.2)
    registry.front.delay_s = 0
    registry.front.status = 503
    with pytest.raises(HTTPError, match="503"):
        fetched(f"{registry.url}/subjects")
    registry.front.status = None
    registry.front.refuse()
    with pytest.raises(URLError, match="refused"):
        fetched(f"{registry.url}/subjects")
    registry.front.accept()
    assert isinstance(fetched(f"{registry.url}/subjects"), list)


def test_a_registry_may_want_a_login_and_have_a_certificate(registry: RegistryServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "registry")
    signed = authority.sign("localhost", names=("localhost",))
    url = f"{registry.another_front(login=('reader', 'let me in'), signed=signed).url}/subjects"
    trusting = ssl.create_default_context(cadata=authority.certificate)
    assert isinstance(fetched(url, "reader:let me in", trusting), list)
    with pytest.raises(HTTPError, match="401"):
        fetched(url, "reader:let me out", trusting)
    with pytest.raises(URLError, match="CERTIFICATE_VERIFY_FAILED"):
        fetched(url, "reader:let me in", ssl.create_default_context())
