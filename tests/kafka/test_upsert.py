"""ENVELOPE UPSERT and DEBEZIUM: the last value of a key is its row, errors go, restarts re-read nothing.

Method: what each message does is looked at after the source has read it; then a server is killed, both
its processes, and nothing that could be read before is read from the broker again.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.topics import Row

UPSERT = "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT"
NULL_KEY = (
    "Envelope error: Upsert: Null key: record with NULL key in UPSERT source; to retract this error, produce"
    " a record upstream with a NULL key and NULL value"
)
REGISTRY = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"


def upsert(here: Mirror, clauses: str = UPSERT, rows: list[Row] | None = None) -> str:
    """A table `t` over a topic."""
    topic = here.topic()
    here.kafka.produce(topic, rows or [])
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s {clauses}")
    return topic


def test_the_last_value_of_a_key_is_its_row(here: Mirror) -> None:
    topic = upsert(here, rows=[(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"c", None)])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", "2"), ("b", "1")]
    here.produce(topic, [(b"b", None), (b"c", b"3"), (b"a", b"2"), (b"nobody", None)])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", "2"), ("c", "3")]
    here.produce(topic, [(b"d", b"%d" % n) for n in range(1000)])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", "2"), ("c", "3"), ("d", "999")]
    here.produce(topic, [(b"", b"of no letters"), (b"d", b"")])
    assert sorted(here.rows("SELECT * FROM t")) == [("", "of no letters"), ("a", "2"), ("c", "3"), ("d", "")]


def test_the_key_stands_in_front_and_can_be_named(here: Mirror) -> None:
    upsert(here, "KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE KEY AS k, OFFSET, PARTITION ENVELOPE UPSERT")
    assert here.columns("t") == [
        ("k", False, "text"),
        ("data", False, "jsonb"),
        ("offset", False, "uint8"),
        ("partition", False, "integer"),
    ]


def test_a_null_key_is_an_error_until_it_is_deleted(here: Mirror) -> None:
    topic = upsert(here)
    here.produce(topic, [(b"a", b"1"), (None, b"x")])
    assert NULL_KEY in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"a", b"2"), (None, b"y")])
    assert NULL_KEY in here.refused("SELECT * FROM t")
    here.produce(topic, [(None, None)])
    assert here.rows("SELECT * FROM t") == [("a", "2")]


def test_a_key_that_cannot_be_decoded_is_an_error_until_it_is_deleted(here: Mirror) -> None:
    topic = upsert(here)
    here.produce(topic, [(b"a", b"1"), (b"\xff", b"x"), (b"\xfe", b"y")])
    assert "Envelope error: Upsert: Key decode: " in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"\xff", None)])
    assert "original bytes: fe" in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"\xfe", None)])
    assert here.rows("SELECT * FROM t") == [("a", "1")]


def test_a_key_that_means_null_is_a_key_like_others(here: Mirror, registry: RegistryServer) -> None:
    """Avro's null has bytes; a null key has none, and is the error of whoever has no key."""
    topic = here.topic()
    nothing = '["null", "string"]'
    key_id = registry.register_schema(f"{topic}-key", nothing)

    def key(value: str | None) -> bytes:
        return avro(key_id, nothing, value)

    here.registry(registry)
    here.source(topic)
    create = f"FROM SOURCE s KEY FORMAT AVRO {REGISTRY} VALUE FORMAT TEXT ENVELOPE UPSERT"
    here.run(f"CREATE TABLE t {create}")
    here.produce(topic, [(key(None), b"1"), (key("a"), b"1"), (key(None), b"2")])
    rows = [(None, "2"), ("a", "1")]
    assert sorted(here.rows("SELECT * FROM t"), key=str) == sorted(rows, key=str)
    # Neither takes the other away.
    here.produce(topic, [(None, b"x"), (b"", b"y"), (b"\0", b"z")])
    assert "Envelope error: Upsert: " in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"", None), (b"\0", None)])
    assert NULL_KEY in here.refused("SELECT * FROM t")
    here.produce(topic, [(key(None), None)])
    assert NULL_KEY in here.refused("SELECT * FROM t")
    here.produce(topic, [(key(None), b"3"), (None, None)])
    rows = [(None, "3"), ("a", "1")]
    assert sorted(here.rows("SELECT * FROM t"), key=str) == sorted(rows, key=str)
    here.run(f"CREATE TABLE later {create}")
    assert sorted(here.rows("SELECT * FROM later"), key=str) == sorted(rows, key=str)
    here.produce(topic, [(key(None), None)])
    assert here.rows("SELECT * FROM t") == here.rows("SELECT * FROM later") == [("a", "1")]


