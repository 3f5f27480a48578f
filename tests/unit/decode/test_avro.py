"""Messages of one schema: each type's values as fastavro writes them, framing, what is said of bad ones.

Batches of one and of many go different ways through arrays; both are tried.  Schema resolution is in
test_avro_rules.py.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from headwater.core import limits
from headwater.core.errors import TransientError, UserError
from headwater.decode.avro import AVRO
from headwater.formats.arrow import arrow_type
from tests.unit.decode.avro_oracle import decode, framed, rows, written

MANY = 100


def one(type_: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": "f", "type": type_}]}


def values(type_: Any, sent: list[Any]) -> list[Any]:
    return [
        row if isinstance(row, str) else row[0]
        for row in rows(decode([written(one(type_), {"f": value}) for value in sent], one(type_)))
    ]


def raw(type_: Any, *messages: bytes) -> list[Any]:
    found = rows(decode(list(messages), one(type_)))
    return [row if isinstance(row, str) else row[0] for row in found]


def decimal(precision: int, scale: int, kind: str = "bytes") -> dict[str, Any]:
    return {
        "type": kind,
        "name": "d",
        "size": 16,
        "logicalType": "decimal",
        "precision": precision,
        "scale": scale,
    }


EPOCH_US = 1_700_000_000_123_456
MOMENT = datetime.fromtimestamp(EPOCH_US // 1_000_000, UTC).replace(microsecond=123_456)
JSON = {"type": "string", "connect.name": "io.debezium.data.Json"}
CUT = 'field "f": message ends in the middle of a value'
UUIDS = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
INNER = {
    "type": "record",
    "name": "i",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
}


@pytest.mark.parametrize(
    ("type_", "sent", "stored"),
    [
        ("boolean", [True, False], [True, False]),
        ("int", [0, -1, 63, 64, -(2**31), 2**31 - 1], None),
        ("long", [0, -(2**63), 2**63 - 1, 2**55, 2**62, -(2**48)], None),
        ("float", [0.0, -0.5, float("inf")], None),
        ("double", [1e300, -0.1], None),
        ("bytes", [b"", b"\0\xff", b"x" * 300], None),
        ("string", ["", "äß漢😀", "x" * 300], None),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["B", "A"], None),
        ({"type": "fixed", "name": "x", "size": 3}, [b"abc", b"\0\0\0"], None),
        ({"type": "int", "logicalType": "date"}, [date(2024, 2, 29), date(1, 1, 1)], [19782, -719162]),
        ({"type": "int", "logicalType": "time-millis"}, [time(1, 2, 3, 4000)], [3_723_004_000]),
        ({"type": "long", "logicalType": "time-micros"}, [time(1, 2, 3, 4)], [3_723_000_004]),
        ({"type": "long", "logicalType": "timestamp-micros"}, [MOMENT], [EPOCH_US]),
        ({"type": "long", "logicalType": "timestamp-millis"}, [MOMENT], [EPOCH_US // 1000 * 1000]),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            [MOMENT.replace(tzinfo=None)],
            [EPOCH_US],
        ),
        (decimal(38, 3), [Decimal("-0.001"), Decimal("12.5"), Decimal("9" * 34 + ".998")], None),
        (decimal(38, 0, "fixed"), [Decimal(-1), Decimal(10**37)], None),
        (decimal(50, 2), [Decimal("-1.50"), Decimal("9" * 48)], ["-1.5", "9" * 48]),
        ({"type": "string", "logicalType": "uuid"}, [UUID(UUIDS)], [UUIDS]),
        ({"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, [UUID(UUIDS).bytes], [UUIDS]),
        (JSON, ['{"b":1.0,"a":[]}'], ['{"a": [], "b": 1}']),
        ({"type": "array", "items": "long"}, [[], [1], [2**40] * 50], [(), (1,), (2**40,) * 50]),
        ({"type": "array", "items": "double"}, [[], [1.5, 2.5]], [(), (1.5, 2.5)]),
        ({"type": "array", "items": ["null", INNER]}, [[None, {"a": 1, "b": "x"}]], [(None, (1, "x"))]),
        ({"type": "map", "values": "int"}, [{"b": 1, "a": 2}, {}], [(("a", 2), ("b", 1)), ()]),
        (["null", INNER], [None, {"a": 1, "b": None}], [None, (1, None)]),
        (["null", "string"], [None, "x"], None),
    ],
)
@pytest.mark.parametrize("times", [1, MANY])
def test_values_are_stored(type_: Any, sent: list[Any], stored: list[Any] | None, times: int) -> None:
    assert values(type_, sent * times) == (sent if stored is None else stored) * times


def test_a_duration_is_an_interval() -> None:
    type_ = {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}
    parts = [(1, 2, 3), (2**31 - 1, 0, 2**32 - 1), (2**31, 0, 0)]
    found = raw(type_, *(b"".join(part.to_bytes(4, "little") for part in one_) for one_ in parts))
    assert found[:2] == [(1, 2, 3000), (2**31 - 1, 0, (2**32 - 1) * 1000)]
    assert found[2] == 'Avro: field "f": interval out of range'


def test_columns_have_the_stored_form_of_their_types_with_and_without_messages() -> None:
    several = [INNER, {"type": "array", "items": "int"}, "string"]
    fields = [
        {"name": f"f{number}", "type": type_}
        for number, type_ in enumerate(
            [
                several,
                {"type": "map", "values": ["null", "bytes"]},
                decimal(9, 2),
                ["null", {"type": "int", "logicalType": "date"}],
            ]
        )
    ]
    schema = {"type": "record", "name": "r", "fields": fields}
    pinned = {"schema": json.dumps(schema), "wire": "none"}
    types = [arrow_type(column.type) for column in AVRO.columns(pinned)]
    for messages in ([], [b""], [b"\x04\x00\x00\x00\x00"], [b"\xff"] * MANY):
        assert [column.type for column in decode(messages, schema).columns] == types


# Bad messages


@pytest.mark.parametrize(
    ("type_", "message", "why"),
    [
        ("long", b"", CUT),
        ("long", b"\x80", CUT),
        ("long", b"\xff" * 9 + b"\x02", 'field "f": a number has more than 64 bits'),
        ("long", b"\x02\x02\x02", "message goes on for 2 bytes after its last value"),
        ("int", b"\xff\xff\xff\xff\x1f", 'field "f": int out of range'),
        ("double", b"\0" * 7, CUT),
        ("boolean", b"\2", 'field "f": a boolean is neither 0 nor 1'),
        ("string", b"\x04a", CUT),
        ("string", b"\x01", 'field "f": a length is negative'),
        ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", CUT),
        ("string", b"\x02\xff", 'field "f": invalid byte sequence for encoding "UTF8"'),
        ("string", b"\x02\0", 'field "f": invalid byte sequence for encoding "UTF8": 0x00'),
        ({"type": "fixed", "name": "x", "size": 2**31 - 1}, b"ab", CUT),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, b"\x02", 'field "f": enum e has no such symbol'),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, b"\x01", 'field "f": enum e has no such symbol'),
        (["null", "int"], b"\x04", 'field "f": union has no branch 2'),
        (["null", "int"], b"\x01", 'field "f": union has no branch -1'),
        (
            {"type": "array", "items": "int"},
            b"\xfe\xff\xff\xff\x0f\x02",
            'field "f": there are more elements than bytes',
        ),
        ({"type": "array", "items": "string"}, b"\x02\x08ab", CUT),
        ({"type": "array", "items": "boolean"}, b"\x02\x09\0", 'field "f[]": a boolean is neither 0 nor 1'),
        (
            {"type": "map", "values": "int"},
            b"\x02\x02\xff\x02\0",
            'field "f{}": invalid byte sequence for encoding "UTF8"',
        ),
        ({"type": "int", "logicalType": "date"}, b"\xff\xff\xff\xff\x0f", 'field "f": date out of range'),
        ({"type": "int", "logicalType": "time-millis"}, b"\x01", 'field "f": time out of range'),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            b"\xfe" + b"\xff" * 8 + b"\x01",
            'field "f": timestamp out of range',
        ),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            b"\xfe" + b"\xff" * 8 + b"\x01",
            'field "f": timestamp out of range',
        ),
        (decimal(38, 0), b"\x20" + (10**38 - 1).to_bytes(16, "big"), 'field "f": numeric field overflow'),
        (
            decimal(38, 0),
            b"\x20" + (1 - 10**38).to_bytes(16, "big", signed=True),
            'field "f": numeric field overflow',
        ),
        (decimal(38, 0), b"\x22\x01" + b"\0" * 16, 'field "f": numeric field overflow'),
        (
            {"type": "string", "logicalType": "uuid"},
            b"\x02x",
            'field "f": invalid input syntax for type uuid: "x"',
        ),
        (JSON, b"\x02{", 'field "f": invalid input syntax for type json'),
    ],
)
def test_a_bad_message_says_what_is_wrong(type_: Any, message: bytes, why: str) -> None:
    alone = raw(type_, message)
    assert alone == [f"Avro: {why}"]
    assert raw(type_, *[message] * MANY) == alone * MANY


def test_neighbours_of_bad_messages_are_read() -> None:
    schema = one({"type": "array", "items": "string"})
    good = written(schema, {"f": ["x", "yy"]})
    bad = [good[:-1], good[:3], good + b"\0", b"\xff" * 20, b"", good.replace(b"\x02", b"\x7f")]
    sent = [message for one_ in bad for message in (good, one_)] * 10
    found = rows(decode(sent, schema))
    assert found[::2] == [(("x", "yy"),)] * (len(bad) * 10)
    assert all(isinstance(row, str) for row in found[1::2])


def test_many_values_beyond_the_end_of_the_last_message_are_not_looked_for() -> None:
    for type_ in ("long", "string", "double", "boolean", ["null", "int"], {"type": "array", "items": "int"}):
        fields = [{"name": f"f{number}", "type": type_} for number in range(60)]
        (found,) = rows(decode([b""], {"type": "record", "name": "r", "fields": fields}))
        assert found == 'Avro: field "f0": message ends in the middle of a value'


# Long and odd arrays


def test_an_array_much_longer_than_others_is_read() -> None:
    type_ = {"type": "array", "items": "string"}
    sent = [["a"]] * MANY + [[str(number) for number in range(5_000)]] + [["b"]] * 3
    assert values(type_, sent) == [tuple(value) for value in sent]


def test_arrays_in_blocks_with_and_without_sizes_are_read() -> None:
    blocks = b"\x02\x02" + b"\x03\x04\x04\x06" + b"\x04\x08\x0a" + b"\0"
    for item, wanted in (("int", (1, 2, 3, 4, 5)), ("long", (1, 2, 3, 4, 5))):
        assert raw({"type": "array", "items": item}, *[blocks] * MANY) == [wanted] * MANY
        assert raw({"type": "array", "items": item}, blocks) == [wanted]
    fixed = {"type": "array", "items": {"type": "fixed", "name": "x", "size": 1}}
    assert raw(fixed, *[b"\x02a\x03\x04bc\0"] * MANY) == [(b"a", b"b", b"c")] * MANY


def test_a_block_of_another_size_than_it_says_is_bad() -> None:
    for item in ("int", {"type": "fixed", "name": "x", "size": 1}):
        type_ = {"type": "array", "items": item}
        for size in (b"\x06", b"\x02", b"\x01"):
            found = raw(type_, *[b"\x03" + size + b"\x04\x06\0"] * MANY, b"\0") + raw(
                type_, b"\x03" + size + b"\x04\x06\0"
            )
            why = 'Avro: field "f": elements do not have the size that is said of them'
            assert found == [why] * MANY + [()] + [why]


def test_of_equal_keys_of_a_map_the_last_counts() -> None:
    message = b"\x06\x02b\x02\x02a\x04\x02b\x06\0"
    assert raw({"type": "map", "values": "int"}, *[message] * MANY) == [(("a", 2), ("b", 3))] * MANY


# Framing


def test_messages_of_several_schemas_are_told_apart_by_their_ids() -> None:
    first, second = (
        one("long"),
        {**one("int"), "fields": [{"name": "x", "type": "string"}, {"name": "f", "type": "int"}]},
    )
    sent = [framed(written(first, {"f": 1}), 1), framed(written(second, {"x": "y", "f": 2}), 2**32 - 1)]
    found = rows(decode(sent * MANY, first, {1: first, 2**32 - 1: second}))
    assert found == [(1,), (2,)] * MANY


def test_a_message_without_its_header_is_bad() -> None:
    sent = [b"", b"\0\0\0\0", b"\1\0\0\0\1\2", framed(b"\2")]
    short = "Avro: message is too short to have a schema id"
    wrong = "Avro: message does not begin with a zero byte and a schema id"
    assert rows(decode(sent, one("long"), {1: one("long")})) == [short, short, wrong, (1,)]


def test_schemas_are_asked_for_once_and_again_only_if_they_could_not_be_had() -> None:
    asked: list[int] = []

    def schema_of(number: int) -> str:
        asked.append(number)
        if number == 2:
            raise UserError("schema does not exist")
        return json.dumps(one("long")) if number == 1 else "{"

    decoder = AVRO.decoder({"schema": json.dumps(one("long")), "wire": "confluent"}, schema_of)
    sent = pa.array([framed(b"\2", number) for number in (1, 2, 3)])
    for _ in range(2):
        one_, two, three = rows(decoder(sent))
        assert one_ == (1,)
        assert two == "Avro: schema with id 2 cannot be had: schema does not exist"
        assert isinstance(three, str)
        assert three.startswith(
            "Avro: messages of the schema with id 3 cannot be read: Avro schema is not valid"
        )
    assert asked == [1, 2, 3, 2]


def test_a_registry_that_does_not_answer_is_the_callers_affair() -> None:
    def schema_of(number: int) -> str:
        raise TransientError("could not connect")

    decoder = AVRO.decoder({"schema": '"long"', "wire": "confluent"}, schema_of)
    with pytest.raises(TransientError):
        decoder(pa.array([framed(b"\2")]))


def test_a_batch_may_be_a_part_of_a_greater_one_and_longer_than_a_page() -> None:
    count = limits.DECODE_PAGE_ROWS * 2 + 3
    schema = one("long")
    decoder = AVRO.decoder({"schema": json.dumps(schema), "wire": "none"}, lambda _: "")
    messages = pa.array([written(schema, {"f": number}) for number in range(count)] + [b""])
    assert rows(decoder(messages.slice(5, count - 5))) == [(number,) for number in range(5, count)]
    spoiled = decoder(messages.slice(5))
    assert spoiled.errors is not None
    assert spoiled.errors.null_count == count - 5
    assert len(decoder(messages.slice(3, 0)).columns[0]) == 0


def test_a_message_beyond_all_bounds_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DECODE_PAGE_BYTES", 100)
    monkeypatch.setattr(limits, "MESSAGE_BYTES_MAX", 500)
    assert values("string", ["a", "x" * 600, "b"]) == ["a", "Avro: message is too long", "b"]


def test_messages_of_many_bytes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DECODE_PAGE_BYTES", 100)
    sent = ["x" * length for length in (0, 99, 500, 1, 1, 1, 70, 70)]
    assert values("string", sent) == sent
