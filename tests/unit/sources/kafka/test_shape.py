"""What FORMAT, INCLUDE and ENVELOPE make of a topic: columns, keys, and what is refused.

Method: clauses as they are written, and a registry that is a dict of subjects.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.core.errors import UserError
from headwater.core.relation import Relation
from headwater.sources.contract import Reference
from headwater.sources.kafka import shape
from headwater.sources.kafka.registry import Registry, Schema
from headwater.sources.kafka.shape import encoded
from headwater.sql.cursor import Cursor
from headwater.sql.encoding import parse_encoding
from headwater.sql.lexer import tokenize
from tests.support.mirror import record

CSR = "USING CONFLUENT SCHEMA REGISTRY CONNECTION c"
ROW = record("row", id="int", name=["null", "string"], n="long")
SUBJECTS = {
    "t-key": record("key", id="int"),
    "t-value": record("value", x="int", y="string"),
    "pair-key": record("key", b="int", a="string"),
    "pair-value": record("value", a="string", x="int"),
    "plain-value": record("value", x="int"),
    "change-key": record("key", id="int"),
    "change-value": json.dumps(
        {
            "type": "record",
            "name": "e",
            "fields": [
                {"name": "before", "type": ["null", json.loads(ROW)]},
                {"name": "op", "type": "string"},
                {"name": "after", "type": ["null", "row"]},
            ],
        }
    ),
}


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the connection, the subjects of this file."""

    class Kept(Registry):
        def latest(self, subject: str) -> Schema | None:
            text = SUBJECTS.get(subject)
            return None if text is None else Schema(1, "AVRO", text)

    monkeypatch.setattr(shape, "Registry", Kept)


def no_secrets(id_: str) -> bytes:
    raise AssertionError(f"secret {id_} was not to be asked for")


def shaped(clauses: str, topic: str = "t") -> Reference:
    cursor = Cursor(clauses, tokenize(clauses))
    encoding = parse_encoding(cursor)
    cursor.expect_end()
    known: dict[str, tuple[str, Any]] = {"c": ("u1", {"url": "http://registry"})}
    return encoded(no_secrets, Reference((), topic, Relation(()), "appended"), encoding, known)


def columns(reference: Reference) -> str:
    return ", ".join(
        f"{column.name} {column.type}{'?' if column.nullable else ''}"
        for column in reference.relation.columns
    )


@pytest.mark.parametrize(
    ("clauses", "wanted"),
    [
        ("", "key bytea?, value bytea?"),
        ("INCLUDE OFFSET", "key bytea?, value bytea?, offset uint8"),
        ("FORMAT BYTES", "data bytea"),
        ("FORMAT TEXT", "text text"),
        ("FORMAT JSON ENVELOPE NONE", "data jsonb"),
        ("KEY FORMAT TEXT VALUE FORMAT JSON", "data jsonb"),
        ("FORMAT TEXT INCLUDE PARTITION, OFFSET AS o", "text text, partition integer, o uint8"),
        ("FORMAT TEXT INCLUDE HEADER 'a' AS h, HEADER 'b' AS i BYTES", "text text, h text?, i bytea?"),
        (f"FORMAT AVRO {CSR}", "x integer, y text"),
        (f"KEY FORMAT AVRO {CSR} VALUE FORMAT TEXT INCLUDE KEY", "id integer?, text text"),
        (f"KEY FORMAT AVRO {CSR} VALUE FORMAT TEXT INCLUDE KEY AS k", "k integer?, text text"),
    ],
)
def test_without_an_envelope_every_message_is_a_row(clauses: str, wanted: str) -> None:
    made = shaped(clauses)
    assert columns(made) == wanted
    assert (made.discipline, made.relation.keys) == ("appended", ())


@pytest.mark.parametrize(
    ("clauses", "wanted"),
    [
        ("KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT", "key text, data jsonb"),
        ("KEY FORMAT BYTES VALUE FORMAT JSON INCLUDE KEY AS k ENVELOPE UPSERT", "k bytea, data jsonb"),
        (
            "KEY FORMAT JSON VALUE FORMAT TEXT INCLUDE TIMESTAMP, KEY ENVELOPE UPSERT",
            "key jsonb, text text, timestamp",
        ),
        (f"FORMAT AVRO {CSR} ENVELOPE UPSERT", "id integer, x integer, y text"),
        (
            "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT (VALUE DECODING ERRORS = INLINE)",
            "key text, error record",
        ),
    ],
)
def test_the_key_is_in_front_with_upsert(clauses: str, wanted: str) -> None:
    made = shaped(clauses)
    assert columns(made).startswith(wanted)
    assert (made.discipline, made.relation.keys) == ("keyed", ((0,),))


