"""The demo of Kafka: a broker of its own, somebody who writes to a topic, and three tables of that topic.

    broker    Kafka as a child, with all that it has in DATA-DIR/broker; kept, like the rest
    writer    a thread: orders that are placed, paid, shipped, delivered and forgotten
    tables    the messages as they are; as a log of JSON; and the newest state of each order

Port 9092 is used if it is free, another if not.  All ends as the demo does (demo.py): the server first, then
the writer, then the broker.

Not here: where a Kafka comes from (`make kafka`, or whoever has one).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from headwater.core.clock import SYSTEM_CLOCK, Clock, seeded
from headwater.core.errors import UserError
from headwater.core.java import java_command
from headwater.core.limits import DEMO_ORDERS_OPEN_MAX, DEMO_START_S_MAX, DEMO_WRITE_S, KAFKA_ANSWER_S_MAX
from headwater.demo import Addresses, Show, free_address, run_demo, stop_process, with_last_words
from headwater.options import Address
from headwater.persist.layout import demo_broker

TOPIC: Final = "orders"
PARTITIONS: Final = 2
ADDRESS: Final = Address("127.0.0.1", 9092)
TABLES: Final = ("orders_raw", "orders_log", "orders")
STATES: Final = ("placed", "paid", "shipped", "delivered")
ITEMS: Final = ("kettle", "lamp", "chair", "clock", "vase")
_FROM: Final = f"FROM SOURCE orders_topic (REFERENCE {TOPIC})"
_POLL_S: Final = 0.1
_JAVA: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_NODE: Final = "version=1\ncluster.id=HeadwaterDemoBrokerAAA\nnode.id=1\n"


def show_of(broker: Address) -> Show:
    """Three tables of the one topic."""
    return Show(
        create=(
            "CREATE CONNECTION IF NOT EXISTS broker TO KAFKA"
            f" (BROKER '{broker}', SECURITY PROTOCOL PLAINTEXT)",
            # That of an earlier demo may have had another port.
            f"ALTER CONNECTION broker SET (BROKER '{broker}')",
            f"CREATE SOURCE IF NOT EXISTS orders_topic FROM KAFKA CONNECTION broker (TOPIC '{TOPIC}')",
            f"CREATE TABLE IF NOT EXISTS orders_raw {_FROM}",
            f"CREATE TABLE IF NOT EXISTS orders_log {_FROM} FORMAT JSON INCLUDE PARTITION, OFFSET, TIMESTAMP",
            f"CREATE TABLE IF NOT EXISTS orders {_FROM} KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT",
        ),
        tables=TABLES,
        query="SELECT data ->> 'state' AS state, count(*) AS orders,"
        " sum((data ->> 'amount')::numeric) AS amount FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
        title="orders by their newest state",
        columns=("state", "orders", "amount"),
        remark=lambda row: f"most are {row[0]}: {row[1]}",
    )


def run_kafka_demo(
    data_dir: Path,
    kafka_dir: Path,
    seconds: float | None,
    addresses: Addresses | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Run the demo of Kafka; returns when its time is over or the user has had enough."""
    jars = _jars(kafka_dir)
    java = java_command(os.environ)
    if java is None:
        raise UserError("java was not found in JAVA_HOME or PATH", "58000", hint="Run `headwater doctor`.")

    @contextmanager
    def upstream() -> Iterator[Show]:
        click.echo("starting a broker, which takes some seconds ...")
        with _broker(java, jars, demo_broker(data_dir), clock) as address, _writer(address):
            click.echo(f"broker          {address}")
            yield show_of(address)

    run_demo(data_dir, seconds, addresses, clock=clock, upstream=upstream)


def _jars(kafka_dir: Path) -> str:
    """What Java is to load Kafka from; the jars of an unpacked Kafka are in `libs`."""
    for folder in (kafka_dir / "libs", kafka_dir):
        if any(folder.glob("kafka_*.jar")):
            return f"{folder.absolute()}/*"
    raise UserError(
        f'there is no Kafka in "{kafka_dir}"',
        "58000",
        hint="Type `make kafka` in a checkout of Headwater, or unpack a Kafka of version 4 and let"
        " --kafka-dir name its folder.",
    )


