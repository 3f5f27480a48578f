"""Encodings: FORMAT, INCLUDE and ENVELOPE are in the fields as written, and survive being rendered.

Method: clauses beside the values they are; every one of them is rendered and read again, and so
are values with awkward texts, and with every keyword for a name; refusals with their place,
where a caret stands.
"""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name
from headwater.sql.encoding import (
    Encoding,
    Envelope,
    EnvelopeType,
    Header,
    InlineErrors,
    MessagePart,
    Metadata,
    parse_encoding,
)
from headwater.sql.formats import (
    AvroGlue,
    AvroRegistry,
    AvroSchema,
    AvroSeed,
    Bytes,
    Csv,
    Format,
    Json,
    ProtobufMessage,
    ProtobufRegistry,
    ProtobufSchema,
    ProtobufSeed,
    Regex,
    Registry,
    Strategy,
    Text,
)
from headwater.sql.lexer import tokenize
from headwater.sql.words import KEYWORDS

C = Name(("c",))
CSR = Registry(C)
REGISTRY = "CONFLUENT SCHEMA REGISTRY CONNECTION"


def parse(text: str) -> Encoding:
    cursor = Cursor(text, tokenize(text))
    encoding = parse_encoding(cursor)
    cursor.expect_end()
    return encoding


def assert_round_trip(encoding: Encoding) -> None:
    sql = encoding.render()
    again = parse(sql)
    assert again == encoding
    assert again.render() == sql


FORMATS: list[tuple[str, Format]] = [
    (f"AVRO USING {REGISTRY} c", AvroRegistry(CSR)),
    (f"avro using {REGISTRY.lower()} Dd.s.c", AvroRegistry(Registry(Name(("dd", "s", "c"))))),
    (
        f"AVRO USING {REGISTRY} c"
        " (AVRO KEY FULLNAME 'k', NULL DEFAULTS, VALUE COMPATIBILITY LEVEL = backward)",
        AvroRegistry(
            Registry(
                C,
                (
                    ("AVRO KEY FULLNAME", "k"),
                    ("NULL DEFAULTS", True),
                    ("VALUE COMPATIBILITY LEVEL", "backward"),
                ),
            )
        ),
    ),
    (f"AVRO USING {REGISTRY} c SEED VALUE SCHEMA '{{}}'", AvroRegistry(CSR, AvroSeed("{}"))),
    (
        f"AVRO USING {REGISTRY} c (NULL DEFAULTS = false) SEED KEY SCHEMA 'k' VALUE SCHEMA 'it''s'"
        " KEY STRATEGY INLINE 'x' VALUE STRATEGY ID 7",
        AvroRegistry(
            Registry(C, (("NULL DEFAULTS", False),)),
            AvroSeed("it's", "k"),
            Strategy(schema="x"),
            Strategy(id=7),
        ),
    ),
    (f"AVRO USING {REGISTRY} c KEY STRATEGY LATEST", AvroRegistry(CSR, key_strategy=Strategy())),
    (f"AVRO USING {REGISTRY} c VALUE STRATEGY ID 0", AvroRegistry(CSR, value_strategy=Strategy(id=0))),
    ("AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION c (SCHEMA NAME = 'x')", AvroGlue(C, "x")),
    (
        "AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION a.b.c (SCHEMA NAME x)",
        AvroGlue(Name(("a", "b", "c")), "x"),
    ),
    ('AVRO USING SCHEMA \'{"type": "int"}\'', AvroSchema('{"type": "int"}')),
    ("AVRO USING SCHEMA 's' (CONFLUENT WIRE FORMAT)", AvroSchema("s", True)),
    ("AVRO USING SCHEMA 's' (CONFLUENT WIRE FORMAT = false)", AvroSchema("s", False)),
    (f"PROTOBUF USING {REGISTRY} c", ProtobufRegistry(CSR)),
    (
        f"PROTOBUF USING {REGISTRY} c SEED VALUE SCHEMA 's' MESSAGE 'm'",
        ProtobufRegistry(CSR, ProtobufSeed(ProtobufMessage("m", "s"))),
    ),
    (
        f"PROTOBUF USING {REGISTRY} c SEED KEY SCHEMA 'a' MESSAGE 'b' VALUE SCHEMA 's' MESSAGE 'm'",
        ProtobufRegistry(CSR, ProtobufSeed(ProtobufMessage("m", "s"), ProtobufMessage("b", "a"))),
    ),
    ("PROTOBUF MESSAGE 'm' USING SCHEMA '\\x0a'", ProtobufSchema(ProtobufMessage("m", "\\x0a"))),
    ("CSV WITH HEADER", Csv()),
    ('CSV WITH HEADER (a, "B c")', Csv(("a", "B c"))),
    ("CSV WITH HEADERS (a) DELIMITED BY ';'", Csv(("a",), ";")),
    ("CSV WITH HEADER DELIMITED BY E'\\t'", Csv((), "\t")),
    ("CSV WITH 3 COLUMNS", Csv(3)),
    ("CSV WITH 0 COLUMNS DELIMITED BY ','", Csv(0)),
    ("REGEX '^(?P<a>.*)$'", Regex("^(?P<a>.*)$")),
    ("JSON", Json()),
    ("JSON ARRAY", Json(array=True)),
    ("TEXT", Text()),
    ("BYTES", Bytes()),
]

