"""Whatever happens to a topic and to us, every table is what a replay of the topic makes of it.

Method: a seed decides on messages (keys, tombstones, bad values, null keys, aborted transactions, new
partitions), on tables that come and go, and on kills of the cluster and of the whole server.  Now and then
all tables and the source's progress are read at one timestamp: each table must be what the messages before
that progress make.  The oracle reads the topic with a consumer of its own.  SEED=n decides so again, but
what happens at the same time is chance all the same.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
from confluent_kafka import Consumer, TopicPartition

from headwater.core.clock import unique_name
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.topics import Aborted, Row

LENGTH_S = 15.0
KEYS = 30
Messages = list[tuple[int, int, bytes | None, bytes | None]]
Wanted = Counter[Any] | None


def whole(messages: Messages) -> Wanted:
    return Counter((key, value) for _, _, key, value in messages)


def texts(messages: Messages) -> Wanted:
    """FORMAT TEXT with places."""
    return Counter((value.decode(), p, o) for p, o, _, value in messages if value is not None)


def last(messages: Messages) -> dict[bytes | None, tuple[int, int, bytes]]:
    """By key; partitions have keys of their own."""
    found: dict[bytes | None, tuple[int, int, bytes]] = {}
    for partition, offset, key, value in messages:
        found.pop(key, None)
        if value is not None:
            found[key] = (partition, offset, value)
    return found


def upserted(messages: Messages) -> Wanted:
    """Of text: only null keys are wrong."""
    rows = last(messages)
    if None in rows:
        return None
    return Counter(
        (str(key, "utf-8"), value.decode()) for key, (_, _, value) in rows.items() if key is not None
    )


def numbered(messages: Messages) -> Wanted:
    """Of JSON: bad values are wrong too."""
    rows = last(messages)
    if None in rows or any(number(value) is None for _, _, value in rows.values()):
        return None
    return Counter((key.decode(), number(value), o) for key, (_, o, value) in rows.items() if key is not None)


def inlined(messages: Messages) -> Wanted:
    """Of JSON, where bad values are rows."""
    rows = last(messages)
    if None in rows:
        return None
    return Counter(
        (key.decode(), number(value) is None, number(value))
        for key, (_, _, value) in rows.items()
        if key is not None
    )


def number(value: bytes) -> int | None:
    try:
        found: int = json.loads(value)["n"]
    except ValueError:
        return None
    return found


KEYED = "KEY FORMAT TEXT VALUE FORMAT"
INLINE = "ENVELOPE UPSERT (VALUE DECODING ERRORS = INLINE)"
SHAPES: dict[str, tuple[str, str, Callable[[Messages], Wanted]]] = {
    "whole": ("", "*", whole),
    "texts": ("FORMAT TEXT INCLUDE PARTITION, OFFSET", 'text, partition, "offset"::int8', texts),
    "upserted": (f"{KEYED} TEXT ENVELOPE UPSERT", "*", upserted),
    "numbered": (
        f"{KEYED} JSON INCLUDE OFFSET ENVELOPE UPSERT",
        "key, (data->'n')::int8, \"offset\"::int8",
        numbered,
    ),
    "inlined": (f"{KEYED} JSON {INLINE}", "key, error::text IS NOT NULL, (data->'n')::int8", inlined),
}


class World:
    """A topic, its tables, and what may happen to them."""

    def __init__(self, here: Mirror, seed: int) -> None:
        self.here, self.chance = here, random.Random(seed)
        self.topic = here.topic(partitions=2)
        self.partitions, self.count, self.made = 2, 0, 0
        self.tables: dict[str, str] = {}
        here.source(self.topic, options=", TOPIC METADATA REFRESH INTERVAL '1s'")

    # What may happen

    def produce(self) -> None:
        self.here.kafka.produce(self.topic, self._messages(self.chance.randrange(1, 300)))

    def transaction(self) -> None:
        with self.here.kafka.transaction() as write:
            write(self.topic, self._messages(self.chance.randrange(1, 50)))
            if self.chance.random() < 0.6:
                raise Aborted

    def more_partitions(self) -> None:
        if self.partitions < 4:
            self.partitions += 1
            self.here.kafka.add_partitions(self.topic, self.partitions)

    def create(self) -> None:
        shape = self.chance.choice(sorted(SHAPES))
        self.made += 1
        name = f"t{self.made}"
        self.here.run(f"CREATE TABLE {name} FROM SOURCE s {SHAPES[shape][0]}")
        self.tables[name] = shape

    def drop(self) -> None:
        if len(self.tables) > len(SHAPES):
            name = self.chance.choice(sorted(self.tables))
            self.here.run(f"DROP TABLE {name}")
            del self.tables[name]

    def kill_cluster(self) -> None:
        self.here.server.kill_cluster()

    def kill(self) -> None:
        self.here.server.kill_environment()
        if self.chance.random() < 0.5:
            self.here.server.kill_cluster()
        self.produce()
        self.here.server.start()
        self.here.enter()

    def turn(self) -> None:
        """One of these."""
        weights = {
            self.produce: 12,
            self.transaction: 4,
            self.create: 2,
            self.drop: 1,
            self.more_partitions: 1,
            self.kill_cluster: 0.4,
            self.kill: 0.3,
            self.check: 3,
        }
        self.chance.choices(list(weights), list(weights.values()))[0]()

    def _messages(self, count: int) -> list[Row]:
        """A key is always in the same partition: no order is promised between these."""
        made: list[Row] = []
        for _ in range(count):
            self.count += 1
            partition, chance = self.chance.randrange(self.partitions), self.chance.random()
            key = b"%d-%d" % (partition, self.chance.randrange(KEYS)) if chance > 0.001 else None
            partition = partition if key is not None else 0
            kind = self.chance.random()
            value = None if kind < 0.2 else b"bad" if kind < 0.22 else b'{"n": %d}' % self.count
            made.append((key, value, partition))
        return made

    def heal(self) -> None:
        """No key is wrong in the end."""
        rows = [(key, None, p) for p, _, key, value in self._replay({}) if key is None or value == b"bad"]
        self.here.kafka.produce(self.topic, rows)

    # What must be

    def check(self) -> None:
        """All tables at one timestamp, against the messages before the source's progress there."""
        eventually(self._compare, within_s=60)

    def _compare(self) -> bool:
        session = self.here.session
        for table, shape in self.tables.items():
            offsets: dict[int, int] = {}
            try:
                with session.transaction():
                    offsets = self.here.offsets()
                    rows: Wanted = Counter(self.here.rows(f"SELECT {SHAPES[shape][1]} FROM {table}"))
            except psycopg.Error as error:
                if "Envelope error: Upsert: " not in str(error):
                    raise
                rows = None
            wanted = SHAPES[shape][2](self._replay(offsets))
            if rows != wanted:
                raise Wrong(table, SHAPES[shape][0], offsets, rows, wanted)
        return True

    def _replay(self, ends: dict[int, int]) -> Messages:
        """What is committed before these offsets; without any, all."""
        last_stable = self.here.kafka.end_offsets(self.topic)
        wanted = ends or last_stable
        options = {
            "bootstrap.servers": self.here.kafka.address(),
            "group.id": unique_name(),
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
        found: Messages = []
        with closing(Consumer(options)) as consumer:
            consumer.assign([TopicPartition(self.topic, partition, 0) for partition in last_stable])
            reading = set(last_stable)
            while reading:
                for message in consumer.consume(10_000, 0.05):
                    partition, offset = message.partition(), message.offset()
                    assert partition is not None
                    assert offset is not None
                    if message.error() is not None:
                        reading.discard(partition)
                    elif offset < wanted.get(partition, 0):
                        found.append((partition, offset, message.key(), message.value()))
        return found


class Wrong(Exception):
    """A table is not what it should be."""

    def __init__(
        self, table: str, clauses: str, offsets: dict[int, int], rows: Wanted, wanted: Wanted
    ) -> None:
        if rows is None or wanted is None:
            how = "an error instead of rows" if rows is None else "rows instead of an error"
        else:
            missing, extra = list((wanted - rows).items())[:3], list((rows - wanted).items())[:3]
            how = f"missing {missing}, too many {extra}"
        super().__init__(f"{table} ({clauses}) at {offsets}: {how}")


def test_tables_are_what_a_replay_makes(mortal_server: HeadwaterServer, kafka: KafkaServer) -> None:
    seed = int(os.environ.get("SEED") or time.time_ns() % 1_000_000)
    print(f"seed {seed}")
    here = Mirror(mortal_server, kafka)
    world = World(here, seed)
    world.produce()
    for shape in SHAPES:
        here.run(f"CREATE TABLE {shape} FROM SOURCE s {SHAPES[shape][0]}")
        world.tables[shape] = shape
    deadline = time.monotonic() + LENGTH_S
    while time.monotonic() < deadline:
        world.turn()
    world.heal()
    here.wait(world.topic)
    world.check()
    here.run("SELECT * FROM numbered", "SELECT * FROM upserted")
    here.leave()