def test_a_key_of_several_fields_is_columns_or_one_record() -> None:
    clauses = f"KEY FORMAT AVRO {CSR} VALUE FORMAT JSON"
    made = shaped(f"{clauses} ENVELOPE UPSERT", "pair")
    assert columns(made) == "b integer, a text, data jsonb"
    assert made.relation.keys == ((0, 1),)
    made = shaped(f"{clauses} INCLUDE KEY AS k ENVELOPE UPSERT", "pair")
    assert [column.name for column in made.relation.columns] == ["k", "data"]
    assert [name for name, _ in made.relation.columns[0].type.fields] == ["b", "a"]
    assert made.relation.keys == ((0,),)
    assert made.pinned.columns[0] == ["whole", "key"]


def test_a_key_whose_schema_the_registry_has_can_be_named() -> None:
    made = shaped(f"FORMAT AVRO {CSR} INCLUDE KEY AS k ENVELOPE UPSERT", "pair")
    assert made.relation.columns[0].name == "k"
    assert made.pinned.columns[0] == ["whole", "key"]
    assert made.relation.keys == ((0,),)


def test_values_may_be_null_where_errors_are_inline() -> None:
    made = shaped(
        "KEY FORMAT TEXT VALUE FORMAT TEXT ENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE AS why))"
    )
    assert [(column.name, column.nullable) for column in made.relation.columns] == [
        ("key", False),
        ("why", True),
        ("text", True),
    ]


def test_debezium_has_the_columns_of_after() -> None:
    made = shaped(f"FORMAT AVRO {CSR} ENVELOPE DEBEZIUM", "change")
    assert columns(made) == "id integer, name text?, n bigint", "NULL where the schema says so"
    assert made.relation.keys == ((0,),)
    assert list(made.pinned.columns) == [["key", 0], ["value", 1], ["value", 2]]


@pytest.mark.parametrize(
    ("clauses", "topic", "text"),
    [
        (
            "FORMAT TEXT INCLUDE KEY",
            "t",
            "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare",
        ),
        (
            f"FORMAT AVRO {CSR} INCLUDE KEY",
            "pair",
            "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare",
        ),
        (
            "FORMAT TEXT ENVELOPE UPSERT",
            "t",
            "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified",
        ),
        ("ENVELOPE UPSERT", "t", "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified"),
        (
            f"FORMAT AVRO {CSR} ENVELOPE UPSERT",
            "plain",
            "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT",
        ),
        ("FORMAT TEXT ENVELOPE DEBEZIUM", "t", "ENVELOPE DEBEZIUM requires that VALUE FORMAT is set to AVRO"),
        (f"FORMAT AVRO {CSR} ENVELOPE DEBEZIUM", "plain", "Key schema is required for ENVELOPE DEBEZIUM"),
        (f"FORMAT AVRO {CSR} ENVELOPE DEBEZIUM", "t", "'after' column missing from debezium input"),
        (
            f"KEY FORMAT AVRO {CSR} VALUE FORMAT AVRO {CSR} INCLUDE KEY ENVELOPE DEBEZIUM",
            "change",
            "Cannot use INCLUDE KEY with ENVELOPE DEBEZIUM: Debezium values include all keys.",
        ),
        (f"FORMAT AVRO {CSR}", "no such", "No value schema found"),
        ("FORMAT JSON ARRAY", "t", "JSON ARRAY format in sources not yet supported"),
        ("FORMAT TEXT INCLUDE OFFSET AS text", "t", 'column "text" specified more than once'),
        (f"FORMAT AVRO {CSR} ENVELOPE UPSERT", "pair", 'column "a" specified more than once'),
        ("ENVELOPE MATERIALIZE", "t", "ENVELOPE MATERIALIZE not yet supported"),
    ],
)
def test_what_cannot_be_is_refused(clauses: str, topic: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        shaped(clauses, topic)
    assert caught.value.message.startswith(text)
