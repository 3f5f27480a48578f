"""Constants in DuckDB: a literal read back is the value it was made from.

Method: texts of every type, chosen and random, become canonical constants, then DuckDB literals, then
rows, then text again; that text must be the canonical one.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import (
    BYTEA,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT2,
    UINT8,
    UUID,
    SqlType,
    array_of,
    list_of,
    map_of,
    numeric,
)
from headwater.sql.select.plan.literals import canonical
from headwater.sql.select.plan.nodes import ColumnId, Constant, OutputColumn, Query, Values
from tests.unit.sql.select.lab import execute


def read_back(value: str | None, type_: SqlType) -> str | None:
    column = OutputColumn(ColumnId(1), "x", type_)
    ((printed,),) = execute(Query(Values(((Constant(value, type_),),), (column,)), (column,)))
    return printed


SAMPLES: list[tuple[SqlType, list[str]]] = [
    (SqlType("bool"), ["t", "f"]),
    (INT2, ["-32768", "32767"]),
    (INT4, ["-2147483648", "0"]),
    (INT8, ["-9223372036854775808", "9223372036854775807"]),
    (UINT2, ["65535"]),
    (UINT8, ["18446744073709551615"]),
    (FLOAT8, ["1.5", "-0", "NaN", "Infinity", "-Infinity", "1e-300"]),
    (SqlType("float4"), ["0.1", "1e+30"]),
    (numeric(2), ["1.5", "-999999999999999999999999999999999999.99"]),
    (NUMERIC, ["NaN", "0.1", "123456789012345678901234567890123456789.5"]),
    (TEXT, ["", "it's", 'a\\b\n"c"', "{0}", "日本"]),
    (SqlType("char", length=4), ["a"]),
    (BYTEA, ["\\x", "\\x00ff27"]),
    (DATE, ["2020-02-29", "0001-01-01", "0044-03-15 BC", "12345-01-01"]),
    (TIME, ["00:00:00", "23:59:59.999999", "24:00:00"]),
    (TIMESTAMP, ["1969-12-31 23:59:59.999999", "0044-03-15 12:00:00 BC"]),
    (TIMESTAMPTZ, ["2020-01-01 00:00:00+02"]),
    (INTERVAL, ["1 year 2 mons -3 days 04:05:06.789", "-00:00:00.000001", "00:00:00"]),
    (UUID, ["550E8400-e29b-41d4-a716-446655440000"]),
    (JSONB, ['{"b": [1, null, "x\'y"], "a": 1.50}']),
    (SqlType("oid"), ["4294967295"]),
    (SqlType("int2vector"), ["1 2 3", ""]),
    (array_of(INT4), ["{}", "{1,NULL,-3}"]),
    (array_of(TEXT), ['{a,"b c",NULL,"NULL","","\\"q\\""}']),
    (array_of(DATE), ["{2020-01-01,NULL}"]),
    (array_of(INTERVAL), ['{"1 day",NULL}']),
    (array_of(NUMERIC), ["{1.5,NaN}"]),
    (list_of(list_of(INT8)), ["{{1},{2,3},NULL}"]),
    (map_of(UINT8), ["{a=>1,b=>NULL}", "{}"]),
    (SqlType("record", fields=(("f1", INT4), ("f2", INTERVAL), ("f3", TEXT))), ['(1,"1 day","a b")', "(,,)"]),
]


@pytest.mark.parametrize(("type_", "text"), [(type_, text) for type_, texts in SAMPLES for text in texts])
def test_a_literal_is_read_back_as_it_was_written(type_: SqlType, text: str) -> None:
    value = canonical(text, type_)
    assert read_back(value, type_) == value


@pytest.mark.parametrize("type_", [type_ for type_, _ in SAMPLES])
def test_null_is_null_in_every_type(type_: SqlType) -> None:
    assert read_back(None, type_) is None


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_any_text_survives(text: str) -> None:
    assert read_back(text, TEXT) == text
    quoted = "{" + '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' + "}"
    assert read_back(canonical(quoted, array_of(TEXT)), array_of(TEXT)) == canonical(quoted, array_of(TEXT))


@settings(max_examples=100, deadline=None)
@given(st.integers(-10_000, 10_000), st.integers(-10_000, 10_000), st.integers(-(10**15), 10**15))
def test_any_interval_survives(months: int, days: int, micros: int) -> None:
    value = canonical(f"{months} months {days} days {micros} microseconds", INTERVAL)
    assert read_back(value, INTERVAL) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (INT4, "x"),
        (INT2, "40000"),
        (DATE, "2020-02-30"),
        (UUID, "no"),
        (JSONB, "{"),
        (array_of(INT4), "1"),
        (FLOAT8, ""),
    ],
)
def test_text_that_is_no_such_value_is_refused(type_: SqlType, text: str) -> None:
    with pytest.raises(UserError) as caught:
        canonical(text, type_)
    assert caught.value.sqlstate.startswith("22")