def test_a_value_that_cannot_be_decoded_is_an_error_until_the_next_one(here: Mirror) -> None:
    topic = upsert(here, "KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT")
    here.produce(topic, [(b"a", b"1"), (b"b", b"{"), (b"c", b"[")])
    text = here.refused("SELECT * FROM t")
    assert "Envelope error: Upsert: Value error: Decode error: JSON: " in text
    assert "decoded key: " in text
    here.produce(topic, [(b"b", b"2")])
    assert 'decoded key: "c"' in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"c", None)])
    assert sorted(here.rows("SELECT key, data::text FROM t")) == [("a", "1"), ("b", "2")]
    here.produce(topic, [(b"a", b"]")])
    assert 'decoded key: "a"' in here.refused("SELECT * FROM t")
    here.produce(topic, [(b"a", b"3")])
    assert sorted(here.rows("SELECT key, data::text FROM t")) == [("a", "3"), ("b", "2")]


def test_what_was_before_an_error_is_told_without_it(here: Mirror) -> None:
    topic = upsert(here, f"{UPSERT} WITH (RETAIN HISTORY FOR '1h')", [(b"a", b"1")])
    ((began, _),) = here.rows("SELECT mz_now()::text::int8, * FROM (SELECT count(*) FROM t)")
    here.produce(topic, [(b"a", b"2")])
    ((ended, _),) = here.rows("SELECT mz_now()::text::int8, * FROM (SELECT count(*) FROM t)")
    here.produce(topic, [(b"a", b"\xff")])
    assert "Value error" in here.refused("SELECT * FROM t")
    told = f"SUBSCRIBE t WITH (SNAPSHOT = false) AS OF {began} UP TO {ended + 1}"
    with here.session.cursor() as cursor, cursor.copy(f"COPY ({told}) TO STDOUT".encode()) as copy:
        rows = [bytes(row).split(b"\t")[1:] for row in copy]
    assert sorted(rows) == [[b"-1", b"a", b"1\n"], [b"1", b"a", b"2\n"]]


def test_errors_are_rows_with_inline(here: Mirror) -> None:
    topic = upsert(
        here,
        "KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE AS wrong))",
    )
    assert [name for name, _, _ in here.columns("t")] == ["key", "wrong", "data"]
    here.produce(topic, [(b"a", b"1"), (b"b", b"{")])
    found = {key: (why, data) for key, why, data in here.rows("SELECT key, wrong::text, data::text FROM t")}
    assert found["a"] == (None, "1")
    why, data = found["b"]
    assert data is None
    assert "Decode error: JSON: " in why
    assert "original text: {" in why
    assert here.rows("SELECT key FROM t WHERE (wrong).description LIKE 'Decode error%'") == [("b",)]
    here.produce(topic, [(b"b", b"2"), (b"a", b"}")])
    assert sorted(here.rows("SELECT key, wrong::text IS NULL, data::text FROM t")) == [
        ("a", False, None),
        ("b", True, "2"),
    ]


def test_a_table_made_later_has_the_same_rows_and_errors(here: Mirror) -> None:
    topic = upsert(here, rows=[(b"k%d" % (n % 7), None if n % 5 == 0 else b"%d" % n) for n in range(500)])
    here.run(f"CREATE TABLE later FROM SOURCE s {UPSERT}")
    here.produce(topic, [(b"k1", b"new"), (b"k2", None)])
    assert sorted(here.rows("SELECT * FROM later")) == sorted(here.rows("SELECT * FROM t"))
    here.produce(topic, [(b"k3", b"\xff")])
    here.run(f"CREATE TABLE last FROM SOURCE s {UPSERT}")
    for table in ("t", "later", "last"):
        assert 'decoded key: "k3"' in here.refused(f"SELECT * FROM {table}")
    here.produce(topic, [(b"k3", b"good")])
    rows = sorted(here.rows("SELECT * FROM t"))
    assert ("k3", "good") in rows
    assert rows == sorted(here.rows("SELECT * FROM later")) == sorted(here.rows("SELECT * FROM last"))