INCLUDES: list[tuple[str, tuple[Metadata, ...]]] = [
    ("KEY", (MessagePart("key"),)),
    (
        'KEY AS k, PARTITION, OFFSET AS "offset", timestamp as ts, HEADERS',
        (
            MessagePart("key", "k"),
            MessagePart("partition"),
            MessagePart("offset", "offset"),
            MessagePart("timestamp", "ts"),
            MessagePart("headers"),
        ),
    ),
    (
        "HEADERS AS h, HEADER 'it''s' AS a, HEADER 'b' AS bytes BYTES, HEADER 'c' AS bytes",
        (MessagePart("headers", "h"), Header("it's", "a"), Header("b", "bytes", True), Header("c", "bytes")),
    ),
]

ENVELOPES: list[tuple[str, Envelope]] = [
    ("NONE", Envelope("none")),
    ("debezium", Envelope("debezium")),
    ("MATERIALIZE", Envelope("materialize")),
    ("UPSERT", Envelope("upsert")),
    ("UPSERT (VALUE DECODING ERRORS = INLINE)", Envelope("upsert", InlineErrors())),
    ("UPSERT (VALUE DECODING ERRORS (INLINE))", Envelope("upsert", InlineErrors())),
    ("UPSERT (VALUE DECODING ERRORS = (INLINE AS e))", Envelope("upsert", InlineErrors("e"))),
    ("UPSERT (VALUE DECODING ERRORS INLINE AS inline)", Envelope("upsert", InlineErrors("inline"))),
]


@pytest.mark.parametrize(("text", "format_"), FORMATS)
def test_a_format_is_this_value_and_is_read_back_as_it(text: str, format_: Format) -> None:
    bare = parse(f"FORMAT {text}")
    assert bare == Encoding(value_format=format_)
    assert_round_trip(bare)
    # Nothing of a format is taken for the beginning of what follows it.
    both = parse(f"KEY FORMAT {text} VALUE FORMAT {text} INCLUDE KEY ENVELOPE NONE")
    assert both == Encoding(format_, format_, (MessagePart("key"),), Envelope("none"))
    assert_round_trip(both)


def test_every_format_is_tried() -> None:
    assert {type(format_) for _, format_ in FORMATS} == set(get_args(Format))


@pytest.mark.parametrize(("text", "include"), INCLUDES)
def test_an_include_is_this_value_and_is_read_back_as_it(text: str, include: tuple[Metadata, ...]) -> None:
    assert parse(f"INCLUDE {text}") == Encoding(include=include)
    assert_round_trip(Encoding(include=include))


