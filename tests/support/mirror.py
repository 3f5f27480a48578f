"""Topics and what a server makes of them, for a test that has both for itself.

    here.topic(partitions=2)                a topic that is gone after the test
    here.source(topic)                      CREATE SOURCE s over it, in the test's schema
    here.run("CREATE TABLE ..")
    here.produce(topic, [(b"k", b"v")])     also waits until the sources have read it
    here.rows("SELECT * FROM t")

A schema of the server, with a connection `k` to the brokers.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import fastavro
from confluent_kafka import KafkaException

from headwater.core.clock import unique_name
from tests.support.here import Here
from tests.support.kafka import KafkaServer
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer, eventually
from tests.support.topics import SETTLED_S_MAX, Row

INTERVAL = "TIMESTAMP INTERVAL '200ms'"
READ_S_MAX = 60.0


class Mirror(Here):
    """A schema of a server, and topics of its own."""

    def __init__(self, server: HeadwaterServer, kafka: KafkaServer) -> None:
        super().__init__(server, f"k{unique_name()[:12]}")
        self.kafka = kafka
        self.topics: list[str] = []
        self._topics_of: dict[str, tuple[str, ...]] = {}  # by source
        brokers = ", ".join(f"'{address}'" for address in kafka.address().split(","))
        self.run(f"CREATE CONNECTION k TO KAFKA (BROKERS ({brokers}), SECURITY PROTOCOL PLAINTEXT)")

    def enter(self) -> None:
        """With a new session: that of before is gone with a server that was killed."""
        self.session.close()
        self.session = self.connect()

    def leave(self) -> None:
        """Nothing is left, here and upstream."""
        self.close()
        for topic in self.topics:
            self.kafka.delete_topic(topic)

    # Upstream

    def topic(self, partitions: int = 1, **config: Any) -> str:
        """A new topic; its name."""
        name = f"{self.schema}-{len(self.topics)}"
        self.kafka.create_topic(name, partitions, **config)
        self.topics.append(name)
        return name

    def produce(self, topic: str, rows: Iterable[Row]) -> None:
        """Rows that all sources of the topic have read when it returns."""
        self.kafka.produce(topic, rows)
        self.wait(topic)

    def settle(self, topic: str) -> None:
        """Until no transaction is open: the broker ends those a little after it has said so."""
        ends = self.kafka.end_offsets
        eventually(lambda: ends(topic) == ends(topic, committed=False), SETTLED_S_MAX)

    def wait(self, topic: str, within_s: float = READ_S_MAX) -> None:
        """Until the sources of a topic have read what is in it."""
        for source, of in self._topics_of.items():
            if topic in of:
                eventually(lambda source=source: self._read(source, topic), within_s=within_s)  # type: ignore[misc]

    def offsets(self, source: str = "s", topic: str = "") -> dict[int, int]:
        """By partition, what a source has read of its topic, or of one of several."""
        several = len(self._topics_of.get(source, ())) > 1
        where = f" WHERE topic = '{topic}'" if several else ""
        found = self.rows(f'SELECT partition::text, "offset" FROM {source}{where}')
        closed = [(text, offset) for text, offset in found if text.startswith("[")]
        return {int(text[1:].partition(",")[0]): int(offset) for text, offset in closed}

    def _read(self, source: str, topic: str) -> bool:
        """The ends are asked for each time: a new leader knows of some messages only a little later."""
        try:
            read, ends = self.offsets(source, topic), self.kafka.end_offsets(topic)
        except KafkaException as error:  # a broker that has just begun may not answer yet
            raise AssertionError(str(error)) from error
        assert read == ends, f"{source} has read {topic} to {read} of {ends}"
        return True

    # Here

    def source(
        self, topic: str, name: str = "s", *, options: str = "", clauses: str = "", connection: str = "k"
    ) -> None:
        """A source over a topic; one with clauses has its progress beside it."""
        self.run(
            f"CREATE SOURCE {name} FROM KAFKA CONNECTION {connection} (TOPIC '{topic}'{options})"
            f" {clauses} WITH ({INTERVAL})"
        )
        self._topics_of[f"{name}_progress" if clauses else name] = (topic,)

    def source_of(self, topics: Sequence[str], name: str, options: str = "") -> None:
        """A source over several topics."""
        listed = ", ".join(f"'{topic}'" for topic in topics)
        self.run(
            f"CREATE SOURCE {name} FROM KAFKA CONNECTION k (TOPICS ({listed}){options}) WITH ({INTERVAL})"
        )
        self._topics_of[name] = tuple(topics)

    def forget(self, source: str) -> None:
        """It is not waited for any more."""
        self._topics_of.pop(source, None)

    def refused(self, text: str) -> str:
        return str(self.error(text).message_primary)

    def status(self, name: str) -> tuple[str, str | None]:
        """Of a source or a table: the word and the error."""
        return self.status_of(name)[:2]

    def columns(self, name: str) -> list[tuple[str, bool, str]]:
        """Name, whether it may be NULL, type."""
        return [(row[0], row[1], row[2]) for row in self.rows(f"SHOW COLUMNS FROM {name}")]

    def registry(self, registry: RegistryServer, name: str = "csr") -> None:
        """A connection to it."""
        self.run(f"CREATE CONNECTION {name} TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')")


def record(name: str, /, **fields: Any) -> str:
    """An Avro schema: a field is its type, or the whole of it."""
    made = [
        {"name": field, **(type_ if isinstance(type_, dict) and "default" in type_ else {"type": type_})}
        for field, type_ in fields.items()
    ]
    return json.dumps({"type": "record", "name": name, "fields": made})


def avro(id_: int, schema: str, value: Any) -> bytes:
    """A message as Confluent's serializers write it."""
    out = io.BytesIO()
    out.write(b"\0" + struct.pack(">i", id_))
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), value)
    return out.getvalue()