ROW = record("row", id="int", name=["null", "string"], n="long")
CHANGE = json.dumps(
    {
        "type": "record",
        "name": "envelope",
        "fields": [
            {"name": "before", "type": ["null", json.loads(ROW)]},
            {"name": "after", "type": ["null", "row"]},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"]},
        ],
    }
)
KEY = record("key", id="int")


class Debezium:
    """Writes messages as its connector does."""

    def __init__(self, here: Mirror, registry: RegistryServer) -> None:
        self.here, self.topic = here, here.topic()
        self._key = registry.register_schema(f"{self.topic}-key", KEY)
        self._value = registry.register_schema(f"{self.topic}-value", CHANGE)

    def change(self, id_: int, before: Any, after: Any, op: str) -> Row:
        rows = [None if row is None else {"id": id_, "name": row[0], "n": row[1]} for row in (before, after)]
        message = {"before": rows[0], "after": rows[1], "op": op, "ts_ms": None}
        return self.key(id_), avro(self._value, CHANGE, message)

    def key(self, id_: int) -> bytes:
        return avro(self._key, KEY, {"id": id_})


def test_debezium_shows_what_was_after(here: Mirror, registry: RegistryServer) -> None:
    connector = Debezium(here, registry)
    change = connector.change
    first = [
        change(1, None, ("one", 1), "c"),
        change(2, None, (None, 2), "r"),
        change(3, None, ("three", 3), "c"),
    ]
    here.kafka.produce(connector.topic, first)
    here.registry(registry)
    here.source(connector.topic)
    here.run(f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY} ENVELOPE DEBEZIUM")
    assert here.columns("t") == [("id", False, "integer"), ("name", True, "text"), ("n", False, "bigint")]
    assert sorted(here.rows("SELECT * FROM t")) == [(1, "one", 1), (2, None, 2), (3, "three", 3)]
    here.produce(
        connector.topic,
        [
            change(1, ("one", 1), ("uno", 10), "u"),
            change(2, (None, 2), None, "d"),
            (connector.key(2), None),
            change(3, ("three", 3), ("three", 4), "u"),
            change(3, ("three", 3), ("three", 4), "u"),  # a connector that was started again
            (connector.key(9), None),
        ],
    )
    assert sorted(here.rows("SELECT * FROM t")) == [(1, "uno", 10), (3, "three", 4)]
    here.produce(connector.topic, [(connector.key(1), b"\0\0\0\0\1nonsense"), (connector.key(3), b"x")])
    assert "Envelope error: Upsert: Value error: " in here.refused("SELECT * FROM t")
    here.produce(connector.topic, [change(1, None, ("eins", 1), "r"), (connector.key(3), None)])
    assert here.rows("SELECT * FROM t") == [(1, "eins", 1)]


def test_what_a_connector_sends_again_does_no_harm(here: Mirror, registry: RegistryServer) -> None:
    """All since its last commit, in the same order: rows are back where they were at the end of it."""
    connector = Debezium(here, registry)
    change = connector.change
    sent = [
        change(1, None, ("one", 1), "c"),
        change(2, None, ("two", 2), "c"),
        change(1, ("one", 1), ("uno", 1), "u"),
        change(2, ("two", 2), None, "d"),
        (connector.key(2), None),
        change(3, None, ("three", 3), "c"),
    ]
    here.kafka.produce(connector.topic, sent)
    here.registry(registry)
    here.source(connector.topic)
    here.run(f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY} ENVELOPE DEBEZIUM")
    rows = [(1, "uno", 1), (3, "three", 3)]
    assert sorted(here.rows("SELECT * FROM t")) == rows
    for again in (sent, sent[2:], sent):
        here.produce(connector.topic, again)
        assert sorted(here.rows("SELECT * FROM t")) == rows
    here.run(f"CREATE TABLE later FROM SOURCE s FORMAT AVRO {REGISTRY} INCLUDE OFFSET ENVELOPE DEBEZIUM")
    assert sorted(here.rows("SELECT id, name, n FROM later")) == rows


