"""How brokers and registries are reached: passwords, TLS, and what is said of those that cannot be.

Method: listeners of one broker with every kind of guard, and a registry behind a front that tests command.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.errors import TransientError
from headwater.persist.answers import StoredAnswers
from headwater.persist.local import LocalStore
from headwater.sources.kafka.registry import Registry
from tests.kafka.conftest import USERS
from tests.support.mirror import Mirror, avro, record
from tests.support.ports import free_port
from tests.support.registry import RegistryServer
from tests.support.server import eventually

REGISTRY = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
ANSWER_S_MAX = 15.0
(NAME, PASSWORD), *_ = USERS.items()


@pytest.fixture
def quick_front(registry: RegistryServer) -> Iterator[RegistryServer]:
    """The registry, whose front is as before in the end."""
    yield registry
    registry.front.delay_s = 0.0
    registry.front.status = None
    if registry.front._server is None:
        registry.front.accept()


def secrets(here: Mirror) -> None:
    authority = here.kafka.authority_certificate()
    here.run(
        f"CREATE SECRET password AS '{PASSWORD}'",
        "CREATE SECRET wrong AS 'nonsense'",
        f"CREATE SECRET ca AS '{authority}'",
    )


@pytest.mark.parametrize(
    ("guard", "options"),
    [
        ("SASL_PLAINTEXT", "SASL MECHANISMS 'PLAIN', {login}"),
        ("SASL_PLAINTEXT", "SASL MECHANISMS 'SCRAM-SHA-256', {login}"),
        ("SASL_SSL", "SASL MECHANISMS 'SCRAM-SHA-512', {login}, SSL CERTIFICATE AUTHORITY SECRET ca"),
        ("SSL", "SSL CERTIFICATE AUTHORITY SECRET ca"),
    ],
)
def test_guarded_brokers_let_us_in(here: Mirror, guard: str, options: str) -> None:
    secrets(here)
    login = f"SASL USERNAME '{NAME}', SASL PASSWORD SECRET password"
    here.run(
        f"CREATE CONNECTION g TO KAFKA (BROKER '{here.kafka.address(guard)}',"
        f" SECURITY PROTOCOL '{guard}', {options.format(login=login)})",
        "VALIDATE CONNECTION g",
    )
    topic = here.topic()
    here.source(topic, connection="g")
    here.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT")
    here.produce(topic, [(None, b"a")])
    assert here.rows("SELECT * FROM t") == [("a",)]


def within(here: Mirror, statement: str) -> str:
    """What is said, soon."""
    began = time.monotonic()
    text = here.refused(statement)
    assert time.monotonic() - began < ANSWER_S_MAX
    return text


def test_who_is_not_let_in_is_told_why(here: Mirror) -> None:
    secrets(here)
    create = "CREATE CONNECTION g TO KAFKA (BROKER '{}', SECURITY PROTOCOL {}{})"
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        options = f", SASL MECHANISMS '{mechanism}', SASL USERNAME 'reader', SASL PASSWORD SECRET wrong"
        address = here.kafka.address("SASL_PLAINTEXT")
        said = within(here, create.format(address, "SASL_PLAINTEXT", options))
        assert said.startswith("Meta data fetch error: ")
        assert "uthentication" in said
    said = within(here, create.format(here.kafka.address("SSL"), "SSL", ""))
    assert said.startswith("Meta data fetch error: ssl")
    plain = here.error(f"CREATE CONNECTION g TO KAFKA (BROKER '{here.kafka.address()}')")
    assert "SECURITY PROTOCOL" in str(plain.message_hint)
    said = within(here, create.format(f"127.0.0.1:{free_port()}", "PLAINTEXT", ""))
    assert said.startswith("Meta data fetch error: ")
    assert "refused" in said
    said = within(here, create.format("no-such-host.invalid:9092", "PLAINTEXT", ""))
    assert "resolve" in said
    assert here.rows("SHOW CONNECTIONS") == [("k", "kafka", "")]


def test_a_connection_is_tried_out_again(here: Mirror) -> None:
    address = f"127.0.0.1:{free_port()}"
    here.run(
        f"CREATE CONNECTION far TO KAFKA (BROKER '{address}', SECURITY PROTOCOL PLAINTEXT)"
        " WITH (VALIDATE = false)"
    )
    assert "refused" in within(here, "VALIDATE CONNECTION far")
    assert "refused" in within(here, "CREATE SOURCE s FROM KAFKA CONNECTION far (TOPIC 't')")
    here.run(f"ALTER CONNECTION far SET (BROKER '{here.kafka.address()}')", "VALIDATE CONNECTION far")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            "SECURITY PROTOCOL PLAINTEXT",
            "invalid CONNECTION: must set one of BROKER, BROKERS, or AWS PRIVATELINK",
        ),
        (
            "BROKER 'a:1', BROKERS ('b:1')",
            "invalid CONNECTION: can only set one of BROKER, BROKERS, or AWS PRIVATELINK",
        ),
        (
            "BROKER 'a:1,b:1'",
            "invalid CONNECTION: cannot specify multiple Kafka broker addresses in one string",
        ),
        ("BROKER 'a', SECURITY PROTOCOL 'MAGIC'", "invalid CONNECTION: unknown security protocol: MAGIC"),
        (
            "BROKER 'a', SECURITY PROTOCOL SASL_PLAINTEXT",
            "invalid CONNECTION: SASL MECHANISMS must be specified",
        ),
        (
            "BROKER 'a', SECURITY PROTOCOL PLAINTEXT, SASL USERNAME 'u'",
            "invalid CONNECTION: option SASL USERNAME not supported with this configuration",
        ),
        (
            "BROKER 'a', SSL KEY SECRET key",
            "invalid CONNECTION: SSL KEY must be specified with SSL CERTIFICATE",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(here: Mirror, options: str, text: str) -> None:
    here.run("CREATE SECRET key AS 'x'")
    assert here.refused(f"CREATE CONNECTION c TO KAFKA ({options})") == text


def test_a_registry_with_a_password(here: Mirror, registry: RegistryServer) -> None:
    front = registry.another_front(login=("who", "let me in"))
    create = "CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{}', USER 'who', PASSWORD SECRET {})"
    here.run("CREATE SECRET good AS 'let me in'", "CREATE SECRET bad AS 'x'")
    said = here.error(create.format(front.url, "bad"))
    assert str(said.message_primary).endswith("answered 401 Unauthorized")
    assert said.message_hint == "Look at USER and PASSWORD of the connection."
    here.run(create.format(front.url, "good"), "VALIDATE CONNECTION csr")
    topic = here.topic()
    registry.register_schema(f"{topic}-value", record("v", x="int"))
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY}")
    assert here.columns("t") == [("x", False, "integer")]
    said = here.error("CREATE CONNECTION no TO CONFLUENT SCHEMA REGISTRY (URL 'http://127.0.0.1:1')")
    assert "could not reach schema registry" in str(said.message_primary)
    for options, text in {
        "USER 'a'": "must specify URL",
        "URL 'http://a/b'": "URL must have an empty path",
    }.items():
        wrong = f"CREATE CONNECTION no TO CONFLUENT SCHEMA REGISTRY ({options})"
        assert here.refused(wrong) == f"invalid CONNECTION: {text}"


def two_versions(here: Mirror) -> tuple[str, str]:
    """Schemas that nobody has seen: those that are alike have one number, and are not asked for twice."""
    return record(here.schema, x="int"), record(here.schema, x="int", y={"type": "string", "default": "none"})


def test_a_table_stays_at_its_schema_and_another_takes_the_new_one(
    here: Mirror, registry: RegistryServer
) -> None:
    v1, v2 = two_versions(here)
    topic = here.topic()
    first = registry.register_schema(f"{topic}-value", v1)
    here.registry(registry)
    here.source(topic)
    create = f"CREATE TABLE {{}} FROM SOURCE s FORMAT AVRO {REGISTRY}"
    here.run(create.format("t"))
    here.produce(topic, [(None, avro(first, v1, {"x": 1}))])
    second = registry.register_schema(f"{topic}-value", v2)
    here.produce(topic, [(None, avro(second, v2, {"x": 2, "y": "two"})), (None, avro(first, v1, {"x": 3}))])
    assert sorted(here.rows("SELECT * FROM t")) == [(1,), (2,), (3,)]
    here.run(create.format("t_new"))
    assert sorted(here.rows("SELECT * FROM t_new")) == [(1, "none"), (2, "two"), (3, "none")]
    here.run("ALTER TABLE t SWAP WITH t_new")
    here.produce(topic, [(None, avro(second, v2, {"x": 4, "y": "four"}))])
    assert (4, "four") in here.rows("SELECT * FROM t")
    assert (4,) in here.rows("SELECT * FROM t_new")
    here.run("DROP TABLE t_new")
    assert len(here.rows("SELECT * FROM t")) == 4


def test_a_registry_is_not_missed_while_no_new_schema_comes(
    here: Mirror, quick_front: RegistryServer
) -> None:
    registry = quick_front
    v1, v2 = two_versions(here)
    topic = here.topic()
    first = registry.register_schema(f"{topic}-value", v1)
    here.registry(registry)
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY}", "CREATE TABLE raw FROM SOURCE s")
    here.produce(topic, [(None, avro(first, v1, {"x": 1}))])
    assert here.rows("SELECT * FROM t") == [(1,)]
    second = registry.register_schema(f"{topic}-value", v2)
    registry.front.refuse()
    here.produce(topic, [(None, avro(first, v1, {"x": 2}))])
    assert sorted(here.rows("SELECT * FROM t")) == [(1,), (2,)]
    said = here.refused(f"CREATE TABLE u FROM SOURCE s FORMAT AVRO {REGISTRY}")
    assert "could not reach schema registry" in said
    here.kafka.produce(topic, [(None, avro(second, v2, {"x": 3, "y": ""}))])
    eventually(lambda: "could not reach schema registry" in str(here.status("s")[1]))
    registry.front.accept()
    here.wait(topic)
    assert sorted(here.rows("SELECT * FROM t")) == [(1,), (2,), (3,)]
    assert here.rows("SELECT count(*) FROM raw") == [(3,)]


def test_what_a_source_was_told_it_does_not_ask_again(quick_front: RegistryServer, tmp_path: Path) -> None:
    """Also of schemas to which the schema of a message refers."""
    registry = quick_front
    registry.register_schema("place-value", record("place", city="string"))
    text = record("visit", at="place")
    number = registry.register_schema("visit-value", text, references=[("place", "place-value", 1)])

    def told(source: str) -> tuple[str, list[str]]:
        answers = StoredAnswers(LocalStore(tmp_path), source)
        asked = Registry({"url": registry.url}, lambda _: b"", answers)
        schema = asked.by_id(number)
        return schema.text, [one.text for one in asked.referred(schema).values()]

    first = told("u1")
    registry.front.refuse()
    assert told("u1") == first
    with pytest.raises(TransientError, match="could not reach"):
        told("u2")


def test_a_slow_registry_does_not_hold_other_sources_up(here: Mirror, quick_front: RegistryServer) -> None:
    registry = quick_front
    v1, v2 = two_versions(here)
    slow, quick = here.topic(), here.topic()
    first = registry.register_schema(f"{slow}-value", v1)
    here.registry(registry)
    here.source(slow)
    here.source(quick, "q")
    here.run(
        f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY}", "CREATE TABLE u FROM SOURCE q FORMAT TEXT"
    )
    here.produce(slow, [(None, avro(first, v1, {"x": 1}))])
    registry.front.delay_s = 4.0
    second = registry.register_schema(f"{slow}-value", v2)
    here.kafka.produce(slow, [(None, avro(second, v2, {"x": 2, "y": ""}))])
    began = time.monotonic()
    here.produce(quick, [(None, b"a")])
    assert here.rows("SELECT * FROM u") == [("a",)]
    assert time.monotonic() - began < 3.5
    here.wait(slow)
    assert sorted(here.rows("SELECT * FROM t")) == [(1,), (2,)]
