"""What Kafka sources reach, beside a loop that only consumes the same topic on the same machine.

Method: a real broker and registry, and a real server.  What is in a topic before a table is made is timed
from CREATE TABLE to the moment at which all of it can be read.  Freshness is the time from a message's
production, which stands in the message, to its row's arrival through SUBSCRIBE.
"""

from __future__ import annotations

import io
import json
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.bench.figures import Figures
from tests.bench.freshness import Watch, run
from tests.support.kafka import KafkaServer
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer, eventually

MESSAGES = 1_000_000
MANY = 5_000_000
PARTITIONS = 4
WITHIN_S = 900.0
WATCH_S = 30.0
VARIANTS = 10_000
KEYS = 1_000_000

ORDER = """{"type": "record", "name": "orders", "fields": [
  {"name": "id", "type": "long"}, {"name": "customer", "type": "string"},
  {"name": "city", "type": ["null", "string"]},
  {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
  {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "paid", "type": "boolean"}, {"name": "weight", "type": "double"}]}"""

PROTO = """syntax = "proto3";
message Order { int64 id = 1; string customer = 2; string city = 3; double amount = 4; int64 at = 5;
  bool paid = 6; Place place = 7; }
message Place { string street = 1; int32 number = 2; }"""


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("Kafka")
    yield made
    made.write()


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaServer]:
    with KafkaServer() as server:
        yield server


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


@pytest.fixture(scope="module")
def bench(
    kafka: KafkaServer, registry: RegistryServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeadwaterServer]:
    made = HeadwaterServer(tmp_path_factory.mktemp("bench") / "data", spark_master="local[*]").start()
    run(
        made,
        f"CREATE CONNECTION k TO KAFKA (BROKER '{kafka.address()}', SECURITY PROTOCOL PLAINTEXT)",
        f"CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')",
    )
    # A server that has just started is slow for some seconds, and that is measured elsewhere.
    kafka.create_topic("first")
    fill(kafka, "first", [b"x"], 1)
    source(made, "first")
    run(made, "CREATE TABLE first_rows FROM SOURCE first (REFERENCE first) FORMAT TEXT")
    readable(made, "first_rows", 1)
    yield made
    made.stop()