# The broker


@contextmanager
def _broker(java: str, jars: str, folder: Path, clock: Clock) -> Iterator[Address]:
    """Where it listens; ended and waited for on the way out."""
    folder = folder.absolute()  # the child works there itself
    folder.mkdir(parents=True, exist_ok=True)
    listener = free_address(ADDRESS)
    controller = free_address(Address(ADDRESS.host, 0))
    settings = _settings(folder, listener, controller)
    log_path = folder / "log"
    with log_path.open("wb") as log:
        child = subprocess.Popen(
            [java, *_JAVA, "-cp", jars, "kafka.Kafka", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
        try:
            _await_topic(child, listener, log_path, clock)
            yield listener
        finally:
            stop_process(child)


def _settings(folder: Path, listener: Address, controller: Address) -> Path:
    """A broker that keeps its metadata itself; its folder as Kafka's tool for formatting leaves it."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    node = data / "meta.properties"
    if not node.exists():
        node.write_text(_NODE)
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{listener},CONTROLLER://{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
    }
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def _await_topic(child: subprocess.Popen[bytes], broker: Address, log_path: Path, clock: Clock) -> None:
    """Until the broker answers and has the topic."""
    admin = AdminClient({"bootstrap.servers": str(broker), "log_level": 0, "reconnect.backoff.max.ms": 200})
    deadline = clock.monotonic_s() + DEMO_START_S_MAX
    while True:
        try:
            if TOPIC in admin.list_topics(timeout=1).topics:
                return
            for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
                made.result(KAFKA_ANSWER_S_MAX)
        except KafkaException as error:
            why = error.args[0]
            if why.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
        hint = "Look at the log of the broker; if its data is of another Kafka, take another --data-dir."
        if child.poll() is not None:
            message = f"the broker ended with status {child.returncode}"
            raise with_last_words(message, "broker", log_path, hint)
        if clock.monotonic_s() > deadline:
            message = f"the broker was not ready within {DEMO_START_S_MAX:.0f} s"
            raise with_last_words(message, "broker", log_path, hint)
        clock.sleep(_POLL_S)


# Who writes


@contextmanager
def _writer(broker: Address) -> Iterator[None]:
    """Somebody who writes until the end."""
    stopping = threading.Event()
    thread = threading.Thread(target=_write, args=(broker, stopping), name="orders", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(KAFKA_ANSWER_S_MAX)


def _write(broker: Address, stopping: threading.Event) -> None:
    first = _written(broker)
    producer = Producer({"bootstrap.servers": str(broker), "log_level": 0, "linger.ms": 5})
    for key, value in orders(first):
        producer.produce(TOPIC, value, key)
        producer.poll(0)
        if stopping.wait(DEMO_WRITE_S):
            break
    producer.flush(1)


def _written(broker: Address) -> int:
    """How many messages the topic has had: an earlier demo's orders have smaller numbers."""
    admin = AdminClient({"bootstrap.servers": str(broker), "log_level": 0})
    asked: dict[TopicPartition, OffsetSpec] = {
        TopicPartition(TOPIC, number): OffsetSpec.latest() for number in range(PARTITIONS)
    }
    return sum(answer.result(KAFKA_ANSWER_S_MAX).offset for answer in admin.list_offsets(asked).values())


def orders(first: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values without an end; an order that is forgotten has no value."""
    chance = seeded(first)
    states: dict[int, int] = {}
    facts: dict[int, dict[str, Any]] = {}
    number = first
    while True:
        if not states or (len(states) < DEMO_ORDERS_OPEN_MAX and chance.random() < 0.3):
            number += 1
            states[number] = 0
            facts[number] = {"item": chance.choice(ITEMS), "amount": chance.randrange(500, 20_000) / 100}
            order = number
        else:
            order = chance.choice(list(states))
            states[order] += 1
        key = f"order-{order}".encode()
        if states[order] < len(STATES):
            yield key, json.dumps({**facts[order], "state": STATES[states[order]]}).encode()
        else:
            del states[order], facts[order]
            yield key, None
