"""ALTER TABLE .. ADD COLUMN on tables of messages: a field of a newer schema, for all rows or not at all.

Method: messages of two schemas; a table made with the first gets the field that the second has, and is
compared with one that was made with the second. What cannot be is refused, and the table is as it was.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.server import eventually
from tests.support.topics import Row

REGISTRY = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
UPSERT = f"KEY FORMAT TEXT VALUE FORMAT AVRO {REGISTRY} ENVELOPE UPSERT"
FIRST = record("v", id="int", name=["null", "string"])
SECOND = record("v", id="int", mood={"type": "string", "default": "calm"}, name=["null", "string"])


class Writer:
    """Writes messages of two schemas; the second is registered when it is told."""

    def __init__(self, here: Mirror, registry: RegistryServer, partitions: int = 1, **config: Any) -> None:
        self.here, self._registry = here, registry
        self.topic = here.topic(partitions=partitions, **config)
        here.registry(registry)
        here.source(self.topic)
        self._ids = {FIRST: self.register(FIRST)}

    def register(self, schema: str) -> int:
        return self._registry.register_schema(f"{self.topic}-value", schema)

    def evolve(self, schema: str = SECOND) -> None:
        self._ids[schema] = self.register(schema)

    def first(self, id_: int, name: str | None = None) -> Row:
        return b"%d" % id_, avro(self._ids[FIRST], FIRST, {"id": id_, "name": name})

    def second(self, id_: int, mood: str, name: str | None = None) -> Row:
        return b"%d" % id_, avro(self._ids[SECOND], SECOND, {"id": id_, "mood": mood, "name": name})


def alike(here: Mirror, one: str, other: str, columns: str) -> None:
    rows = here.rows(f"SELECT {columns} FROM {one}")
    assert sorted(rows, key=str) == sorted(here.rows(f"SELECT {columns} FROM {other}"), key=str)


@pytest.mark.parametrize("clauses", [UPSERT, f"FORMAT AVRO {REGISTRY}"])
def test_a_new_field_is_there_for_all_rows(here: Mirror, registry: RegistryServer, clauses: str) -> None:
    writer = Writer(here, registry, partitions=2)
    here.run(f"CREATE TABLE t FROM SOURCE s {clauses}", "CREATE VIEW v AS SELECT * FROM t")
    here.produce(writer.topic, [writer.first(n, f"n{n}") for n in range(300)])
    before = here.columns("t")
    writer.evolve()
    here.produce(writer.topic, [writer.second(n, f"m{n}") for n in range(100, 200)])
    here.produce(writer.topic, [writer.first(150, "again"), (b"7", None)])
    here.run("ALTER TABLE t ADD COLUMN mood FROM UPSTREAM")
    assert here.columns("t") == [*before, ("mood", False, "text")]
    here.run(f"CREATE TABLE u FROM SOURCE s {clauses}")
    alike(here, "t", "u", "id, name, mood")
    expected = (299, 200) if clauses == UPSERT else (401, 301)
    assert here.rows("SELECT count(*), count(*) FILTER (WHERE mood = 'calm') FROM t") == [expected]
    here.produce(writer.topic, [writer.second(1, "wild"), writer.second(500, "new"), writer.first(501)])
    alike(here, "t", "u", "id, name, mood")
    assert [name for name, _, _ in here.columns("v")] == [name for name, _, _ in before]
    assert here.rows("SELECT count(*) FROM v") == here.rows("SELECT count(*) FROM t")


def test_parts_of_messages_can_be_added_to_any_format(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    here.kafka.produce(topic, [(b"a", b"1", 0), (b"b", b"2", 1)])
    here.source(topic)
    here.run(
        "CREATE TABLE j FROM SOURCE s FORMAT JSON",
        "CREATE TABLE u (k, v) FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT",
    )
    here.run('ALTER TABLE j ADD COLUMN partition, ADD COLUMN "offset"', 'ALTER TABLE u ADD COLUMN "offset"')
    here.produce(topic, [(b"a", b"3", 0)])
    assert sorted(here.rows('SELECT data::text, partition, "offset"::int8 FROM j')) == [
        ("1", 0, 0),
        ("2", 1, 0),
        ("3", 0, 1),
    ]
    assert sorted(here.rows('SELECT k, v, "offset"::int8 FROM u')) == [("a", "3", 1), ("b", "2", 0)]
    for name in "ju":
        rows = here.rows(f"SELECT * FROM {name}")
        shown = here.rows(f"SHOW CREATE TABLE {name}")[0][1]
        here.run(f"DROP TABLE {name}", shown)
        assert sorted(here.rows(f"SELECT * FROM {name}")) == sorted(rows)


def test_protobuf_gets_fields_by_number(here: Mirror, registry: RegistryServer) -> None:
    topic = here.topic()
    first = 'syntax = "proto3"; message M { int64 id = 1; }'
    second = 'syntax = "proto3"; message M { string name = 2; int64 id = 1; }'
    frame = b"\0" + registry.register_schema(f"{topic}-value", first, "PROTOBUF").to_bytes(4, "big") + b"\0"
    here.registry(registry)
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT PROTOBUF {REGISTRY} ENVELOPE UPSERT")
    # The field was sent before the schema was known here.
    here.produce(topic, [(b"a", frame + b"\x08\x07\x12\x02hi"), (b"b", frame + b"\x08\x09")])
    assert here.rows("SELECT * FROM t ORDER BY key") == [("a", 7), ("b", 9)]
    registry.register_schema(f"{topic}-value", second, "PROTOBUF")
    here.run("ALTER TABLE t ADD COLUMN name")
    assert here.rows("SELECT * FROM t ORDER BY key") == [("a", 7, "hi"), ("b", 9, "")]


def test_rows_whose_messages_are_gone_are_not_made_up(here: Mirror, registry: RegistryServer) -> None:
    writer = Writer(here, registry)
    here.run(
        f"CREATE TABLE log FROM SOURCE s FORMAT AVRO {REGISTRY}", f"CREATE TABLE t FROM SOURCE s {UPSERT}"
    )
    here.produce(writer.topic, [writer.first(n) for n in range(10)])
    for table in ("t", "log"):  # they have all rows before messages go
        assert here.rows(f"SELECT count(*) FROM {table}") == [(10,)]
    writer.evolve()
    here.kafka.delete_records(writer.topic, {0: 3})
    here.produce(writer.topic, [writer.second(n, "x") for n in range(1, 10)])
    for table in ("t", "log"):
        every = f"SELECT * FROM {table} ORDER BY id"
        rows, columns = here.rows(every), here.columns(table)
        error = here.error(f"ALTER TABLE {table} ADD COLUMN mood")
        assert "the topic no longer has the messages of rows (0" in str(error.message_primary)
        assert "The table is as it was. Create a second table" in str(error.message_hint)
        assert here.rows(every) == rows
        assert here.columns(table) == columns
    # The only key without a message gets one: now the upsert table can be filled.
    here.produce(writer.topic, [writer.second(0, "y")])
    here.run("ALTER TABLE t ADD COLUMN mood")
    assert here.rows("SELECT mood, count(*) FROM t GROUP BY mood ORDER BY mood") == [("x", 9), ("y", 1)]
    assert "could not be added" in here.refused("ALTER TABLE log ADD COLUMN mood")
    eventually(lambda: here.status("log") == ("running", None))


def test_a_default_that_became_another_is_not_taken_for_the_same(
    here: Mirror, registry: RegistryServer
) -> None:
    writer = Writer(here, registry)
    writer.evolve()
    here.produce(writer.topic, [writer.first(1)])
    here.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}")
    mood = {"type": "string", "default": "wild"}
    writer.evolve(
        record("v", id="int", mood=mood, name=["null", "string"], more={"type": "int", "default": 0})
    )
    assert "do not come to what the table has" in here.refused("ALTER TABLE t ADD COLUMN more")
    assert here.rows("SELECT mood FROM t") == [("calm",)]


@pytest.mark.parametrize(
    ("schema", "column", "text"),
    [
        (SECOND, "nope", 'column "nope" does not exist in the newest schema'),
        (SECOND, "name", 'column "name" of relation "t" already exists'),
        (
            record("v", id="int", mood="string", name=["null", "string"]),
            "mood",
            "incompatible schema change: the schema",
        ),
        (
            record("v", id="int", mood={"type": "int", "default": 1}),
            "mood",
            'incompatible schema change: "name"',
        ),
        (
            record("v", id="long", mood={"type": "int", "default": 1}, name=["null", "string"]),
            "mood",
            'incompatible schema change: "id"',
        ),
        (
            record("v", id=["null", "int"], mood={"type": "int", "default": 1}, name=["null", "string"]),
            "mood",
            'incompatible schema change: "id"',
        ),
    ],
)
def test_what_cannot_be_is_refused(
    here: Mirror, registry: RegistryServer, schema: str, column: str, text: str
) -> None:
    writer = Writer(here, registry)
    here.run(f"CREATE TABLE t FROM SOURCE s {UPSERT}")
    registry.ask("PUT", f"/config/{writer.topic}-value", {"compatibility": "NONE"})
    writer.evolve(schema)
    assert here.refused(f"ALTER TABLE t ADD COLUMN {column}").startswith(text)


def test_formats_without_fields_are_refused_by_name(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run("CREATE TABLE j FROM SOURCE s FORMAT JSON", "CREATE TABLE raw FROM SOURCE s")
    for table, format_ in (("j", "JSON"), ("raw", "BYTES")):
        error = here.error(f"ALTER TABLE {table} ADD COLUMN more")
        assert str(error.message_primary).startswith(
            f'column "more" cannot be added: messages in {format_} have'
        )
        assert "second table" in str(error.message_hint)
