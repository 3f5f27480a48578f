"""A death at every place where it would hurt leaves tables of a topic right, and nothing is read again.

Method: a server in which a file arms a failpoint.  What the broker has sent of a topic until all is right
again says how often a range was read.  Ranges of ticks are looked at while nothing else happens; while new
tables are filled somebody goes on writing to another topic (`beside`), whose tables are looked at in the end,
after deaths at the failpoints that are left.  Tables must be what a replay of their topic makes, and what
SUBSCRIBE told of a stretch of time before a death it must tell after it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from headwater.core.clock import seeded
from headwater.observe.failpoints import FAILPOINTS
from tests.kafka.randomized import HISTORY, TEXT_SHAPES, replay, subscribed
from tests.support.dying import DyingServer
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.server import eventually
from tests.support.topics import Row

DIE_S_MAX = 120.0
RECOVER_S_MAX = 120.0
TRIES = 3
BLOCK_BYTES = 2_000_000
UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"
TICKS = {
    "ingestion.before_files": 2,
    "ingestion.before_append": 2,
    "ledger.before_commit": 2,
    "ledger.after_commit": 1,
    "ingestion.after_append": 1,
}
"""How often a range of a tick is read if the process dies there."""
BACKFILLS = {
    "ingestion.before_join": 1,
    "ingestion.after_join": 1,
    "backfill.before_chunk": 2,
    "backfill.before_state": 1,
    "backfill.before_version": 1,
    "backfill.before_hydrate": 1,
    "backfill.after_hydrate": 1,
}
"""The same of what a new table has to read."""


class Writer(threading.Thread):
    """Somebody who goes on writing: keys, tombstones, and no errors."""

    def __init__(self, kafka: KafkaServer, topic: str) -> None:
        super().__init__(daemon=True)
        self._kafka, self._topic = kafka, topic
        self._stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        chance, number = seeded(1), 0
        try:
            while not self._stopping.wait(0.2):
                rows: list[Row] = []
                for _ in range(20):
                    number += 1
                    partition = chance.randrange(2)
                    key = b"%d-%d" % (partition, chance.randrange(200))
                    value = b'{"n": %d}' % number if chance.random() < 0.8 else None
                    rows.append((key, value, partition))
                self._kafka.produce(self._topic, rows)
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        assert self.failure is None, self.failure


class Beside:
    """A topic to which somebody goes on writing, and what it is to become."""

    TABLES: Final = {"whole": "whole", "upserted": "upserted", "numbered": "numbered", "later": "numbered"}
    LOOKED_AT: Final = ("whole", "upserted", "numbered")

    def __init__(self, there: Mirror) -> None:
        self.there = there
        self.topic = there.topic(partitions=2)
        self.died: set[str] = set()
        self._told: dict[tuple[str, int, int], Any] = {}
        there.source(self.topic)
        for table, shape in self.TABLES.items():
            there.run(f"CREATE TABLE {table} FROM SOURCE s {TEXT_SHAPES[shape].clauses} {HISTORY}")
        self._writer = Writer(there.kafka, self.topic)
        self._writer.start()
        eventually(lambda: there.rows("SELECT count(*) >= 100 FROM upserted") == [(True,)])
        self._looked = self._now()

    def _now(self) -> int:
        text = "SELECT mz_now()::text::int8 FROM s LIMIT 1"
        return int(eventually(lambda: self.there.rows(text), within_s=RECOVER_S_MAX)[0][0])

    def look(self) -> None:
        """Remember what SUBSCRIBE tells of the time since this was asked last."""
        now = self._now()
        if now == self._looked:
            return
        for table in self.LOOKED_AT:
            self._told[table, self._looked, now] = subscribed(self.there, table, self._looked, now)
        self._looked = now

    def fill_another(self) -> None:
        clauses = TEXT_SHAPES[self.TABLES["later"]].clauses
        self.there.run(f"DROP TABLE later; CREATE TABLE later FROM SOURCE s {clauses}")

    def check(self) -> None:
        """When nobody writes any more, all is as it must be."""
        self._writer.stop()
        self.there.wait(self.topic, within_s=RECOVER_S_MAX)
        compare(self.there, self.topic, self.TABLES)
        for stretch, before in self._told.items():
            assert subscribed(self.there, *stretch) == before, stretch

    def leave(self) -> None:
        self._writer.stop()
        self.there.leave()


@pytest.fixture
def there(mortal_server: DyingServer, kafka: KafkaServer) -> Iterator[Mirror]:
    made = Mirror(mortal_server, kafka)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def beside(one_mortal: DyingServer, kafka: KafkaServer) -> Iterator[Beside]:
    made = Beside(Mirror(one_mortal, kafka))
    yield made
    made.leave()


def block() -> list[Row]:
    """Messages that are large together, of a few keys."""
    return [(b"k%d" % (n % 50), b"x" * (BLOCK_BYTES // 1000), n % 2) for n in range(1000)]


def sent_until(there: Mirror, topic: str, rows: dict[str, int], before: int) -> float:
    """Blocks that the broker has sent of the topic since, once tables have so many rows."""

    def counted() -> bool:
        return all(there.rows(f"SELECT count(*) FROM {table}") == [(n,)] for table, n in rows.items())

    there.wait(topic, within_s=RECOVER_S_MAX)
    eventually(counted, within_s=RECOVER_S_MAX)
    return (there.kafka.bytes_out(topic) - before) / BLOCK_BYTES


def blocks_read(there: Mirror, server: DyingServer, name: str) -> float:
    """How often a block was read that came into a tick in which the process died."""
    topic = there.topic(partitions=2)
    there.source(topic)
    there.run(
        f"CREATE TABLE whole FROM SOURCE s {HISTORY}", f"CREATE TABLE newest FROM SOURCE s {UPSERT} {HISTORY}"
    )
    there.produce(topic, [(b"first", b"message")])
    there.rows("SELECT * FROM whole, newest")
    ((began,),) = there.rows("SELECT mz_now()::text::int8 FROM s LIMIT 1")
    there.produce(topic, [(b"second", b"message")])
    ((now,),) = there.rows("SELECT mz_now()::text::int8 FROM s LIMIT 1")
    told = {table: subscribed(there, table, began, now) for table in ("whole", "newest")}
    before = there.kafka.bytes_out(topic)
    file = server.arm(name)
    there.kafka.produce(topic, block())
    eventually(lambda: not file.exists(), within_s=DIE_S_MAX)
    blocks = sent_until(there, topic, {"whole": 1002, "newest": 52}, before)
    compare(there, topic, {"whole": "whole", "newest": "upserted"})
    assert {table: subscribed(there, table, began, now) for table in told} == told
    there.run("DROP SOURCE s CASCADE")
    there.forget("s")
    return blocks


def compare(there: Mirror, topic: str, tables: Mapping[str, str]) -> None:
    """Tables of these shapes are what a replay makes of their topic."""
    messages = replay(there.kafka, topic)
    for table, name in tables.items():
        shape = TEXT_SHAPES[name]
        assert Counter(there.rows(f"SELECT {shape.asked} FROM {table}")) == shape.wanted(messages), table


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TICKS)
def test_a_range_that_is_durable_is_not_read_again(
    there: Mirror, mortal_server: DyingServer, name: str
) -> None:
    """A worker that went on alone fetches ahead: in vain if another one gets the tick, which is chance."""
    found: list[float] = []
    while len(found) < TRIES:
        found.append(blocks_read(there, mortal_server, name))
        # A range may have been cut where the source looked; what came beside is little.
        if TICKS[name] - 1 < found[-1] < TICKS[name] + 0.3:
            return
    pytest.fail(f"blocks that were sent: {found}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BACKFILLS)
def test_chunks_that_are_durable_are_not_read_again(
    there: Mirror, mortal_server: DyingServer, beside: Beside, name: str
) -> None:
    topic = there.topic(partitions=2)
    there.source(topic)
    there.produce(topic, block())
    beside.look()
    before = there.kafka.bytes_out(topic)
    file = mortal_server.arm(name)
    there.run(f"CREATE TABLE newest FROM SOURCE s {UPSERT}")
    eventually(lambda: not file.exists(), within_s=DIE_S_MAX)
    beside.died.add(name)
    blocks = sent_until(there, topic, {"newest": 50}, before)
    assert BACKFILLS[name] - 0.1 < blocks < BACKFILLS[name] + 0.3
    compare(there, topic, {"newest": "upserted"})


@pytest.mark.timeout(1800)
def test_a_death_at_every_failpoint_under_messages_leaves_everything_right(
    mortal_server: DyingServer, beside: Beside
) -> None:
    """Those at which it has died before, when this file is run as a whole, are not tried again."""
    names = [
        name
        for name in FAILPOINTS
        if name.partition(".")[0] in ("ingestion", "backfill", "ledger", "fold") and "restart" not in name
    ]
    assert len(names) >= 15
    for name in names:
        if name not in beside.died:
            beside.look()
            file = mortal_server.arm(name)
            if name in BACKFILLS:
                beside.fill_another()
            eventually(lambda file=file: not file.exists(), within_s=DIE_S_MAX)  # type: ignore[misc]
    beside.check()


@pytest.mark.timeout(600)
def test_schemas_that_were_seen_outlive_the_registry_and_the_cluster(
    there: Mirror, registry: RegistryServer
) -> None:
    """Of the table's own and of other writers, of referred schemas, and of what a new table has read."""
    v1, v2 = record("r", x="int"), record("r", x="int", y={"type": "string", "default": "none"})
    visit = record("visit", at="place", n="int")
    described = 'syntax = "proto3"; message M { int64 id = 1; string name = 2; }'
    topic, visits, messages = there.topic(), there.topic(), there.topic()
    front = registry.another_front()
    there.run(f"CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{front.url}')")
    first = registry.register_schema(f"{topic}-value", v1)
    second = registry.register_schema(f"{topic}-value", v2)
    registry.register_schema("place", record("place", city="string"))
    third = registry.register_schema(f"{visits}-value", visit, references=[("place", "place", 1)])
    registry.register_schema(f"{visits}-value", record("visit", n="int"))
    number = registry.register_schema(f"{messages}-value", described, "PROTOBUF")
    for name, of in (("s", topic), ("v", visits), ("m", messages)):
        there.source(of, name)
    using = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
    there.kafka.produce(topic, [(None, avro(first, v1, {"x": 1}))])
    there.run(
        f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {using}",
        f"CREATE TABLE visit FROM SOURCE v FORMAT AVRO {using}",
        f"CREATE TABLE p FROM SOURCE m FORMAT PROTOBUF {using}",
    )
    assert there.rows("SELECT * FROM t") == [(1, "none")], "by a schema that its backfill has met"
    at_place = record("visit", at=json.loads(record("place", city="string")), n="int")
    there.produce(visits, [(None, avro(third, at_place, {"at": {"city": "Rome"}, "n": 1}))])
    assert there.rows("SELECT * FROM visit") == [(1,)]
    front.close()
    there.server.kill_cluster()
    there.kafka.produce(
        topic, [(None, avro(first, v1, {"x": 2})), (None, avro(second, v2, {"x": 3, "y": "new"}))]
    )
    there.kafka.produce(visits, [(None, avro(third, at_place, {"at": {"city": "Oslo"}, "n": 2}))])
    there.wait(topic, within_s=RECOVER_S_MAX)
    there.wait(visits)
    there.produce(messages, [(None, b"\0" + number.to_bytes(4, "big") + b"\0\x08\x07\x12\x02hi")])
    assert there.rows("SELECT * FROM t ORDER BY x") == [(1, "none"), (2, "none"), (3, "new")]
    assert there.rows("SELECT * FROM visit ORDER BY n") == [(1,), (2,)]
    assert there.rows("SELECT * FROM p") == [(7, "hi")]
    assert [row[0] for row in there.rows("VERIFY TABLE t")] == ["equal"]
    kept = there.server.data_dir / "sources"
    ids = dict(
        there.rows(
            "SELECT o.name, o.id FROM mz_sources o JOIN mz_schemas m ON m.id = o.schema_id"
            f" WHERE m.name = '{there.schema}'"
        )
    )
    assert {"s", "v"} == {name for name, id_ in ids.items() if (kept / id_).exists()}, "Protobuf needs none"
    there.run("DROP SOURCE s CASCADE", "DROP SOURCE v CASCADE", "DROP SOURCE m CASCADE")
    eventually(lambda: not [id_ for id_ in ids.values() if (kept / id_).exists()])


