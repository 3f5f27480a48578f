"""Everything at once, by a seed: messages of several formats, tables that come and go, kills of everybody.

    Feed      a topic, its source, and what its messages are to become; two have one source together
    Episode   goes on for so many seconds, doing one thing after the other

    text      {"n": 5}, bad values, null keys, keys that are no text       raw, TEXT, JSON, CSV, REGEX
    avro      records of schemas that gain fields meanwhile                AVRO
    protobuf  messages of a registered schema, few of them bad             PROTOBUF

Brokers are killed one at a time or both, the cluster, the whole server; the registry goes away; partitions
are added; transactions are committed and aborted; a topic of two that are one source is made again.  Now and
then a table gets a column, or is compared with its topic, or the tables of a source are read, each at one
timestamp with the source's progress.  It must be what the messages before that progress make: the oracle
reads the topic with a plain consumer of its own.  What SUBSCRIBE told of a stretch of time before a kill it
must tell after it.
"""

from __future__ import annotations

import io
import json
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import fastavro
import psycopg
from confluent_kafka import Consumer, KafkaException, TopicPartition

from headwater.core.clock import SYSTEM_CLOCK, seeded, unique_name
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror, avro
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer, eventually
from tests.support.topics import Aborted, Row

KEYS = 30
PARTITIONS_MAX = 4
TABLES_MAX = 7
CHECK_S_MAX = 300.0
HISTORY = "WITH (RETAIN HISTORY FOR '1h')"
ERRORS = ("Envelope error: Upsert: ", "Decode error: ")
GONE = ("was recreated", "was deleted", "went away before all of it was read")
UNREADABLE = ("is not readable yet", "stopped", "does not go on", "kafka: transport")
OFTEN = ", TOPIC METADATA REFRESH INTERVAL '1s'"
PROTO = 'syntax = "proto3"; message M { int64 n = 1; string note = 2; }'

Messages = list[tuple[int, int, bytes | None, bytes | None]]
Wanted = Counter[Any] | None
Number = Callable[[bytes], int | None]
"""What is in a value; None: it is bad."""


