"""What stands still says why and what to do, in statuses, histories and metrics; what cannot go on, too.

Method: a broker of its own that knows users and what they may, and that is killed, changed and started again.
A source that has nothing to do with it goes on all the time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.kafka.conftest import USERS
from tests.support.kafka import REQUEST_S_MAX, KafkaServer
from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer, eventually

((USER, PASSWORD),) = USERS.items()
GUARD = "SASL_PLAINTEXT"
NOTICE_S_MAX = 120.0
STATEMENT_S_MAX = 20.0
GONE_S = 60.0
OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"


@pytest.fixture
def there(server: HeadwaterServer, guarded: KafkaServer) -> Iterator[Mirror]:
    """A source `beside` goes on whatever happens to the broker."""
    made = Mirror(server, guarded)
    made.run(
        "CREATE SOURCE beside FROM LOAD GENERATOR COUNTER (TICK INTERVAL '100ms')",
        "CREATE TABLE counter FROM SOURCE beside (REFERENCE counter)",
    )
    yield made
    guarded.resume()
    made.leave()


def told(here: Mirror, name: str) -> tuple[str, str | None, list[str]]:
    """Status, error and hints of a source or table."""
    ((word, error, details),) = here.rows(
        "SELECT s.status, s.error, s.details FROM mz_internal.mz_source_statuses s"
        " JOIN mz_objects o ON o.id = s.id JOIN mz_schemas m ON m.id = o.schema_id"
        f" WHERE m.name = '{here.schema}' AND o.name = '{name}'"
    )
    return word, error, (details or {}).get("hints", [])


def check_told(here: Mirror, name: str, word: str, error: str, hint: str) -> None:
    """Wait until this is said."""

    def said() -> bool:
        found = told(here, name)
        assert found[0] == word, found
        assert str(found[1]).startswith("kafka: "), found
        assert error in str(found[1]), found
        assert any(hint in one for one in found[2]), found
        return True

    eventually(said, within_s=NOTICE_S_MAX)


def check_running(here: Mirror, *names: str) -> None:
    for name in names:
        eventually(lambda name=name: told(here, name) == ("running", None, []), within_s=NOTICE_S_MAX)  # type: ignore[misc]


def check_beside(here: Mirror) -> None:
    """The other source goes on."""
    (before,) = here.rows("SELECT count(*) FROM counter")
    eventually(lambda: here.rows("SELECT count(*) FROM counter") > [before])


def history(here: Mirror, name: str) -> list[tuple[str, str | None]]:
    """What has been said of a table or source, in its order."""
    return [
        (row[0], row[1])
        for row in here.rows(
            "SELECT h.status, h.error FROM mz_internal.mz_source_status_history h"
            " JOIN mz_objects o ON o.id = h.source_id JOIN mz_schemas m ON m.id = o.schema_id"
            f" WHERE m.name = '{here.schema}' AND o.name = '{name}' ORDER BY h.occurred_at"
        )
    ]


def metrics(here: Mirror, name: str, *facts: str) -> list[float]:
    """Values of the samples of something of the test's schema."""
    with urlopen(f"http://127.0.0.1:{here.server.http_port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    ((id_,),) = here.rows(
        "SELECT o.id FROM mz_objects o JOIN mz_schemas m ON m.id = o.schema_id"
        f" WHERE m.name = '{here.schema}' AND o.name = '{name}'"
    )
    wanted = (f'id="{id_}"', f'.{here.schema}.{name}"', *facts)
    return [float(line.rpartition(" ")[2]) for line in lines if all(fact in line for fact in wanted)]


def granted(kafka: KafkaServer, topic: str, *operations: AclOperation) -> None:
    """Just these are the user's on the topic."""
    admin = kafka.admin()

    def rule(made: Any, operation: AclOperation, permission: AclPermissionType) -> Any:
        literal = ResourcePatternType.LITERAL
        return made(ResourceType.TOPIC, topic, literal, f"User:{USER}", "*", operation, permission)

    every = rule(AclBindingFilter, AclOperation.ANY, AclPermissionType.ANY)
    for done in admin.delete_acls([every]).values():
        done.result(REQUEST_S_MAX)
    made = [rule(AclBinding, operation, AclPermissionType.ALLOW) for operation in operations]
    for done in admin.create_acls(made).values() if made else ():
        done.result(REQUEST_S_MAX)