@pytest.mark.timeout(600)
def test_an_error_nobody_foresaw_stays_with_its_message_or_its_table(there: Mirror) -> None:
    """The server has a decoder that raises errors (tests/kinds/planted)."""
    topic = there.topic()
    there.source(topic)
    sometimes, never = "REGEX '(?P<sometimes>.*)'", "REGEX '(?P<never>.*)'"
    there.run(
        "CREATE TABLE good FROM SOURCE s FORMAT TEXT",
        f"CREATE TABLE rows FROM SOURCE s FORMAT {sometimes}",
        f"CREATE TABLE newest FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT {sometimes} ENVELOPE UPSERT",
        f"CREATE TABLE hopeless FROM SOURCE s FORMAT {never}",
    )
    for table in ("good", "rows", "newest", "hopeless"):
        assert there.rows(f"SELECT * FROM {table}") == []
    there.produce(topic, [(b"a", b"1"), (b"b", b"break"), *[(b"c", b"3")] * 20])
    assert there.rows("SELECT count(*) FROM good") == [(22,)]
    told = "REGEX: internal error: ValueError: planted for this one"
    listed = (
        "SELECT e.key, e.reason FROM mz_internal.mz_source_value_errors e"
        " JOIN mz_objects o ON o.id = e.table_id WHERE o.name = 'newest'"
    )
    ((key, reason),) = there.rows(listed)
    assert key == "(key)=(b)"
    assert told in reason
    said = there.error("SELECT * FROM newest")
    assert told in str(said.message_primary) + str(said.message_detail)
    eventually(lambda: {there.status(name)[0] for name in ("rows", "hopeless")} == {"failed"})
    assert f"Decode error: {told}" in str(there.status("rows")[1])
    assert "(partition 0, offset 1)" in str(there.status("rows")[1])
    ended = "internal error while messages were decoded: KeyError: 'planted' (from partition 0, offset 0 on)"
    assert ended in str(there.status("hopeless")[1])
    there.produce(topic, [(b"b", b"2")])
    assert there.rows(listed) == []
    assert sorted(there.rows("SELECT * FROM newest")) == [("a", "1"), ("b", "2"), ("c", "3")]
    # What a new table has to read stays with that table as well.
    there.run(
        f"CREATE TABLE filled FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT {sometimes} ENVELOPE UPSERT",
        f"CREATE TABLE unfilled FROM SOURCE s FORMAT {never}",
    )
    assert len(there.rows("SELECT * FROM filled")) == 3
    eventually(lambda: there.status("unfilled")[0] == "failed")
    assert "internal error while changes were decoded: KeyError: 'planted'" in str(
        there.status("unfilled")[1]
    )
    there.produce(topic, [(b"d", b"4")])
    assert there.rows("SELECT count(*) FROM good") == [(24,)]
    assert [there.status(name)[0] for name in ("s", "good", "newest")] == ["running"] * 3
    log = there.server.log_tail(10_000)
    for error in ("ValueError: planted for this one", "KeyError: 'planted'"):
        assert error in log
    assert "in decode" in log, "it says where"