def test_what_else_is_in_the_messages_is_not_looked_at(here: Mirror, registry: RegistryServer) -> None:
    """No `before`, a key of columns in another order than the row has, the block of a transaction."""
    topic = here.topic()
    row = record("row", a="int", name="string", b="string")
    block = record("block", id="string", total_order="long")
    fields = [
        {"name": "transaction", "type": ["null", json.loads(block)]},
        {"name": "op", "type": "string"},
        {"name": "after", "type": ["null", json.loads(row)]},
        {"name": "source", "type": json.loads(record("source", lsn="long"))},
    ]
    value = json.dumps({"type": "record", "name": "envelope", "fields": fields})
    key = record("key", b="string", a="int")
    key_id = registry.register_schema(f"{topic}-key", key)
    value_id = registry.register_schema(f"{topic}-value", value)

    def change(a: int, b: str, name: str | None, op: str = "whatever") -> Row:
        after = None if name is None else {"a": a, "name": name, "b": b}
        told = {"transaction": {"id": "7", "total_order": a}, "op": op, "after": after, "source": {"lsn": 1}}
        return avro(key_id, key, {"b": b, "a": a}), avro(value_id, value, told)

    here.registry(registry)
    here.source(topic)
    here.run(f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY} ENVELOPE DEBEZIUM")
    here.produce(topic, [change(1, "x", "one"), change(1, "y", "two"), change(1, "x", "three")])
    assert sorted(here.rows("SELECT a, name, b FROM t")) == [(1, "three", "x"), (1, "two", "y")]
    here.produce(topic, [change(1, "x", None)])
    assert here.rows("SELECT a, name, b FROM t") == [(1, "two", "y")]
    # That the table was emptied upstream is no change of a row: it is not passed over.
    here.produce(topic, [(None, change(1, "x", None, "t")[1])])
    assert NULL_KEY in here.refused("SELECT * FROM t")
    here.produce(topic, [(None, None)])
    assert here.rows("SELECT a, name, b FROM t") == [(1, "two", "y")]


def test_a_topic_of_transactions_has_no_rows_to_show(here: Mirror, registry: RegistryServer) -> None:
    """Debezium's own topic beside those of tables: nothing has to be done about it, and it can be read."""
    topic = here.topic()
    key, value = record("key", id="string"), record("value", status="string", id="string")
    key_id = registry.register_schema(f"{topic}-key", key)
    value_id = registry.register_schema(f"{topic}-value", value)
    here.registry(registry)
    here.source(topic)
    create = f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY} ENVELOPE"
    assert here.refused(f"{create} DEBEZIUM") == "'after' column missing from debezium input"
    here.run(f"{create} NONE")
    sent = [
        (avro(key_id, key, {"id": "7"}), avro(value_id, value, {"id": "7", "status": s}))
        for s in ("BEGIN", "END")
    ]
    here.produce(topic, sent)
    assert sorted(here.rows("SELECT status, id FROM t")) == [("BEGIN", "7"), ("END", "7")]


def test_debezium_wants_a_key_that_is_in_the_rows(here: Mirror, registry: RegistryServer) -> None:
    here.registry(registry)
    create = f"CREATE TABLE t FROM SOURCE s FORMAT AVRO {REGISTRY} ENVELOPE DEBEZIUM"
    topic = here.topic()
    here.source(topic)
    registry.register_schema(f"{topic}-value", CHANGE)
    assert here.refused(create) == "Key schema is required for ENVELOPE DEBEZIUM"
    registry.register_schema(f"{topic}-key", record("key", other="int"))
    assert here.refused(create) == "Value schema missing primary key column: other"
    topic = here.topic()
    here.source(topic, "s2")
    registry.register_schema(f"{topic}-value", ROW)
    registry.register_schema(f"{topic}-key", KEY)
    assert (
        here.refused(create.replace("SOURCE s ", "SOURCE s2 "))
        == "'after' column missing from debezium input"
    )
    assert here.refused(
        create.replace("FORMAT AVRO", "FORMAT AVRO").replace("ENVELOPE", "INCLUDE KEY ENVELOPE")
    )
