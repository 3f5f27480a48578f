"""PROTOBUF: any batch has the fields that Google's runtime finds in each message.

Method: random messages of a schema with all that there is are written by the runtime, some are cut,
changed or put together, and decoded as one batch; each row is compared with a plain walk over the
runtime's message. A batch of bytes at random follows. What the runtime takes and SQL does not (zero
bytes, moments out of range) is in the walk.
"""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from google.protobuf import descriptor_pb2, json_format, message_factory
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import format_type
from headwater.decode.protobuf import PROTOBUF
from headwater.decode.protobuf_shape import message_of
from headwater.decode.protobuf_source import descriptor_of
from headwater.formats.jsonb import canonical_jsonb
from tests.unit.decode.batches import corrupted, decode

NEW = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/empty.proto";
import "parts/old.proto";
message Whole {
  message Inner { int32 x = 1; repeated string t = 2; optional string o = 3; map<string, int64> m = 4; }
  enum State { NEW = 0; PAID = 1; LOST = -1; }
  bool b = 1; int32 i32 = 2; int64 i64 = 3; uint32 u32 = 4; uint64 u64 = 5; sint32 s32 = 6; sint64 s64 = 7;
  fixed32 f32 = 8; fixed64 f64 = 9; sfixed32 g32 = 10; sfixed64 g64 = 11; float fl = 12; double db = 13;
  string st = 14; bytes by = 15; State e = 16; Inner n = 17;
  repeated int32 ri = 18; repeated Inner rn = 19; repeated State re = 20; repeated string rs = 21;
  map<string, Inner> mn = 22; map<int32, State> me = 23; map<bool, google.protobuf.Timestamp> mt = 24;
  oneof choice { int32 oi = 25; Inner on = 26; string os = 27; }
  optional int32 opt = 28; google.protobuf.Timestamp ts = 29; google.protobuf.Duration du = 30;
  google.protobuf.Int64Value wi = 31; google.protobuf.StringValue ws = 32; google.protobuf.Struct doc = 33;
  google.protobuf.Empty em = 34; repeated google.protobuf.Duration rd = 35; old.Old old = 1000;
  repeated old.Old olds = 36; google.protobuf.Value val = 38;
  map<uint64, bytes> mb = 39; repeated google.protobuf.BoolValue rw = 40; repeated uint64 ru = 41;
}
"""
OLD = """syntax = "proto2";
package old;
enum Color { NONE = 0; RED = 1; BLUE = 5; }
message Old {
  required int32 r = 1; optional int32 o = 2 [default = 5]; optional Color c = 3; repeated int32 unpacked = 4;
  repeated Color colors = 5; optional string s = 6; repeated int32 packed = 7 [packed = true];
  map<string, Color> named = 8;
}
"""


@cache
def pinned(wire: str = "none", message: str = "shop.Whole") -> dict[str, Any]:
    described = base64.b64encode(descriptor_of(NEW, {"parts/old.proto": OLD})).decode()
    return {"descriptor": described, "message": message, "wire": wire}


@cache
def whole() -> Any:
    return message_factory.GetMessageClass(message_of(pinned()))


class Refused(Exception):
    """What SQL has no value for."""


def _value(message: Any, field: Any) -> Any:
    """What stands in the column of a field."""
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields[1]
        entries = [
            (_text(k).lower() if isinstance(k, bool) else _text(k), _element(inner, value[k])) for k in value
        ]
        return sorted(entries, key=lambda entry: entry[0].encode())
    if field.is_repeated:
        return [_element(field, one) for one in value]
    if field.is_required and not message.HasField(field.name):
        raise Refused
    if field.has_presence and not message.HasField(field.name):
        return None
    return _element(field, value)


def _text(value: object) -> str:
    if "\0" in str(value):
        raise Refused
    return str(value)


def _element(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return str(value) if named is None else named.name
    if field.message_type is None:
        if isinstance(value, str):
            return _text(value)
        return Decimal(value) if field.cpp_type == field.CPPTYPE_UINT64 else value
    match field.message_type.name:
        case "Timestamp":
            if not (0 <= value.nanos < 10**9 and -62135596800 <= value.seconds <= 253402300799):
                raise Refused
            return datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC")) + timedelta(
                seconds=value.seconds, microseconds=value.nanos // 1000
            )
        case "Duration":
            fits = abs(value.nanos) < 10**9 and abs(value.seconds) <= 315576000000
            if not fits or value.nanos * value.seconds < 0:
                raise Refused
            return {"months": 0, "days": 0, "microseconds": value.seconds * 10**6 + int(value.nanos / 1000)}
        case "Struct" | "Value":
            try:
                return canonical_jsonb(json.dumps(json_format.MessageToDict(value), allow_nan=False))
            except (json_format.Error, UserError, ValueError) as error:
                raise Refused from error
        case "Empty":
            return "{}"
        case name if name.endswith("Value"):
            return _element(field.message_type.fields[0], value.value)
    return {inner.name: _value(value, inner) for inner in field.message_type.fields}


def _expected(content: bytes) -> list[Any] | None:
    try:
        message = whole().FromString(content)
        for field, value in message.ListFields():
            if field.name.startswith("old"):
                for one in value if field.is_repeated else [value]:
                    if not isinstance(one.s, str):  # the runtime leaves what is no UTF-8 as it is
                        return None
                    one.s.encode()
        return [_value(message, field) for field in message.DESCRIPTOR.fields]
    except (DecodeError, Refused, UnicodeError):
        return None


_INT32 = st.integers(-(2**31), 2**31 - 1)
_INT64 = st.integers(-(2**63), 2**63 - 1)
_STRING = st.text(max_size=4)
_SECONDS = st.one_of(st.integers(-10, 10), st.integers(-(2**36), 2**38), _INT64)
_NANOS = st.one_of(st.integers(-999, 10**9 - 1), _INT32)
_MOMENT = st.fixed_dictionaries({}, optional={"seconds": _SECONDS, "nanos": _NANOS})
_STATE = st.sampled_from((0, 1, -1, 7))
_INNER = st.fixed_dictionaries(
    {},
    optional={
        "x": _INT32,
        "t": st.lists(_STRING, max_size=2),
        "o": _STRING,
        "m": st.dictionaries(_STRING, _INT64, max_size=2),
    },
)
_OLD = st.fixed_dictionaries(
    {"r": _INT32},
    optional={
        "o": _INT32,
        "c": st.sampled_from((1, 5)),
        "unpacked": st.lists(_INT32, max_size=3),
        "colors": st.lists(st.sampled_from((1, 5)), max_size=3),
        "s": _STRING,
        "packed": st.lists(_INT32, max_size=3),
        "named": st.dictionaries(_STRING, st.sampled_from((0, 1, 5)), max_size=2),
    },
)
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("i32", "s32", "g32", "opt", "oi"), _INT32),
    **dict.fromkeys(("i64", "s64", "g64"), _INT64),
    **dict.fromkeys(("u32", "f32"), st.integers(0, 2**32 - 1)),
    **dict.fromkeys(("u64", "f64"), st.integers(0, 2**64 - 1)),
    **dict.fromkeys(("st", "os"), _STRING),
    "b": st.booleans(),
    "fl": st.floats(width=32, allow_nan=False),
    "db": st.floats(allow_nan=False),
    "by": st.binary(max_size=4),
    "e": _STATE,
}
_MESSAGES: dict[str, st.SearchStrategy[Any]] = {
    "n": _INNER,
    "on": _INNER,
    "ri": st.lists(_INT32, max_size=3),
    "rn": st.lists(_INNER, max_size=2),
    "re": st.lists(_STATE, max_size=3),
    "rs": st.lists(_STRING, max_size=3),
    "mn": st.dictionaries(_STRING, _INNER, max_size=2),
    "me": st.dictionaries(_INT32, _STATE, max_size=3),
    "ts": _MOMENT,
    "du": _MOMENT,
    "wi": st.fixed_dictionaries({}, optional={"value": _INT64}),
    "ws": st.fixed_dictionaries({}, optional={"value": _STRING}),
    "doc": st.dictionaries(_STRING, st.one_of(st.none(), st.booleans(), st.floats(), _STRING), max_size=2),
    "em": st.just({}),
    "rd": st.lists(_MOMENT, max_size=2),
    "old": _OLD,
    "olds": st.lists(_OLD, max_size=2),
    "mb": st.dictionaries(st.integers(0, 2**64 - 1), st.binary(max_size=2), max_size=2),
    "rw": st.lists(st.fixed_dictionaries({}, optional={"value": st.booleans()}), max_size=2),
    "ru": st.lists(st.integers(0, 2**64 - 1), max_size=3),
}


@st.composite
def _contents(draw: st.DrawFn) -> bytes:
    """A message as some writer would send it."""
    names = draw(st.lists(st.sampled_from([*_SCALARS, *_MESSAGES]), max_size=6, unique=True))
    fields = {name: draw({**_SCALARS, **_MESSAGES}[name]) for name in names}
    written: bytes = whole()(**fields).SerializeToString()
    return written


_LONG_TAG = re.compile(rb"[\x80-\xff]{4}[\x10-\xff]")
"""Tags of more than 32 bits, which nobody writes: ptars cuts them off, the runtime refuses them."""


def _crosses(content: bytes) -> bool:
    """Whether an unknown group ends with another number than it began with: ptars does not look."""
    begun: list[int] = []
    at = 0
    try:
        while at < len(content):
            tag, at = _varint(content, at)
            match tag & 7:
                case 0:
                    _, at = _varint(content, at)
                case 1:
                    at += 8
                case 2:
                    size, at = _varint(content, at)
                    at += size
                case 3:
                    begun.append(tag >> 3)
                case 4:
                    if not begun or begun.pop() != tag >> 3:
                        return True
                case 5:
                    at += 4
    except IndexError:
        pass
    return False


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if content[at - 1] < 0x80:
            return value, at


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_contents(), corrupted(_contents()), st.binary(max_size=6)), max_size=6))
def test_a_batch_is_what_the_runtime_finds_in_each_message(contents: list[bytes]) -> None:
    columns, errors = decode(PROTOBUF, pinned(), contents)
    for row, content in enumerate(contents):
        expected = _expected(content)
        found = [column[row] for column in columns]
        if expected is None and errors[row] is None:
            assert _LONG_TAG.search(content) is not None or _crosses(content), content
            continue
        assert (errors[row] is None) == (expected is not None), (content, errors[row])
        wanted = expected or [None] * len(columns)
        if expected is not None and _keeps_unknown(content):
            found, wanted = _without_maps(found), _without_maps(wanted)
        assert repr(found) == repr(wanted), content


def _keeps_unknown(content: bytes) -> bool:
    """Whether there are unknown fields: the runtime takes an entry of a map that has one for one itself."""
    message = whole().FromString(content)
    before = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() != before)


def _without_maps(row: list[Any]) -> list[Any]:
    types = [format_type(column.type) for column in PROTOBUF.columns(pinned())]
    return [value for value, type_ in zip(row, types, strict=True) if "map[" not in type_]


@pytest.mark.parametrize(
    "content",
    [
        b"\xc8\x01\x03\xd2\x01\x02\x08\x04",  # two members of a oneof
        b"\xb2\x01\x03\x0a\x01k",  # an entry of a map without a value
        b"\xb2\x01\x07\x0a\x01k\x12\x02\x08\x01\xb2\x01\x07\x0a\x01k\x12\x02\x08\x02",  # a key twice
        b"\x92\x01\x02\x01\x02\x90\x01\x05",  # packed and not
        b"\xc2\x3e\x06\x08\x01\x18\x05\x18\x09",  # a number that a closed enum does not have
        b"\xa2\x02\x06\x08\x01\x28\x09\x28\x05",  # the same in a list
        b"\xc2\x3e\x00",  # a required field
        b"\x10\xff\xff\xff\xff\x7f",  # more bits than fit
        b"\xf2\x7d\x03abc\xf0\x7e\x01",  # fields of a later schema
        b"\xeb\x7d\x08\x01\xec\x7d",  # a group that nobody knows
        b"\x8a\x01\x02\x08\x01\x8a\x01\x03\x1a\x01q",  # one message in two parts
    ],
)
def test_messages_of_odd_writers_are_read_as_the_runtime_reads_them(content: bytes) -> None:
    columns, _ = decode(PROTOBUF, pinned(), [b"", content, b"\x10\x07"])
    assert repr([column[1] for column in columns]) == repr(_expected(content) or [None] * len(columns))
    assert columns[1] == [0, columns[1][1], 7]


def test_columns_have_the_types_of_the_fields() -> None:
    columns = {column.name: column for column in PROTOBUF.columns(pinned())}
    types = {name: format_type(column.type) for name, column in columns.items()}
    assert types["u32"] == "uint4"
    assert types["u64"] == "uint8"
    assert types["n"] == "record(x: integer,t: text list,o: text,m: map[text=>bigint])"
    assert types["mt"] == "map[text=>timestamp with time zone]"
    assert types["rd"] == "interval list"
    assert (types["doc"], types["em"], types["wi"]) == ("jsonb", "jsonb", "bigint")
    nullable = {name for name, column in columns.items() if column.nullable}
    assert nullable == {"n", "oi", "on", "os", "opt", "ts", "du", "wi", "ws", "doc", "em", "old", "val"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x08", "Protobuf: unexpected EOF in varint"),
        (b"\x72\x01\xff", "Protobuf: invalid UTF-8"),
        # Where ptars panics.
        (b"\x72" + b"\xff" * 9 + b"\x01", "Protobuf: a length is beyond the message's end"),
        (b"\x72\x01\x00", 'Protobuf: invalid byte sequence for encoding "UTF8": 0x00'),
        (b"\xea\x01\x02\x10\xff", "Protobuf: unexpected EOF in varint"),
        (b"\xea\x01\x0b\x10" + b"\xff" * 9 + b"\x01", "Protobuf: timestamp out of range"),
        (b"\xc2\x3e\x00", 'Protobuf: required field "r" is missing'),
        (b"\x8a\x02\x02\x0a\x01", 'Protobuf: "doc" is no JSON document'),
    ],
)
def test_a_bad_message_is_an_error_and_its_neighbours_are_not(content: bytes, reason: str) -> None:
    columns, errors = decode(PROTOBUF, pinned(), [b"\x10\x01", content, b"\x10\x02"])
    assert errors == [None, reason, None]
    assert columns[1] == [1, None, 2]


def test_confluent_frames_lead_to_the_message() -> None:
    columns, errors = decode(
        PROTOBUF,
        pinned("confluent"),
        [
            b"\0\0\0\0\x07\0\x10\x05",
            b"\0\0\0\0\x08\x02\0\x10\x06",
            b"\0\0\0\0\x08\x02\x02\x10\x06",
            b"\x01\0\0\0\x08\0",
            b"\0\0",
        ],
    )
    assert columns[1] == [5, 6, None, None, None]
    unframed = "Protobuf: the message does not begin with the number of a schema"
    assert errors == [
        None,
        None,
        'Protobuf: the message is not a "shop.Whole" by its indexes',
        unframed,
        unframed,
    ]
    inner = pinned("confluent", "shop.Whole.Inner")
    # Inner comes first; descriptors count the entries of maps before it as well, if there are any.
    assert decode(PROTOBUF, inner, [b"\0\0\0\0\x07\x04\0\0\x08\x05"])[0][0] == [5]


def test_what_has_no_columns_is_refused() -> None:
    recursive = 'syntax = "proto3"; message A { B b = 1; } message B { repeated A a = 1; }'
    group = 'syntax = "proto2"; message A { optional group G = 1 { optional int32 z = 1; } }'
    for text, message in (
        (recursive, 'recursive Protobuf message "A" not yet supported'),
        (group, 'the group "A.g" of Protobuf not yet supported'),
    ):
        described = base64.b64encode(descriptor_of(text, {})).decode()
        with pytest.raises(UserError, match=message):
            PROTOBUF.columns({"descriptor": described, "message": "A", "wire": "none"})
    empty = base64.b64encode(descriptor_of('syntax = "proto3"; message A {}', {})).decode()
    with pytest.raises(UserError, match='Protobuf message "A" has no fields'):
        PROTOBUF.columns({"descriptor": empty, "message": "A", "wire": "none"})
    with pytest.raises(UserError, match="does not exist"):
        PROTOBUF.columns({**pinned(), "message": "shop.Nothing"})
    with pytest.raises(UserError, match="invalid Protobuf descriptor"):
        PROTOBUF.columns({**pinned(), "descriptor": "AAAA"})


def test_schemas_that_are_text_are_compiled_with_what_they_import() -> None:
    text = """syntax = "proto3"; import "google/type/date.proto"; import "confluent/type/decimal.proto";
    import "parts/old.proto";
    message A { google.type.Date on = 1; confluent.type.Decimal d = 2; old.Old o = 3; }"""
    described = descriptor_of(text, {"parts/old.proto": OLD})
    files = [file.name for file in descriptor_pb2.FileDescriptorSet.FromString(described).file]
    assert files[-1] == "headwater_schema.proto"
    assert "google/type/date.proto" in files


@pytest.mark.parametrize(
    ("text", "references", "detail"),
    [
        ("message A {", {}, "1:12: Reached end of input in message definition"),
        ('syntax = "proto3"; import "x.proto";', {}, "x.proto: File not found."),
        ("", {"../x.proto": ""}, None),
        ("", {"/x.proto": ""}, None),
    ],
)
def test_schemas_that_are_wrong_are_refused(
    text: str, references: dict[str, str], detail: str | None
) -> None:
    with pytest.raises(UserError) as raised:
        descriptor_of(text, references)
    assert detail is None or detail in str(raised.value.detail)
