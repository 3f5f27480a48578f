"""Type names: every spelling of a type is that type; what is none is refused with its place.

Method: a table of spellings; the names and aliases of all facts about types; rendered types
read back (the round trip has more of those).
"""

from __future__ import annotations

import pytest

from headwater.core.errors import UserError
from headwater.core.types import FACTS, SqlType, array_of, format_type, list_of, map_of
from headwater.sql.cursor import Cursor
from headwater.sql.lexer import tokenize
from headwater.sql.type_names import parse_type, render_type

INT4 = SqlType("int4")
TEXT = SqlType("text")


def read(text: str) -> SqlType:
    cursor = Cursor(text, tokenize(text))
    type_ = parse_type(cursor)
    cursor.expect_end()
    return type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("int", INT4),
        ("INTEGER", INT4),
        ("double precision", SqlType("float8")),
        ("float", SqlType("float8")),
        ("float(24)", SqlType("float4")),
        ("float(25)", SqlType("float8")),
        ("numeric", SqlType("numeric")),
        ("numeric(10)", SqlType("numeric", scale=0)),
        ("decimal(38, 5)", SqlType("numeric", scale=5)),
        ("varchar", SqlType("varchar")),
        ("character varying(7)", SqlType("varchar", length=7)),
        ("char varying", SqlType("varchar")),
        ("char", SqlType("char", length=1)),
        ("character(3)", SqlType("char", length=3)),
        ("bpchar", SqlType("char")),
        ('"char"', SqlType('"char"')),
        ("pg_catalog.char", SqlType('"char"')),
        ("pg_catalog.bpchar(3)", SqlType("char", length=3)),
        ("timestamp", SqlType("timestamp")),
        ("timestamp without time zone", SqlType("timestamp")),
        ("timestamp(3) with time zone", SqlType("timestamptz", scale=3)),
        ("timestamptz(0)", SqlType("timestamptz", scale=0)),
        ("time(6) without time zone", SqlType("time", scale=6)),
        ("pg_catalog.int4", INT4),
        ("mz_catalog.uint8", SqlType("uint8")),
        ('"int4"', INT4),
        ("int[]", array_of(INT4)),
        ("int[3][]", array_of(INT4)),
        ("_text", array_of(TEXT)),
        ('"_int4"', array_of(INT4)),
        ("int list", list_of(INT4)),
        ("int list list", list_of(list_of(INT4))),
        ("map[text=>int]", map_of(INT4)),
        (
            "map[text => map[text => numeric(5, 2)]] list",
            list_of(map_of(map_of(SqlType("numeric", scale=2)))),
        ),
        ("timestamp with time zone[]", array_of(SqlType("timestamptz"))),
    ],
)
def test_a_name_is_this_type(text: str, type_: SqlType) -> None:
    assert read(text) == type_
    assert read(render_type(type_)) == type_


@pytest.mark.parametrize(
    "kind",
    sorted(kind for kind in FACTS if kind not in ("array", "list", "map", "record", "unknown", "void")),
)
def test_every_type_is_known_by_its_catalog_name_and_as_it_is_printed(kind: str) -> None:
    type_ = SqlType(kind)
    assert read(render_type(type_)) == type_
    printed = read(format_type(type_))
    assert printed == (SqlType("char", length=1) if kind == "char" else type_)


@pytest.mark.parametrize(
    ("text", "message", "sqlstate", "position"),
    [
        ("frob", 'type "frob" does not exist', "42704", 1),
        ("  public.int4", 'type "public.int4" does not exist', "42704", 3),
        ('"integer"', 'type "integer" does not exist', "42704", 1),
        ("list", 'type "list" does not exist', "42704", 1),
        ("unknown", 'type "unknown" does not exist', "42704", 1),
        ("time with time zone", 'type "time with time zone" does not exist', "42704", 1),
        ("numeric(40)", "precision for type numeric must be between 1 and 39", "22023", 9),
        ("numeric(5, 6)", "scale for type numeric must be between 0 and 5", "22023", 12),
        ("varchar(0)", "length for type character varying must be between 1 and 10485760", "22023", 9),
        (
            "timestamp(7)",
            "precision for type timestamp without time zone must be between 0 and 6",
            "22023",
            11,
        ),
        ("float(54)", "precision for type float must be between 1 and 53", "22023", 7),
        (" varchar(1, 2)", "invalid type modifier", "22023", 2),
        ('"unknown"', 'type "unknown" does not exist', "42704", 1),
        ("int(4)", 'type modifier is not allowed for type "int4"', "42601", 1),
        ("map[int=>int]", "map keys must be of type text, not integer", "42704", 5),
        ("int[", "Expected literal integer, found EOF", "42601", 5),
        ("select", "Expected identifier, found SELECT", "42601", 1),
        ("1", 'Expected identifier, found number "1"', "42601", 1),
        ("int" + " list" * 17, "type is nested too deeply", "54001", 85),
    ],
)
def test_what_is_no_type_is_refused(text: str, message: str, sqlstate: str, position: int) -> None:
    with pytest.raises(UserError) as refused:
        read(text)
    assert (refused.value.message, refused.value.sqlstate) == (message, sqlstate)
    assert refused.value.position == position
