"""A death at any step of ADD COLUMN or RESYNC leaves a table of messages as it was, or as it is to be.

Method: a server in which a file arms a failpoint; rows are compared with what the topic holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.dying import DyingServer
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import eventually

DIE_S_MAX = 120.0
UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"
OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"


@pytest.fixture
def there(mortal_server: DyingServer, kafka: KafkaServer) -> Iterator[Mirror]:
    made = Mirror(mortal_server, kafka)
    yield made
    made.leave()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        "ingestion.after_join",
        "backfill.before_chunk",
        "backfill.before_version",
        "backfill.before_hydrate",
        "backfill.after_hydrate",
    ],
)
def test_columns_come_after_a_death(there: Mirror, mortal_server: DyingServer, name: str) -> None:
    topic = there.topic()
    there.kafka.produce(topic, [(b"%d" % (n % 10), b"%d" % n) for n in range(100)])
    there.source(topic)
    there.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}", "CREATE TABLE log FROM SOURCE s FORMAT TEXT")
    there.rows("SELECT * FROM t, log LIMIT 1")
    file = mortal_server.arm(name)
    there.run('ALTER TABLE t ADD COLUMN "offset"')
    assert not file.exists()
    there.run('ALTER TABLE log ADD COLUMN "offset"')
    there.produce(topic, [(b"0", b"100"), (b"new", b"101")])
    rows = [(str(n % 10), str(n), n) for n in range(91, 100)]
    rows += [("0", "100", 100), ("new", "101", 101)]
    assert sorted(there.rows('SELECT key, text, "offset"::int4 FROM t')) == sorted(rows)
    lines = [(str(n), n) for n in range(102)]
    assert sorted(there.rows('SELECT text, "offset"::int4 FROM log')) == sorted(lines)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        "ingestion.before_restart",
        "ingestion.after_restart",
        "backfill.before_chunk",
        "backfill.before_hydrate",
    ],
)
def test_a_source_begins_anew_after_a_death(there: Mirror, mortal_server: DyingServer, name: str) -> None:
    topic = there.topic()
    there.source(topic, options=OFTEN)
    there.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}", "CREATE TABLE log FROM SOURCE s FORMAT TEXT")
    there.produce(topic, [(b"a", b"1"), (b"b", b"1")])
    there.rows("SELECT * FROM t, log LIMIT 1")
    there.kafka.delete_topic(topic)
    there.kafka.create_topic(topic)
    there.kafka.produce(topic, [(b"b", b"2"), (b"c", b"2")])
    eventually(lambda: "topic was " in str(there.status("s")[1]), within_s=60)
    file = mortal_server.arm(name)
    there.run("ALTER SOURCE s RESYNC")
    eventually(lambda: not file.exists(), within_s=DIE_S_MAX)
    eventually(lambda: there.status("s")[0] == "running", within_s=DIE_S_MAX)
    there.produce(topic, [(b"c", None), (b"d", b"3")])
    assert sorted(there.rows("SELECT * FROM t")) == [("b", "2"), ("d", "3")]
    assert sorted(there.rows("SELECT * FROM log")) == [("2",), ("2",), ("3",)]