def let_in(there: Mirror) -> None:
    """A connection `safe` with the user's password."""
    there.run(
        f"CREATE SECRET word AS '{PASSWORD}'",
        f"CREATE CONNECTION safe TO KAFKA (BROKER '{there.kafka.address(GUARD)}',"
        f" SECURITY PROTOCOL '{GUARD}', SASL MECHANISMS 'SCRAM-SHA-256', SASL USERNAME '{USER}',"
        " SASL PASSWORD SECRET word)",
    )


@pytest.mark.timeout(600)
def test_a_broker_that_is_gone_for_a_minute_is_waited_for(there: Mirror) -> None:
    topic = there.topic(partitions=2)
    there.source(topic)
    there.run(
        "CREATE TABLE t FROM SOURCE s FORMAT TEXT",
        "CREATE TABLE brief FROM SOURCE s",
        "CREATE TABLE keyed FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT",
    )
    there.produce(topic, [(b"k%d" % (n % 7), b"%d" % n, n % 2) for n in range(100)])
    ((ts,),) = there.rows("SELECT mz_now()::text::int8 FROM t LIMIT 1")
    there.rows("SELECT * FROM keyed")  # VERIFY wants a table that can be read
    there.kafka.produce(topic, [(b"k1", b"written at the end", 0)])
    there.kafka.kill()
    began_s = time.monotonic()
    address = there.kafka.address()
    for name in ("s", "t", "keyed"):
        check_told(there, name, "stalled", f'at "{address}"', "See to it that the broker runs")
    check_beside(there)
    assert there.rows(f"SELECT count(*) FROM t AS OF {ts}") == [(100,)]
    asked_s = time.monotonic()
    there.run("CREATE TABLE late FROM SOURCE s FORMAT BYTES", "DROP TABLE late", "DROP TABLE brief")
    assert time.monotonic() - asked_s < STATEMENT_S_MAX
    said = there.error("VERIFY TABLE keyed")
    assert f'at "{address}"' in str(said.message_primary)
    assert "See to it that the broker runs" in str(said.message_hint)
    (behind_s,) = metrics(there, "t", "headwater_lag_seconds")
    assert metrics(there, "t", "headwater_status", 'status="stalled"') == [1.0]
    eventually(lambda: time.monotonic() > began_s + GONE_S, within_s=GONE_S + 10)
    assert told(there, "s")[0] == "stalled"
    assert metrics(there, "t", "headwater_lag_seconds")[0] > behind_s
    check_beside(there)
    there.kafka.resume()
    there.produce(topic, [(b"k2", b"written later", 1)])
    check_running(there, "s", "t", "keyed")
    assert there.rows("SELECT count(*) FROM t") == [(102,)]
    newest = dict(there.rows("SELECT * FROM keyed"))
    assert (newest["k1"], newest["k2"]) == ("written at the end", "written later")
    assert len(newest) == 7
    words = [word for word, _ in history(there, "t")]
    assert "stalled" in words
    assert words[-1] == "running"
    assert metrics(there, "t", "headwater_status", 'status="running"') == [1.0]


def test_a_broker_that_restarts_is_followed_on(there: Mirror) -> None:
    topic = there.topic(partitions=3)
    there.source(topic)
    there.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT INCLUDE PARTITION, OFFSET")
    for number in range(2):
        there.produce(topic, [(None, b"%d" % number, partition) for partition in range(3)])
        there.kafka.restart()
    there.produce(topic, [(None, b"2", partition) for partition in range(3)])
    rows = [(str(number), partition, number) for number in range(3) for partition in range(3)]
    assert sorted(there.rows('SELECT text, partition, "offset"::int8 FROM t')) == rows