def last(messages: Messages) -> dict[bytes | None, tuple[int, int, bytes]]:
    """By key; partitions have keys of their own."""
    found: dict[bytes | None, tuple[int, int, bytes]] = {}
    for partition, offset, key, value in messages:
        found.pop(key, None)
        if value is not None:
            found[key] = (partition, offset, value)
    return found


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table is made with, what is asked of it, and what that must give; None: an error."""

    clauses: str
    asked: str
    wanted: Callable[[Messages], Wanted]


def _whole(messages: Messages) -> Wanted:
    return Counter((key, value) for _, _, key, value in messages)


def _texts(messages: Messages) -> Wanted:
    return Counter((value.decode(), p, o) for p, o, _, value in messages if value is not None)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _upserted(row: Callable[[str, int, bytes], Any]) -> Callable[[Messages], Wanted]:
    """The last of each key, as the row that key, offset and value make; None: there is an error."""

    def wanted(messages: Messages) -> Wanted:
        rows = []
        for key, (_, offset, value) in last(messages).items():
            told = None if key is None else _text(key)
            made = None if told is None else row(told, offset, value)
            if made is None:
                return None
            rows.append(made)
        return Counter(rows)

    return wanted


def _numbered(number: Number) -> Callable[[Messages], Wanted]:
    def row(key: str, offset: int, value: bytes) -> Any:
        found = number(value)
        return None if found is None else (key, found, offset)

    return _upserted(row)


def _inlined(number: Number) -> Callable[[Messages], Wanted]:
    return _upserted(lambda key, _, value: (key, number(value) is None, number(value)))


def _strict(number: Number) -> Callable[[Messages], Wanted]:
    """Without an envelope one bad message is the end."""

    def wanted(messages: Messages) -> Wanted:
        found = [(number(value), o) for _, o, _, value in messages if value is not None]
        return None if any(n is None for n, _ in found) else Counter(found)

    return wanted


def _of_json(value: bytes) -> int | None:
    try:
        found: int = json.loads(value)["n"]
    except ValueError:
        return None
    return found


def _of_protobuf(value: bytes) -> int | None:
    if value[5:7] != b"\0\x08":
        return None
    return sum((byte & 127) << 7 * place for place, byte in enumerate(value[7:]))


KEYED = "KEY FORMAT TEXT VALUE FORMAT"
INLINE = "ENVELOPE UPSERT (VALUE DECODING ERRORS = INLINE)"
REGISTRY = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
N, PLACE = "(data->'n')::int8", '"offset"::int8'

TEXT_SHAPES: Mapping[str, Shape] = {
    "whole": Shape("", "*", _whole),
    "texts": Shape("FORMAT TEXT INCLUDE PARTITION, OFFSET", f"text, partition, {PLACE}", _texts),
    "upserted": Shape(
        f"{KEYED} TEXT ENVELOPE UPSERT", "*", _upserted(lambda key, _, value: (key, value.decode()))
    ),
    "numbered": Shape(
        f"{KEYED} JSON INCLUDE OFFSET ENVELOPE UPSERT", f"key, {N}, {PLACE}", _numbered(_of_json)
    ),
    "inlined": Shape(f"{KEYED} JSON {INLINE}", f"key, error::text IS NOT NULL, {N}", _inlined(_of_json)),
    "split": Shape(
        "KEY FORMAT CSV WITH 2 COLUMNS DELIMITED BY '-' VALUE FORMAT BYTES ENVELOPE UPSERT",
        "column1 || '-' || column2, data",
        _upserted(lambda key, _, value: (key, value)),
    ),
    "matched": Shape(
        rf"{KEYED} REGEX '^.{{5}} (?P<n>\d+)' INCLUDE OFFSET ENVELOPE UPSERT",
        f"key, n::int8, {PLACE}",
        _numbered(_of_json),
    ),
}


def _registered(format_: str, number: Number) -> Mapping[str, Shape]:
    """Of a format with a field `n`."""
    return {
        "whole": Shape("", "*", _whole),
        "strict": Shape(f"FORMAT {format_} {REGISTRY} INCLUDE OFFSET", f"n, {PLACE}", _strict(number)),
        "numbered": Shape(
            f"{KEYED} {format_} {REGISTRY} INCLUDE OFFSET ENVELOPE UPSERT",
            f"key, n, {PLACE}",
            _numbered(number),
        ),
        "inlined": Shape(
            f"{KEYED} {format_} {REGISTRY} {INLINE}", "key, error::text IS NOT NULL, n", _inlined(number)
        ),
    }


@dataclass
class Feed:
    """A topic, its source, its tables."""

    source: str
    topic: str
    shapes: Mapping[str, Shape]
    value: Callable[[int], bytes]
    bad_share: float
    odd_keys_share: float
    several: bool = False  # whether its source has another topic as well
    partitions: int = 2
    tables: dict[str, Shape] = field(default_factory=dict)
    began: dict[str, int] = field(default_factory=dict)  # by table, the first timestamp it was seen at
    bad: set[bytes] = field(default_factory=lambda: {b"bad"})

    def messages(self, random: Random, count: int, numbers: Callable[[], int]) -> list[Row]:
        """A key is always in the same partition: no order is promised between these."""
        made: list[Row] = []
        for _ in range(count):
            partition, kind = random.randrange(self.partitions), random.random()
            key: bytes | None = b"%d-%d" % (partition, random.randrange(KEYS))
            if random.random() < self.odd_keys_share:
                key, partition = random.choice((None, b"\xff%d" % random.randrange(3))), 0
            bad = kind < 0.2 + self.bad_share
            value = None if kind < 0.2 else b"bad" if bad else self.value(numbers())
            made.append((key, value, partition))
        return made

    def healing(self, messages: Messages) -> list[Row]:
        """What makes all keys good again."""
        return [
            (key, None, partition)
            for key, (partition, _, value) in last(messages).items()
            if key is None or key[:1] == b"\xff" or value in self.bad
        ]


class Wrong(Exception):
    """A table is not what it should be."""


class Episode:
    """Some topics, their tables, and what may happen to them."""

    def __init__(
        self, server: HeadwaterServer, kafka: KafkaServer, registry: RegistryServer, seed: int
    ) -> None:
        self.here = Mirror(server, kafka)
        self.kafka, self.registry, self.random = kafka, registry, seeded(seed)
        self.count, self.made = 0, 0
        self.grown: set[str] = set()  # tables with one column more
        self.here.registry(registry)
        copies = len(kafka.nodes)
        topics = [self.here.topic(partitions=2, copies=copies) for _ in range(5)]
        self._schemas: dict[int, str] = {}
        self._newest = 0
        self._avro_topic = topics[1]
        self.new_schema()
        proto = registry.register_schema(f"{topics[2]}-value", PROTO, "PROTOBUF")
        frame = b"\0" + struct.pack(">i", proto) + b"\0\x08"
        self.feeds = [
            Feed("s", topics[0], TEXT_SHAPES, lambda n: b'{"n": %d}' % n, 0.02, 0.002),
            Feed("a", topics[1], _registered("AVRO", self._of_avro), self._avro, 0.005, 0.001),
            Feed(
                "p",
                topics[2],
                _registered("PROTOBUF", _of_protobuf),
                lambda n: frame + _varint(n),
                0.001,
                0.0,
            ),
            *(Feed("m", t, TEXT_SHAPES, lambda n: b'{"n": %d}' % n, 0.02, 0.0, True) for t in topics[3:]),
        ]
        self.here.source_of(topics[3:], "m", OFTEN)
        for feed in self.feeds:
            if not feed.several:
                self.here.source(feed.topic, feed.source, options=OFTEN)
            self._produce(feed)
            for shape in list(feed.shapes.values())[: 3 if feed.several else None]:
                self._create(feed, shape)

    def run(self, seconds: float) -> None:
        deadline_s = SYSTEM_CLOCK.monotonic_s() + seconds
        while SYSTEM_CLOCK.monotonic_s() < deadline_s:
            self._turn()
        for feed in self.feeds:
            self.here.settle(feed.topic)
            self.kafka.produce(feed.topic, feed.healing(replay(self.kafka, feed.topic)))
            self.here.wait(feed.topic, within_s=CHECK_S_MAX)
            self.check(feed)
            for table, shape in feed.tables.items():
                if "UPSERT" in shape.clauses:
                    self.here.run(f"SELECT * FROM {table}")
        self.here.leave()

    def _turn(self) -> None:
        """One thing that may happen."""
        weights: dict[Callable[[Feed], None], float] = {
            self._produce: 14,
            self.transaction: 4,
            self.create: 2,
            self.drop: 1,
            self.grow: 0.7,
            self.verify: 0.7,
            self.more_partitions: 0.5,
            self.make_again: 0.4,
            self.check: 4,
            lambda _: self.new_schema(): 0.5,
            self.registry_away: 0.3,
            lambda _: self.kill_cluster(): 0.3,
            lambda _: self.kill(): 0.25,
            lambda _: self.kill_brokers(): 0.4,
        }
        (happens,) = self.random.choices(list(weights), list(weights.values()))
        happens(self.random.choice(self.feeds))

    # Messages

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _produce(self, feed: Feed) -> None:
        self.kafka.produce(feed.topic, feed.messages(self.random, self.random.randrange(1, 300), self._next))

    def transaction(self, feed: Feed) -> None:
        with self.kafka.transaction() as write:
            write(feed.topic, feed.messages(self.random, self.random.randrange(1, 50), self._next))
            if self.random.random() < 0.6:
                raise Aborted

    def more_partitions(self, feed: Feed) -> None:
        if feed.partitions < PARTITIONS_MAX:
            self.kafka.add_partitions(feed.topic, feed.partitions + 1)
            feed.partitions += 1

    def make_again(self, feed: Feed) -> None:
        """A topic of several: its tables end and say so, and other ones begin with what it is now."""
        if not feed.several:
            return
        self.here.kafka.delete_topic(feed.topic)
        self.here.kafka.create_topic(feed.topic, 2, copies=len(self.kafka.nodes))
        feed.partitions = 2
        self._produce(feed)
        for table in list(feed.tables):
            eventually(partial(self._ended, table), within_s=CHECK_S_MAX)
            self.here.run(f"DROP TABLE {table}")
            del feed.tables[table]
            feed.began.pop(table, None)
        for _ in range(2):
            self.create(feed)

    def _ended(self, table: str) -> bool:
        try:
            self.here.rows(f"SELECT count(*) FROM {table}")
        except psycopg.Error as error:
            return any(text in str(error) for text in GONE)
        return False

    def new_schema(self) -> None:
        """One more field; messages are of either schema from now on."""
        more = [{"name": f"f{n}", "type": "string", "default": ""} for n in range(len(self._schemas))]
        fields = [{"name": "n", "type": "long"}, *more]
        text = json.dumps({"type": "record", "name": "r", "fields": fields})
        self._newest = self.registry.register_schema(f"{self._avro_topic}-value", text)
        self._schemas[self._newest] = text

    def _avro(self, n: int) -> bytes:
        id_ = self.random.choice(list(self._schemas))
        fields = [one["name"] for one in json.loads(self._schemas[id_])["fields"]]
        return avro(id_, self._schemas[id_], {name: n if name == "n" else "x" * (n % 7) for name in fields})

    def _of_avro(self, value: bytes) -> int | None:
        if value[:1] != b"\0":
            return None
        schema = fastavro.parse_schema(json.loads(self._schemas[int.from_bytes(value[1:5], "big")]))
        found: Any = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None)
        return int(found["n"])

    # Tables

    def create(self, feed: Feed) -> None:
        if len(feed.tables) < TABLES_MAX:
            self._create(feed, feed.shapes[self.random.choice(sorted(feed.shapes))])

    def _create(self, feed: Feed, shape: Shape) -> None:
        self.made += 1
        name = f"{feed.source}{self.made}"
        reference = f'(REFERENCE "{feed.topic}")'
        text = f"CREATE TABLE {name} FROM SOURCE {feed.source} {reference} {shape.clauses} {HISTORY}"

        def created() -> bool:
            """The brokers are asked, of which one may have been killed just before."""
            try:
                self.here.run(text)
            except psycopg.Error as error:
                if "kafka: " not in str(error):
                    raise Wrong(f"{text}: {error}") from error
                return False
            return True

        eventually(created, within_s=CHECK_S_MAX)
        feed.tables[name] = shape

    def drop(self, feed: Feed) -> None:
        if len(feed.tables) > 2:
            name = self.random.choice(sorted(feed.tables))
            self.here.run(f"DROP TABLE {name}")
            del feed.tables[name]
            feed.began.pop(name, None)

    def grow(self, feed: Feed) -> None:
        """A column more; the table as it was can be read up to then."""
        names = [name for name, shape in feed.tables.items() if shape.asked != "*" and name not in self.grown]
        if not names:
            return
        table = self.random.choice(sorted(names))
        if self._unless_flawed(f"ALTER TABLE {table} ADD COLUMN timestamp FROM UPSTREAM") is not None:
            self.grown.add(table)
            feed.began.pop(table, None)
            missing = self._unless_flawed(f"SELECT count(*) FROM {table} WHERE timestamp IS NULL")
            if missing not in (None, [(0,)]):
                raise Wrong(f"{table}: {missing} rows without a time")

    def verify(self, feed: Feed) -> None:
        """What is there is what reading again would give."""
        table = self.random.choice(sorted(feed.tables))
        found = self._unless_flawed(f"VERIFY TABLE {table}")
        if found is not None and [row[0] for row in found] != ["equal"]:
            raise Wrong(f"{table}: {found[:3]}")

    def _unless_flawed(self, statement: str) -> list[Any] | None:
        """What a statement gives; None: the table has errors or has ended, or was only just made."""
        try:
            found = self.here.session.execute(statement.encode())
        except psycopg.Error as error:
            if not any(text in str(error) for text in (*ERRORS, *UNREADABLE)):
                raise
            return None
        return found.fetchall() if found.description else []

    # Deaths

    def kill_cluster(self) -> None:
        told = self._told()
        self.here.server.kill_cluster()
        self._check_told(told)

    def kill(self) -> None:
        """The server, perhaps with its cluster; there are new messages when it is back."""
        told = self._told()
        self.here.server.kill_environment()
        if self.random.random() < 0.5:
            self.here.server.kill_cluster()
        self._produce(self.random.choice(self.feeds))
        self.here.server.start()
        self.here.enter()
        self._check_told(told)

    def kill_brokers(self) -> None:
        nodes = self.random.choice([(node,) for node in self.kafka.nodes] + [self.kafka.nodes])
        self.kafka.kill(*nodes)
        if self.random.random() < 0.3:
            source = self.random.choice(self.feeds).source
            eventually(lambda: self.here.status(source)[0] in ("stalled", "running"), within_s=CHECK_S_MAX)
        self.kafka.resume()
        eventually(self._led, within_s=CHECK_S_MAX)

    def _led(self) -> bool:
        """Every partition has a leader, and its messages are to be had."""
        try:
            for feed in self.feeds:
                assert min(self.kafka.leaders(feed.topic).values()) > 0
                self.kafka.end_offsets(feed.topic)
        except KafkaException:
            return False
        return True

    def registry_away(self, feed: Feed) -> None:
        self.registry.front.refuse()
        try:
            self._produce(feed)
        finally:
            self.registry.front.accept()

    # What must be

    def check(self, feed: Feed) -> None:
        """Each table at a timestamp, against the messages before the source's progress there."""
        for table in list(feed.tables):
            eventually(partial(self._compare, feed, table), within_s=CHECK_S_MAX)

    def _compare(self, feed: Feed, table: str) -> bool:
        shape, session = feed.tables[table], self.here.session
        offsets: dict[int, int] = {}
        try:
            with session.transaction():
                offsets = self.here.offsets(feed.source, feed.topic)
                ((ts,),) = self.here.rows("SELECT mz_now()::text::int8")
                rows: Wanted = Counter(self.here.rows(f"SELECT {shape.asked} FROM {table}"))
        except psycopg.Error as error:
            if not any(text in str(error) for text in ERRORS):
                raise
            rows = None
        else:
            feed.began.setdefault(table, ts)
        wanted = shape.wanted(replay(self.kafka, feed.topic, offsets))
        if rows != wanted:
            raise Wrong(f"{table} ({shape.clauses}) at {offsets}: {_difference(rows, wanted)}")
        return True

    def _told(self) -> dict[tuple[str, int, int], Any]:
        """What SUBSCRIBE tells of some tables, of a time that is over."""
        told = {}
        for feed in self.feeds:
            for table in self.random.sample(sorted(feed.began), min(2, len(feed.began))):
                ((now,),) = eventually(
                    lambda source=feed.source: self.here.rows(f"SELECT mz_now()::text::int8 FROM {source}")[
                        :1
                    ],  # type: ignore[misc]
                    within_s=CHECK_S_MAX,
                )
                stretch = (table, feed.began[table], now)
                told[stretch] = subscribed(self.here, *stretch)
        return told

    def _now(self, source: str) -> int:
        """A timestamp at which the source can be read."""
        text = f"SELECT mz_now()::text::int8 FROM {source}"
        return int(eventually(lambda: self.here.rows(text)[:1], within_s=CHECK_S_MAX)[0][0])

    def _check_told(self, told: Mapping[tuple[str, int, int], Any]) -> None:
        for stretch, before in told.items():
            after = eventually(lambda stretch=stretch: subscribed(self.here, *stretch), within_s=CHECK_S_MAX)  # type: ignore[misc]
            if after != before:
                raise Wrong(
                    f"history of {stretch}: {_difference(before[0], after[0])}; {before[1], after[1]}"
                )