@pytest.mark.parametrize(("text", "envelope"), ENVELOPES)
def test_an_envelope_is_this_value_and_is_read_back_as_it(text: str, envelope: Envelope) -> None:
    assert parse(f"ENVELOPE {text}") == Encoding(envelope=envelope)
    assert_round_trip(Encoding(envelope=envelope))


def test_every_envelope_is_tried() -> None:
    assert {envelope.type for _, envelope in ENVELOPES} == set(get_args(EnvelopeType))


def test_each_clause_has_a_line() -> None:
    text = (
        "key format text value format avro using confluent schema registry connection d.s.c seed value schema"
        " 's' include key as k, header 'h' as x bytes envelope upsert (value decoding errors inline as e)"
    )
    assert parse(text).render() == (
        "\nKEY FORMAT TEXT"
        "\nVALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION d.s.c SEED VALUE SCHEMA 's'"
        "\nINCLUDE KEY AS k, HEADER 'h' AS x BYTES"
        "\nENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE AS e))"
    )
    assert parse("FORMAT CSV WITH HEADERS (a, b) ENVELOPE NONE").render() == (
        "\nFORMAT CSV WITH HEADER (a, b)\nENVELOPE NONE"
    )


def test_nothing_is_read_where_nothing_is_said() -> None:
    cursor = Cursor("WITH (x)", tokenize("WITH (x)"))
    encoding = parse_encoding(cursor)
    assert cursor.at("WITH")
    assert encoding.empty
    assert encoding.render() == ""
    assert not Encoding(envelope=Envelope("none")).empty


def test_the_catalog_is_told_formats_and_the_envelope_in_a_word() -> None:
    def words(text: str) -> tuple[str | None, str | None, str | None]:
        encoding = parse(text)
        return encoding.key_format_name, encoding.value_format_name, encoding.envelope_type

    assert words("") == (None, None, None)
    assert words("FORMAT JSON") == (None, "json", None)
    assert words("KEY FORMAT TEXT VALUE FORMAT CSV WITH HEADER ENVELOPE UPSERT") == ("text", "csv", "upsert")
    assert words("INCLUDE OFFSET ENVELOPE NONE") == (None, None, "none")
    names = {parse(f"FORMAT {text}").value_format_name for text, _ in FORMATS}
    assert names == {"avro", "protobuf", "csv", "regex", "json", "text", "bytes"}


def test_connections_inside_are_known_and_can_be_renamed() -> None:
    encoding = parse(
        f"KEY FORMAT AVRO USING {REGISTRY} a SEED VALUE SCHEMA 's' VALUE FORMAT PROTOBUF USING {REGISTRY} b.c"
    )
    a, b = encoding.names()
    assert (a, b) == (Name(("a",)), Name(("b", "c")))
    renamed = encoding.rename(lambda name: Name(("x", *name.parts)) if name == a else name)
    assert renamed.names() == (Name(("x", "a")), b)
    assert renamed.render() == encoding.render().replace("CONNECTION a", "CONNECTION x.a")
    glue = parse("FORMAT AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION a (SCHEMA NAME 'a')")
    assert glue.rename(lambda _: b).render() == glue.render().replace("CONNECTION a", "CONNECTION b.c")
    plain = parse("FORMAT JSON INCLUDE KEY AS a ENVELOPE UPSERT")
    assert plain.names() == ()
    assert plain.rename(lambda _: b) == plain


def test_every_word_of_the_clauses_is_a_keyword() -> None:
    clauses = (*FORMATS, *INCLUDES, *ENVELOPES)
    words = {
        token.keyword
        for text, _ in clauses
        for token in tokenize(text)
        if token.kind == "word" and text[token.start : token.end].isupper()
    }
    assert len(words) > 40
    # Errors elsewhere call NONE a name.
    assert words <= KEYWORDS