@pytest.mark.timeout(300)
def test_a_password_that_is_changed_is_waited_for(there: Mirror) -> None:
    topic = there.topic()
    granted(there.kafka, topic, AclOperation.READ, AclOperation.DESCRIBE)
    let_in(there)
    there.source(topic, connection="safe")
    there.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT")
    there.produce(topic, [(None, b"a")])

    def at_broker(password: bytes) -> None:
        login = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        wanted: list[Any] = [UserScramCredentialUpsertion(USER, login, password)]
        for done in there.kafka.admin().alter_user_scram_credentials(wanted).values():
            done.result(REQUEST_S_MAX)

    try:
        at_broker(b"another")
        there.kafka.restart()  # whoever is in stays in
        there.kafka.produce(topic, [(None, b"b")])
        for name in ("s", "t"):
            check_told(there, name, "stalled", "authentication", "ALTER CONNECTION")
        check_beside(there)
        there.run("ALTER SECRET word AS 'another'")
        check_running(there, "s", "t")
        there.wait(topic)
        assert sorted(there.rows("SELECT text FROM t")) == [("a",), ("b",)]
    finally:
        at_broker(PASSWORD.encode())


@pytest.mark.timeout(300)
def test_a_topic_that_may_not_be_read_any_more_is_no_deleted_one(there: Mirror) -> None:
    topic = there.topic()
    granted(there.kafka, topic, AclOperation.READ, AclOperation.DESCRIBE)
    let_in(there)
    there.source(topic, connection="safe", options=OFTEN)
    there.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT")
    there.produce(topic, [(None, b"a")])
    for number, operations in enumerate([(AclOperation.DESCRIBE,), ()]):
        granted(there.kafka, topic, *operations)
        there.kafka.produce(topic, [(None, b"%d" % number)])
        for name in ("s", "t"):
            check_told(there, name, "stalled", "topic authorization failed", "Grant READ and DESCRIBE")
        check_beside(there)
        granted(there.kafka, topic, AclOperation.READ, AclOperation.DESCRIBE)
        there.wait(topic, within_s=NOTICE_S_MAX)
        check_running(there, "s", "t")
    assert sorted(there.rows("SELECT text FROM t")) == [("0",), ("1",), ("a",)]


def test_a_registry_that_is_needed_and_gone_is_waited_for(there: Mirror, registry: RegistryServer) -> None:
    first, second = record("r", x="int"), record("r", x="int", y={"type": "string", "default": ""})
    topic = there.topic()
    id_ = registry.register_schema(f"{topic}-value", first)
    there.registry(registry)
    there.source(topic)
    clauses = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
    there.run(f"CREATE TABLE t FROM SOURCE s {clauses}")
    there.produce(topic, [(None, avro(id_, first, {"x": 1}))])
    newer = registry.register_schema(f"{topic}-value", second)
    registry.front.refuse()
    try:
        there.kafka.produce(topic, [(None, avro(newer, second, {"x": 2, "y": ""}))])
        for name in ("s", "t"):
            check_told(there, name, "stalled", "could not reach schema registry", "that the registry runs")
        check_beside(there)
    finally:
        registry.front.accept()
    there.wait(topic)
    check_running(there, "s", "t")
    assert sorted(there.rows("SELECT * FROM t")) == [(1,), (2,)]


def test_what_cannot_go_on_says_so_for_ever(there: Mirror) -> None:
    topic = there.topic()
    there.source(topic, options=OFTEN)
    there.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT", "CREATE TABLE bad FROM SOURCE s FORMAT JSON")
    there.produce(topic, [(None, b"{")])
    check_told(there, "bad", "failed", "Decode error: ", "ENVELOPE UPSERT")
    check_running(there, "s", "t")
    there.kafka.delete_topic(topic)
    there.topics.remove(topic)
    for name in ("s", "t"):
        check_told(there, name, "failed", "topic was deleted", "RESYNC begins anew")
    check_told(there, "bad", "failed", "Decode error: ", "ENVELOPE UPSERT")
    check_beside(there)
    for name, error in (("s", "topic was deleted"), ("t", "topic was deleted"), ("bad", "Decode error: ")):
        told_of = history(there, name)
        words = [word for word, _ in told_of]
        assert words[0] == "starting"
        assert name == "bad" or "running" in words, "it may have been bad from the beginning"
        assert words.index("failed") == len(words) - 1, "nothing comes after it"
        assert str(told_of[-1][1]).startswith(f"kafka: {error}")
    for name in ("s", "t", "bad"):
        assert metrics(there, name, "headwater_status", 'status="failed"') == [1.0]