def replay(kafka: KafkaServer, topic: str, ends: Mapping[int, int] | None = None) -> Messages:
    """What is committed before these offsets; without any, all."""
    last_stable = kafka.end_offsets(topic)
    wanted = ends or last_stable
    options = {
        "bootstrap.servers": kafka.address(),
        "group.id": unique_name(),
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "log_level": 0,
    }
    found: Messages = []
    with closing(Consumer(options)) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in last_stable])
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


def subscribed(here: Mirror, table: str, began: int, until: int) -> tuple[Counter[bytes], str]:
    """The changes of a stretch of time, and the error that ends them."""
    rows: Counter[bytes] = Counter()
    text = f"COPY (SUBSCRIBE {table} AS OF {began} UP TO {until}) TO STDOUT"
    with here.server.connect() as session, session.cursor() as cursor:
        session.execute(f"SET search_path = {here.schema}".encode())
        try:
            with cursor.copy(text.encode()) as copy:
                rows.update(bytes(row) for row in copy)
        except psycopg.Error as error:
            if not any(one in str(error) for one in ERRORS):
                raise
            return rows, str(error.diag.message_primary)
    return rows, ""


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def _difference(one: Wanted, other: Wanted) -> str:
    if one is None or other is None:
        return "an error instead of rows" if one is None else "rows instead of an error"
    return f"missing {list((other - one).items())[:3]}, too many {list((one - other).items())[:3]}"


def live_through(
    server: HeadwaterServer, kafka: KafkaServer, registry: RegistryServer, seed: int, seconds: float
) -> None:
    """A random day; fails with what was wrong."""
    print(f"seed {seed}", flush=True)
    Episode(server, kafka, registry, seed).run(seconds)