@pytest.mark.parametrize("word", sorted(KEYWORDS | {"NONE"}))
def test_every_keyword_can_be_a_name_when_it_is_rendered(word: str) -> None:
    name = word.lower()
    registry = Registry(Name((name,)))
    assert_round_trip(
        Encoding(
            AvroRegistry(registry, AvroSeed("s"), value_strategy=Strategy()),
            Csv((name, name)),
            (MessagePart("key", name), Header("k", name, True)),
            Envelope("upsert", InlineErrors(name)),
        )
    )
    assert_round_trip(Encoding(ProtobufRegistry(registry), AvroGlue(Name((name, name)), name)))


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: Name(tuple(parts)))
registries = st.builds(Registry, paths)
messages = st.builds(ProtobufMessage, texts, texts)
strategies = st.none() | st.builds(Strategy, texts) | st.builds(Strategy, id=st.integers(0, 2**63 - 1))
formats = st.one_of(
    st.builds(
        AvroRegistry,
        registries,
        st.none() | st.builds(AvroSeed, texts, st.none() | texts),
        strategies,
        strategies,
    ),
    st.builds(AvroGlue, paths, texts),
    st.builds(AvroSchema, texts, st.none() | st.booleans()),
    st.builds(
        ProtobufRegistry, registries, st.none() | st.builds(ProtobufSeed, messages, st.none() | messages)
    ),
    st.builds(ProtobufSchema, messages),
    st.builds(
        Csv,
        st.integers(0, 100) | st.lists(names, max_size=3).map(tuple),
        st.characters(min_codepoint=1, max_codepoint=127),
    ),
    st.builds(Regex, texts),
)
includes = st.lists(
    st.builds(MessagePart, st.sampled_from(["key", "offset", "headers"]), st.none() | names)
    | st.builds(Header, texts, names, st.booleans()),
    max_size=3,
).map(tuple)
envelopes = st.none() | st.builds(
    Envelope, st.just("upsert"), st.none() | st.builds(InlineErrors, st.none() | names)
)


@given(key=st.none() | formats, value=formats, include=includes, envelope=envelopes)
def test_encodings_survive_whatever_they_contain(
    key: Format | None, value: Format, include: tuple[Metadata, ...], envelope: Envelope | None
) -> None:
    assert_round_trip(Encoding(key, value, include, envelope))


