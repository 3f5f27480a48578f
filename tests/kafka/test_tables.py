"""One topic, many tables: every format, INCLUDE, names of columns, and tables that come later.

Method: a topic and a source of the test's own on the shared server; rows are compared with what was produced.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror, avro, record
from tests.support.registry import RegistryServer
from tests.support.server import HeadwaterServer, eventually

AT_MS = 1_700_000_000_123
AT = datetime.fromtimestamp(AT_MS / 1000, UTC).replace(tzinfo=None)
REGISTRY = "USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"


def test_tables_of_several_formats_show_the_same_messages(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    here.kafka.produce(topic, [(b"a", b'{"n": 1}', 0), (b"b", b"[2, 3]", 1)])
    here.source(topic)
    here.run(
        "CREATE TABLE raw FROM SOURCE s",
        f'CREATE TABLE bytes FROM SOURCE s (REFERENCE "{topic}") FORMAT BYTES',
        "CREATE TABLE text FROM SOURCE s FORMAT TEXT",
        "CREATE TABLE json FROM SOURCE s FORMAT JSON",
        "CREATE TABLE keyed FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT BYTES INCLUDE KEY",
    )
    assert sorted(here.rows("SELECT * FROM raw")) == [(b"a", b'{"n": 1}'), (b"b", b"[2, 3]")]
    here.produce(topic, [(None, b'"x"', 0), (b"c", b"null", 1)])
    values = [b'"x"', b"[2, 3]", b"null", b'{"n": 1}']
    keys = [None, b"b", b"c", b"a"]
    assert sorted(here.rows("SELECT * FROM bytes")) == [(value,) for value in values]
    assert sorted(here.rows("SELECT * FROM text")) == [(value.decode(),) for value in values]
    found = here.rows("SELECT data::text FROM json")
    assert sorted(found) == [('"x"',), ("[2, 3]",), ("null",), ('{"n": 1}',)]
    pairs = list(zip(keys, values, strict=True))
    assert sorted(here.rows("SELECT * FROM raw"), key=str) == sorted(pairs, key=str)
    texts = [(None if key is None else key.decode(), value) for key, value in pairs]
    assert sorted(here.rows("SELECT * FROM keyed"), key=str) == sorted(texts, key=str)
    assert here.columns("raw") == [("key", True, "bytea"), ("value", True, "bytea")]
    assert here.columns("bytes") == [("data", False, "bytea")]
    assert here.columns("text") == [("text", False, "text")]
    assert here.columns("json") == [("data", False, "jsonb")]


def test_every_metadata_can_be_included(here: Mirror) -> None:
    topic = here.topic(partitions=2)
    headers = [("h", b"one"), ("other", None), ("h", b"two")]
    here.kafka.produce(topic, [(b"a", b"x", 1, headers, AT_MS)])
    here.source(topic)
    here.run(
        "CREATE TABLE t FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT"
        " INCLUDE OFFSET, PARTITION AS p, TIMESTAMP AS at, HEADERS, HEADER 'h' AS h,"
        " HEADER 'other' AS o BYTES"
    )
    assert here.columns("t") == [
        ("text", False, "text"),
        ("offset", False, "uint8"),
        ("p", False, "integer"),
        ("at", True, "timestamp without time zone"),
        ("headers", False, "record(key: text,value: bytea) list"),
        ("h", True, "text"),
        ("o", True, "bytea"),
    ]
    found = here.rows('SELECT text, "offset"::int8, p, at, headers::text, h, o FROM t')
    shown = '{"(h,\\"\\\\\\\\x6f6e65\\")","(other,)","(h,\\"\\\\\\\\x74776f\\")"}'
    assert [(*row[:4], *row[5:]) for row in found] == [("x", 0, 1, AT, "two", None)]
    assert found[0][4] == shown


def test_columns_are_named_by_a_list(here: Mirror) -> None:
    topic = here.topic()
    here.kafka.produce(topic, [(b"a", b"x")])
    here.source(topic)
    here.run(
        "CREATE TABLE t (k, v, place) FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT"
        " INCLUDE KEY AS key2, OFFSET"
    )
    assert here.rows("SELECT k, v, place::int8 FROM t") == [("a", "x", 0)]
    assert here.refused("CREATE TABLE u (k, v) FROM SOURCE s FORMAT TEXT") == (
        "2 column names were given, but the reference has 1 columns"
    )
    shown = here.rows("SHOW CREATE TABLE t")[0][1]
    here.run("DROP TABLE t", shown)
    assert here.rows("SELECT k, v, place::int8 FROM t") == [("a", "x", 0)]


def test_a_table_that_is_added_later_has_everything_and_goes_on(here: Mirror) -> None:
    topic = here.topic(partitions=3)
    messages = [(b"%d" % (n % 50), b'{"n": %d}' % n) for n in range(1000)]
    here.kafka.produce(topic, messages[:400])
    here.source(topic)
    here.run("CREATE TABLE first FROM SOURCE s FORMAT JSON")
    here.produce(topic, messages[400:600])
    here.run(
        "CREATE TABLE second FROM SOURCE s FORMAT JSON INCLUDE PARTITION, OFFSET",
        "CREATE TABLE last FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT",
    )
    here.produce(topic, messages[600:])
    whole = [(1000, 499500)]
    for table in ("first", "second"):
        assert here.rows(f"SELECT count(*), sum((data->'n')::int4)::int8 FROM {table}") == whole
    assert here.rows('SELECT count(DISTINCT (partition, "offset")) FROM second') == [(1000,)]
    assert here.rows("SELECT count(*), min((data->'n')::int4) FROM last") == [(50, 950)]


def test_avro_makes_columns_of_fields(here: Mirror, registry: RegistryServer) -> None:
    topic = here.topic()
    key, value = record("k", id="long"), record("v", x="int", y=["null", "string"], z="double")
    key_id = registry.register_schema(f"{topic}-key", key)
    value_id = registry.register_schema(f"{topic}-value", value)
    here.kafka.produce(
        topic,
        [
            (
                avro(key_id, key, {"id": n}),
                avro(value_id, value, {"x": n, "y": str(n) if n % 2 else None, "z": 0.5}),
            )
            for n in range(4)
        ],
    )
    here.registry(registry)
    here.source(topic)
    here.run(
        f"CREATE TABLE v FROM SOURCE s FORMAT AVRO {REGISTRY}",
        f"CREATE TABLE kv FROM SOURCE s KEY FORMAT AVRO {REGISTRY} VALUE FORMAT AVRO {REGISTRY} INCLUDE KEY",
        f"CREATE TABLE named FROM SOURCE s KEY FORMAT AVRO {REGISTRY} VALUE FORMAT TEXT INCLUDE KEY AS n",
    )
    rows = [(n, str(n) if n % 2 else None, 0.5) for n in range(4)]
    assert sorted(here.rows("SELECT * FROM v")) == rows
    assert sorted(here.rows("SELECT * FROM kv")) == [(n, *row) for n, row in enumerate(rows)]
    assert here.columns("kv") == [
        ("id", True, "bigint"),
        ("x", False, "integer"),
        ("y", True, "text"),
        ("z", False, "double precision"),
    ]
    assert "topic" not in here.rows("SHOW CREATE TABLE v")[0][1]


def test_a_message_without_a_value_is_no_row_of_a_format(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run(
        "CREATE TABLE raw FROM SOURCE s",
        "CREATE TABLE t FROM SOURCE s FORMAT TEXT",
        "CREATE TABLE j FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE KEY",
    )
    here.produce(topic, [(b"a", None), (b"b", b"1"), (None, None), (None, b"2")])
    assert sorted(here.rows("SELECT * FROM raw"), key=str) == sorted(
        [(b"a", None), (b"b", b"1"), (None, None), (None, b"2")], key=str
    )
    here.produce(topic, [(b"c", None, 0)])
    assert sorted(here.rows("SELECT * FROM t")) == [("1",), ("2",)]
    assert sorted(here.rows("SELECT key, data::text FROM j"), key=str) == [("b", "1"), (None, "2")]


def test_a_bad_message_ends_its_table_and_no_other(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run(
        "CREATE TABLE raw FROM SOURCE s",
        "CREATE TABLE t FROM SOURCE s FORMAT TEXT",
        "CREATE TABLE j FROM SOURCE s FORMAT JSON",
    )
    here.produce(topic, [(None, b"1"), (None, b"not json"), (None, b"3")])
    assert here.rows("SELECT count(*) FROM raw") == [(3,)]
    assert here.rows("SELECT count(*) FROM t") == [(3,)]
    text = eventually(lambda: here.refused("SELECT * FROM j"))
    assert "Decode error: JSON: " in text
    assert "(original text: not json, original bytes: 6e6f74206a736f6e)" in text
    word, error = here.status("j")
    assert word == "failed"
    assert "Decode error" in str(error)
    here.produce(topic, [(None, b"\xff")])
    assert here.rows("SELECT count(*) FROM raw") == [(4,)]
    assert "Decode error: TEXT: " in eventually(lambda: here.refused("SELECT * FROM t"))
    # A table over bad messages fails by itself, and is told why.
    here.run("CREATE TABLE again FROM SOURCE s FORMAT JSON")
    assert "Decode error: JSON: " in eventually(lambda: here.refused("SELECT * FROM again"))
    here.produce(topic, [(None, b"5")])
    assert here.rows("SELECT count(*) FROM raw") == [(5,)]


def test_a_message_of_a_schema_that_there_is_not_is_a_bad_message(
    here: Mirror, registry: RegistryServer
) -> None:
    topic = here.topic()
    schema = record("r", x="int")
    for part in ("key", "value"):
        id_ = registry.register_schema(f"{topic}-{part}", schema)
    here.registry(registry)
    here.source(topic)
    here.run(
        "CREATE TABLE raw FROM SOURCE s",
        f"CREATE TABLE log FROM SOURCE s FORMAT AVRO {REGISTRY}",
        f"CREATE TABLE t FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT AVRO {REGISTRY} ENVELOPE UPSERT",
    )
    good = avro(id_, schema, {"x": 1})
    here.produce(topic, [(b"a", good), (b"b", avro(2_000_000, schema, {"x": 2}))])
    assert here.rows("SELECT count(*) FROM raw") == [(2,)]
    told = "schema with id 2000000 cannot be had: schema registry"
    assert told in eventually(lambda: here.refused("SELECT * FROM log"))
    assert "takes the newest schema of the registry" in str(here.error("SELECT * FROM log").message_hint)
    assert told in eventually(lambda: here.refused("SELECT * FROM t"))
    here.produce(topic, [(b"b", good)])
    assert sorted(here.rows("SELECT * FROM t")) == [("a", 1), ("b", 1)]


def test_a_header_that_is_not_there_ends_the_table(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    here.run(
        "CREATE TABLE raw FROM SOURCE s",
        "CREATE TABLE t FROM SOURCE s FORMAT TEXT INCLUDE HEADER 'h' AS h",
        "CREATE TABLE u FROM SOURCE s KEY FORMAT TEXT VALUE FORMAT TEXT INCLUDE HEADER 'h' AS h"
        " ENVELOPE UPSERT",
    )
    here.produce(topic, [(b"a", b"x", None, [("h", b"1")])])
    assert here.rows("SELECT * FROM t") == [("x", "1")]
    here.produce(topic, [(b"a", b"y", None, [("g", b"1"), ("i", b"2")])])
    missing = "A header with key 'h' was not found in the message headers"
    said = eventually(lambda: here.error("SELECT * FROM t"))
    assert missing in str(said.message_primary)
    assert "leaves HEADER out" in str(said.message_hint)
    assert missing in here.refused("SELECT * FROM u")
    here.produce(topic, [(b"a", b"z", None, [("h", b"3")])])
    assert here.rows("SELECT * FROM u") == [("a", "z", "3")]
    assert here.rows("SELECT count(*) FROM raw") == [(3,)]


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        (
            "FORMAT TEXT INCLUDE KEY",
            "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare FORMAT",
        ),
        ("FORMAT TEXT ENVELOPE UPSERT", "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified"),
        ("ENVELOPE UPSERT", "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified"),
        (
            "KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE DEBEZIUM",
            "ENVELOPE DEBEZIUM requires that VALUE FORMAT is set to AVRO",
        ),
        (f"FORMAT AVRO {REGISTRY}", "No value schema found"),
        (f"FORMAT AVRO {REGISTRY} ENVELOPE UPSERT", "No value schema found"),
        (
            "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION k",
            "k is not a CONFLUENT SCHEMA REGISTRY CONNECTION",
        ),
        ("FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION no", "unknown catalog item 'no'"),
        ("FORMAT TEXT INCLUDE OFFSET AS text", 'column "text" specified more than once'),
        ("FORMAT JSON ARRAY", "JSON ARRAY format in sources not yet supported"),
        ("FORMAT AVRO USING SCHEMA '{'", "a schema of Avro is not JSON"),
        ("ENVELOPE MATERIALIZE", "ENVELOPE MATERIALIZE not yet supported"),
    ],
)
def test_what_cannot_be_is_refused(refusing: Mirror, clauses: str, text: str) -> None:
    said = refusing.refused(f"CREATE TABLE t FROM SOURCE s {clauses}")
    assert said.startswith(text)


@pytest.fixture(scope="module")
def refusing(server: HeadwaterServer, kafka: KafkaServer, registry: RegistryServer) -> Iterator[Mirror]:
    """A source of which no table can be made."""
    here = Mirror(server, kafka)
    here.registry(registry)
    here.source(here.topic())
    yield here
    here.leave()


def test_the_one_reference_is_the_topic(here: Mirror) -> None:
    topic = here.topic()
    here.source(topic)
    assert here.refused("CREATE TABLE t FROM SOURCE s (REFERENCE nope) FORMAT TEXT") == (
        "reference to nope not found in source"
    )
    here.run("CREATE TABLE t FROM SOURCE s FORMAT TEXT")
    shown = here.rows("SHOW CREATE TABLE t")[0][1]
    assert f'(REFERENCE = "{topic}")\nFORMAT TEXT' in shown
    with pytest.raises(psycopg.Error, match="unknown catalog item 'gone'"):
        here.rows("SELECT * FROM gone")
    assert here.rows(
        "SELECT topic, envelope_type, key_format, value_format FROM mz_internal.mz_kafka_source_tables"
        f" WHERE topic = '{topic}'"
    ) == [(topic, "none", None, "text")]


def test_csv_parts_of_a_text_and_protobuf_become_columns(here: Mirror, registry: RegistryServer) -> None:
    lines, words, messages = here.topic(), here.topic(), here.topic()
    schema = 'syntax = "proto3"; message M { int64 id = 1; string name = 2; }'
    frame = (
        b"\0" + registry.register_schema(f"{messages}-value", schema, "PROTOBUF").to_bytes(4, "big") + b"\0"
    )
    here.kafka.produce(lines, [(None, b'1,"a,b"'), (None, b"2,c")])
    here.kafka.produce(words, [(None, b"GET /x 200")])
    here.kafka.produce(messages, [(b"k", frame + b"\x08\x07\x12\x02hi"), (b"k", frame + b"\x08\x09")])
    here.registry(registry)
    for name, topic in (("s", lines), ("w", words), ("m", messages)):
        here.source(topic, name)
    here.run(
        "CREATE TABLE c FROM SOURCE s FORMAT CSV WITH HEADERS (n, t)",
        r"CREATE TABLE r FROM SOURCE w FORMAT REGEX '^(?P<verb>\w+) (?P<path>\S+) (\d+)$'",
        "CREATE TABLE p FROM SOURCE m KEY FORMAT TEXT"
        " VALUE FORMAT PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION csr ENVELOPE UPSERT",
    )
    assert here.rows("SELECT * FROM c ORDER BY n") == [("1", "a,b"), ("2", "c")]
    assert here.rows("SELECT verb, path, column3 FROM r") == [("GET", "/x", "200")]
    assert here.rows("SELECT * FROM p") == [("k", 9, "")]