def fill(kafka: KafkaServer, topic: str, values: Sequence[bytes], count: int, keys: Any = None) -> None:
    """So many messages, with these values again and again."""
    producer = Producer(
        {"bootstrap.servers": kafka.address(), "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    )
    for number in range(count):
        value, key = values[number % len(values)], None if keys is None else keys[number]
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(WITHIN_S) == 0


def source(server: HeadwaterServer, topic: str, options: str = "") -> None:
    run(server, f"CREATE SOURCE {topic} FROM KAFKA CONNECTION k (TOPIC '{topic}') {options}")


def count_of(server: HeadwaterServer, table: str) -> int:
    return int(server.query(f"SELECT count(*) FROM {table}")[0][0])


def readable(server: HeadwaterServer, table: str, rows: int) -> None:
    eventually(lambda: count_of(server, table) == rows, within_s=WITHIN_S, every_s=0.1)


def created(server: HeadwaterServer, table: str, topic: str, clauses: str, rows: int) -> float:
    """Seconds until a new table can be read with all its rows."""
    began = time.monotonic()
    run(server, f"CREATE TABLE {table} FROM SOURCE {topic} (REFERENCE {topic}) {clauses}")
    readable(server, table, rows)
    return time.monotonic() - began


def plainly(kafka: KafkaServer, topic: str, count: int) -> float:
    """Seconds that a loop needs which only consumes, with the client's own settings."""
    consumer = Consumer(
        {"bootstrap.servers": kafka.address(), "group.id": "plain", "enable.auto.commit": False}
    )
    began = time.monotonic()
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    size = seen = 0
    while seen < count:
        for message in consumer.consume(10_000, 0.1):
            size += len(message.value() or b"")
            seen += 1
    took_s = time.monotonic() - began
    consumer.close()
    return took_s


def texts() -> list[bytes]:
    return [f"{number:08d} {'abcdefghij' * 9}x".encode()[:100] for number in range(VARIANTS)]


def avro_orders(schema_id: int) -> list[bytes]:
    schema = fastavro.parse_schema(json.loads(ORDER))
    made = []
    for number in range(VARIANTS):
        out = io.BytesIO()
        order = {
            "id": number * 7919,
            "customer": f"customer {number}",
            "city": None if number % 5 == 0 else f"city {number % 100}",
            "amount": Decimal(number * 37) / 100,
            "at": datetime.fromtimestamp(1_700_000_000 + number, UTC),
            "paid": number % 2 == 0,
            "weight": number / 7,
        }
        fastavro.schemaless_writer(out, schema, order)
        made.append(struct.pack(">bI", 0, schema_id) + out.getvalue())
    return made


def protobuf_orders(schema_id: int) -> list[bytes]:
    def field(number: int, kind: int, content: bytes) -> bytes:
        return bytes([number << 3 | kind]) + content

    def varint(value: int) -> bytes:
        made = bytearray()
        while value > 0x7F:
            made.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes(made) + bytes([value])

    def text(number: int, content: bytes) -> bytes:
        return field(number, 2, varint(len(content)) + content)

    made = []
    for number in range(1, VARIANTS + 1):
        place = text(1, f"street {number % 100}".encode()) + field(2, 0, varint(number % 200))
        made.append(
            struct.pack(">bIb", 0, schema_id, 0)  # the first message of the schema
            + field(1, 0, varint(number * 7919))
            + text(2, f"customer {number}".encode())
            + text(3, f"city {number % 100}".encode())
            + field(4, 1, struct.pack("<d", number / 7))
            + field(5, 0, varint(1_700_000_000_000 + number))
            + field(6, 0, varint(number % 2))
            + text(7, place)
        )
    return made


def median_s(kafka: KafkaServer, server: HeadwaterServer, table: str, topic: str, clauses: str) -> float:
    """The median, in seconds; each time all messages come from the broker."""
    took_s, sent = [], [kafka.bytes_out(topic)]
    for number in range(3):
        took_s.append(created(server, f"{table}_{number}", topic, clauses, MESSAGES))
        run(server, f"DROP TABLE {table}_{number}")
        sent.append(kafka.bytes_out(topic))
    print(f"{table}: {took_s} s, {np.diff(sent)} bytes")
    assert np.diff(sent).min() > 0.9 * np.diff(sent).max() > MESSAGES
    return sorted(took_s)[1]


def test_texts(kafka: KafkaServer, bench: HeadwaterServer, figures: Figures) -> None:
    kafka.create_topic("texts", PARTITIONS)
    fill(kafka, "texts", texts(), MESSAGES)
    source(bench, "texts")
    theirs = [plainly(kafka, "texts", MESSAGES) for _ in range(3)]
    for name in ("TEXT", "BYTES"):
        plain_s, ours_s = sorted(theirs)[1], median_s(kafka, bench, name, "texts", f"FORMAT {name}")
        share = plain_s / ours_s
        figures.add(
            f"FORMAT {name}, {MESSAGES:,} messages of 100 B to readable, as a share of a plain consumer",
            f"{MESSAGES / ours_s:,.0f} messages/s; {share:.2f} (plain {plain_s:.1f} s)",
            "200,000; 0.6",
            MESSAGES / ours_s >= 200_000 and share >= 0.6,
        )


def test_avro(kafka: KafkaServer, registry: RegistryServer, bench: HeadwaterServer, figures: Figures) -> None:
    schema_id = registry.register_schema("orders-value", ORDER)
    kafka.create_topic("orders", PARTITIONS)
    fill(kafka, "orders", avro_orders(schema_id), MESSAGES)
    source(bench, "orders")
    clauses = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
    rate = MESSAGES / median_s(kafka, bench, "avro", "orders", clauses)
    figures.add("AVRO, 7 fields, to readable", f"{rate:,.0f} messages/s", "150,000", rate >= 150_000)


def test_protobuf(
    kafka: KafkaServer, registry: RegistryServer, bench: HeadwaterServer, figures: Figures
) -> None:
    schema_id = registry.register_schema("protos-value", PROTO, "PROTOBUF")
    kafka.create_topic("protos", PARTITIONS)
    fill(kafka, "protos", protobuf_orders(schema_id), MESSAGES)
    source(bench, "protos")
    clauses = "FORMAT PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
    rate = MESSAGES / median_s(kafka, bench, "protos_all", "protos", clauses)
    figures.add(
        "PROTOBUF, 7 fields, one nested, to readable", f"{rate:,.0f} messages/s", "80,000", rate >= 80_000
    )


def test_upsert(kafka: KafkaServer, bench: HeadwaterServer, figures: Figures) -> None:
    kafka.create_topic("states", PARTITIONS)
    keys = np.random.default_rng(1).zipf(1.1, MESSAGES * 4)
    keys = keys[keys <= KEYS][:MESSAGES]
    values = [
        json.dumps({"id": number, "state": f"state {number % 7}", "total": number / 4}).encode()
        for number in range(VARIANTS)
    ]
    fill(kafka, "states", values, len(keys), [b"%d" % key for key in keys.tolist()])
    source(bench, "states")
    took_s = []
    for number in range(3):
        clauses = "KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT"
        took_s.append(created(bench, f"states_{number}", "states", clauses, len(np.unique(keys))))
        run(bench, f"DROP TABLE states_{number}")
    rate = len(keys) / sorted(took_s)[1]
    figures.add(
        f"JSON with ENVELOPE UPSERT, keys of {KEYS:,} by Zipf 1.1, to readable",
        f"{rate:,.0f} messages/s ({len(np.unique(keys)):,} keys)",
        "80,000",
        rate >= 80_000,
    )


def test_three_tables(kafka: KafkaServer, bench: HeadwaterServer, figures: Figures) -> None:
    """What waits for a source that starts again is read by its ticks, once for all tables."""
    kafka.create_topic("shared", PARTITIONS)
    values = [json.dumps({"id": n, "name": f"name {n}", "n": n * 3}).encode() for n in range(VARIANTS)]
    shapes = ("FORMAT JSON", "FORMAT TEXT INCLUDE PARTITION, OFFSET", "FORMAT BYTES INCLUDE TIMESTAMP")
    took_s, sent = [], []
    for count in (1, 3):
        source(bench, "shared")
        for number, shape in enumerate(shapes[:count]):
            run(bench, f"CREATE TABLE shared_{number} FROM SOURCE shared (REFERENCE shared) {shape}")
        there = sum(kafka.end_offsets("shared").values())
        for number in range(count):
            readable(bench, f"shared_{number}", there)
        run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
        fill(kafka, "shared", values, MESSAGES)
        before = kafka.bytes_out("shared")
        began = time.monotonic()
        run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")
        for number in range(count):
            readable(bench, f"shared_{number}", there + MESSAGES)
        took_s.append(time.monotonic() - began)
        sent.append(kafka.bytes_out("shared") - before)
        run(bench, "DROP SOURCE shared CASCADE")
    times, more = took_s[1] / took_s[0], sent[1] / sent[0]
    figures.add(
        f"three tables of different formats on one topic against one, {MESSAGES:,} messages: time;"
        " bytes that the broker sent",
        f"{times:.1f} times ({took_s[0]:.1f} and {took_s[1]:.1f} s); {more:.2f} times",
        "2 times; equal",
        times <= 2 and more <= 1.05,
    )


class Stream(threading.Thread):
    """Messages at a fixed rate that say when they were made."""

    def __init__(self, kafka: KafkaServer, topic: str, per_s: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": kafka.address(), "linger.ms": 5})
        self._topic, self._per_s, self._seconds = topic, per_s, seconds

    def run(self) -> None:
        began = time.monotonic()
        for number in range(int(self._per_s * self._seconds)):
            wait_s = began + number / self._per_s - time.monotonic()
            if wait_s > 0.002:
                time.sleep(wait_s)  # the rate
            self._producer.produce(self._topic, f"{number},{datetime.now(UTC).isoformat()}".encode())
            self._producer.poll(0)
        self._producer.flush()


def watched(
    kafka: KafkaServer, bench: HeadwaterServer, topic: str, during: Callable[[], None] | None = None
) -> tuple[float, float]:
    watch = Watch(bench, f"(SELECT column1, column2::timestamptz FROM {topic}_rows)")
    watch.start()
    stream = Stream(kafka, topic, 1_000, WATCH_S)
    stream.start()
    if during is not None:
        during()
    stream.join()
    return watch.stop()


def test_freshness(kafka: KafkaServer, bench: HeadwaterServer, figures: Figures) -> None:
    reaches = {"1s": (0.8, 1.5), "100ms": (0.3, 0.6)}
    found = {}
    for name, (interval, (p50_max, p99_max)) in zip(("fresh", "fast"), reaches.items(), strict=True):
        kafka.create_topic(name)
        source(bench, name, f"WITH (TIMESTAMP INTERVAL '{interval}')")
        run(
            bench,
            f"CREATE TABLE {name}_rows FROM SOURCE {name} (REFERENCE {name}) FORMAT CSV WITH 2 COLUMNS",
        )
        readable(bench, f"{name}_rows", 0)
        p50, p99 = found[name] = watched(kafka, bench, name)
        figures.add(
            f"1,000 messages/s, {interval} interval: freshness p50 / p99",
            f"{p50:.2f} / {p99:.2f} s",
            f"{p50_max} / {p99_max} s",
            p50 <= p50_max and p99 <= p99_max,
        )
    kafka.create_topic("many", PARTITIONS)
    fill(kafka, "many", texts(), MANY)
    source(bench, "many")
    during = watched(
        kafka,
        bench,
        "fresh",
        lambda: run(bench, "CREATE TABLE many_rows FROM SOURCE many (REFERENCE many) FORMAT TEXT"),
    )
    readable(bench, "many_rows", MANY)
    times = during[1] / found["fresh"][1]
    figures.add(
        f"the same while a table over {MANY:,} messages is added: p99 against before",
        f"{times:.1f} times ({during[1]:.2f} s)",
        "1.5 times",
        times <= 1.5,
    )


def test_restart(kafka: KafkaServer, bench: HeadwaterServer, figures: Figures) -> None:
    kafka.create_topic("keyed", PARTITIONS)
    fill(kafka, "keyed", texts(), MANY, [b"%d" % number for number in range(MANY)])
    source(bench, "keyed")
    created(bench, "keyed_rows", "keyed", "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT", MANY)
    before = kafka.bytes_out("keyed")
    bench.kill_environment()
    bench.kill_cluster()
    fill(kafka, "keyed", [b"after the restart"], 1, [b"another"])
    began = time.monotonic()
    bench.start()
    readable(bench, "keyed_rows", MANY + 1)
    took_s = time.monotonic() - began
    sent = kafka.bytes_out("keyed") - before
    figures.add(
        f"kill -9 of everything with an upsert table of {MANY:,} keys, until a new message is readable;"
        " bytes that the broker sent",
        f"{took_s:.1f} s; {sent:,}",
        "15 s; those of the new message",
        took_s <= 15 and sent < 100_000,
    )