REFUSED = [
    (
        "FORMAT ^frob",
        'Expected one of AVRO or PROTOBUF or CSV or REGEX or JSON or TEXT or BYTES, found identifier "frob"',
    ),
    ("FORMAT AVRO ^SCHEMA 's'", "Expected USING, found SCHEMA"),
    ("FORMAT AVRO USING ^REGISTRY", "Expected one of CONFLUENT or AWS or SCHEMA, found REGISTRY"),
    (
        "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY ^'http://x'",
        'Expected CONNECTION, found string literal "http://x"',
    ),
    (
        f"FORMAT AVRO USING {REGISTRY} c (^frob 1)",
        'Expected one of AVRO or NULL or KEY or VALUE, found identifier "frob"',
    ),
    (
        f"FORMAT AVRO USING {REGISTRY} c (NULL DEFAULTS, ^NULL DEFAULTS)",
        "NULL DEFAULTS specified more than once",
    ),
    (f"FORMAT AVRO USING {REGISTRY} c SEED ^'s'", 'Expected VALUE, found string literal "s"'),
    (f"FORMAT AVRO USING {REGISTRY} c SEED KEY ^STRATEGY", "Expected SCHEMA, found STRATEGY"),
    (f"FORMAT AVRO USING {REGISTRY} c SEED KEY SCHEMA 's'^", "Expected VALUE, found EOF"),
    (
        f"FORMAT AVRO USING {REGISTRY} c KEY STRATEGY ^'s'",
        'Expected one of INLINE or ID or LATEST, found string literal "s"',
    ),
    (f"FORMAT AVRO USING {REGISTRY} c VALUE STRATEGY ID ^LATEST", "Expected literal integer, found LATEST"),
    ("FORMAT AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION c^", "Expected left parenthesis, found EOF"),
    ("FORMAT AVRO USING SCHEMA ^s", 'Expected literal string, found identifier "s"'),
    ("FORMAT AVRO USING SCHEMA 's' (^WIRE FORMAT)", "Expected CONFLUENT, found WIRE"),
    ("FORMAT PROTOBUF ^SCHEMA", "Expected one of USING or MESSAGE, found SCHEMA"),
    ("FORMAT PROTOBUF MESSAGE 'm' ^SCHEMA 's'", "Expected USING, found SCHEMA"),
    (f"FORMAT PROTOBUF USING {REGISTRY} c SEED VALUE SCHEMA 's'^", "Expected MESSAGE, found EOF"),
    ("FORMAT CSV^", "Expected WITH, found EOF"),
    ("FORMAT CSV WITH ^COLUMNS", "Expected one of HEADER or HEADERS or literal integer, found COLUMNS"),
    ("FORMAT CSV WITH ^1.5 COLUMNS", 'Expected literal integer, found number "1.5"'),
    ("FORMAT CSV WITH 3^", "Expected COLUMNS, found EOF"),
    ("FORMAT CSV WITH HEADERS^", "Expected left parenthesis, found EOF"),
    ("FORMAT CSV WITH HEADER (^)", "Expected identifier, found right parenthesis"),
    ("FORMAT CSV WITH HEADER DELIMITED BY ^'ab'", 'Expected one-character string, found string literal "ab"'),
    ("FORMAT CSV WITH HEADER DELIMITED BY ^''", 'Expected one-character string, found string literal ""'),
    ("FORMAT REGEX ^a", 'Expected literal string, found identifier "a"'),
    ("FORMAT JSON ^LIST", "Expected end of statement, found LIST"),
    ("FORMAT TEXT ^FORMAT TEXT", "Expected end of statement, found FORMAT"),
    ("KEY ^TEXT", "Expected FORMAT, found TEXT"),
    ("KEY FORMAT TEXT^", "Expected VALUE, found EOF"),
    ("KEY FORMAT TEXT ^INCLUDE KEY", "Expected VALUE, found INCLUDE"),
    ("KEY FORMAT TEXT VALUE ^TEXT", "Expected FORMAT, found TEXT"),
    ("^VALUE FORMAT TEXT", "Expected end of statement, found VALUE"),
    (
        "INCLUDE ^VALUE",
        "Expected one of KEY or PARTITION or OFFSET or TIMESTAMP or HEADERS or HEADER, found VALUE",
    ),
    ("INCLUDE OFFSET AS ^offset", "Expected identifier, found OFFSET"),
    ("INCLUDE KEY ^k", 'Expected end of statement, found identifier "k"'),
    ("INCLUDE HEADER ^h AS a", 'Expected literal string, found identifier "h"'),
    ("INCLUDE HEADER 'h'^", "Expected AS, found EOF"),
    ("INCLUDE KEY ^BYTES", "Expected end of statement, found BYTES"),
    ("ENVELOPE ^frob", 'Expected one of NONE or DEBEZIUM or UPSERT or MATERIALIZE, found identifier "frob"'),
    ("ENVELOPE UPSERT (^KEY (a))", "Expected VALUE, found KEY"),
    ("ENVELOPE UPSERT (VALUE DECODING ERRORS = ^STRICT)", "Expected INLINE, found STRICT"),
    ("ENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE)^", "Expected right parenthesis, found EOF"),
    ("ENVELOPE NONE ^(x)", "Expected end of statement, found left parenthesis"),
    ("ENVELOPE NONE ^INCLUDE KEY", "Expected end of statement, found INCLUDE"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_refusal_says_this_at_this_place(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(text.replace("^", ""))
    error = caught.value
    assert (error.message, error.sqlstate, error.position) == (message, "42601", text.index("^") + 1)
