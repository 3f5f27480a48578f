"""Text: every stored value can be written as PostgreSQL would and read back the same.

Method: random values of each type go to text and back (hypothesis); PostgreSQL's own spellings,
which were checked against a real one, and its errors are listed.  That the text is PostgreSQL's is
also seen by the SELECT fixture, which compares every answer with a real server's.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT8,
    UUID,
    SqlType,
    array_of,
    in_zone,
    list_of,
    map_of,
    numeric,
)
from headwater.formats.arrow import arrow_type
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.formats.text import from_text, to_text
from tests.support.stored import stored_column

RECORD = SqlType("record", fields=(("a", INT4), ("b", TEXT), ("c", array_of(TEXT))))
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
US = st.integers(-210_000_000_000_000_000, 9_000_000_000_000_000_000)
VALUES: dict[str, tuple[SqlType, st.SearchStrategy[object]]] = {
    "bool": (BOOL, st.booleans()),
    "int4": (INT4, st.integers(-(2**31), 2**31 - 1)),
    "int8": (INT8, st.integers(-(2**63), 2**63 - 1)),
    "uint8": (UINT8, st.integers(0, 2**64 - 1).map(Decimal)),
    "float8": (FLOAT8, st.floats(allow_nan=False)),
    "float4": (FLOAT4, st.floats(width=32, allow_nan=False)),
    "numeric with a scale": (numeric(4), st.decimals(-(10**20), 10**20, places=4)),
    "numeric of many places": (numeric(12), st.decimals(-1, 1, places=12)),
    "bytea": (BYTEA, st.binary(max_size=20)),
    "date": (DATE, st.integers(-2_440_588, 2_000_000_000).filter(lambda day: day < 2_145_000_000)),
    "time": (TIME, st.integers(0, 86_400_000_000)),
    "timestamp": (TIMESTAMP, US),
    "timestamptz": (TIMESTAMPTZ, US),
    "text[]": (array_of(TEXT), st.lists(st.none() | WORDS, max_size=4)),
    "int8[]": (array_of(INT8), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=4)),
    "text list list": (list_of(list_of(TEXT)), st.lists(st.lists(st.none() | WORDS, max_size=3), max_size=3)),
    "record": (
        RECORD,
        st.fixed_dictionaries(
            {
                "a": st.none() | st.integers(0, 9),
                "b": st.none() | WORDS,
                "c": st.none() | st.lists(WORDS, max_size=2),
            }
        ),
    ),
    "interval": (
        INTERVAL,
        st.fixed_dictionaries(
            {
                "months": st.integers(-100_000, 100_000),
                "days": st.integers(-100_000, 100_000),
                "microseconds": st.integers(-(10**15), 10**15),
            }
        ),
    ),
}


def stored(values: list[object], type_: SqlType) -> pa.Array:
    """Values in stored form; days and microseconds stand for dates and timestamps."""
    if type_.kind == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if type_.kind in ("timestamp", "timestamptz"):
        return pa.array(values, pa.int64()).cast(arrow_type(type_))
    return stored_column(values, type_)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_what_was_written_reads_back_the_same(name: str, data: st.DataObject) -> None:
    type_, values = VALUES[name]
    array = stored(data.draw(st.lists(st.none() | values, max_size=6)), type_)
    text = to_text(array, type_)
    assert text.is_valid().equals(array.is_valid())
    assert from_text(text, type_).equals(array)


@given(st.lists(WORDS.filter(bool), max_size=4, unique=True), st.data())
def test_a_map_reads_back_with_its_keys_in_order(keys: list[str], data: st.DataObject) -> None:
    entries = [(key, data.draw(st.none() | st.integers(0, 9))) for key in keys]
    text = to_text(pa.array([entries, None], arrow_type(map_of(INT4))), map_of(INT4))
    back = from_text(text, map_of(INT4)).to_pylist()
    assert back == [sorted(entries, key=lambda entry: entry[0].encode()), None]


def shown(text: str, type_: SqlType) -> str:
    """A text read and written again."""
    written = to_text(from_text(pa.array([text, None]), type_), type_).to_pylist()
    assert written[1] is None
    return str(written[0])


@pytest.mark.parametrize(
    ("type_", "given", "wanted"),
    [
        (BOOL, " YES ", "t"),
        (BOOL, "of", "f"),
        (INT4, " +7", "7"),
        (SqlType("oid"), "-1", "4294967295"),
        (MZ_TIMESTAMP, "1700000000000", "1700000000000"),
        (FLOAT8, "1e15", "1e+15"),
        (FLOAT8, "1e14", "100000000000000"),
        (FLOAT8, "0.0001", "0.0001"),
        (FLOAT8, "0.00001", "1e-05"),
        (FLOAT8, "-inf", "-Infinity"),
        (FLOAT8, "nan", "NaN"),
        (FLOAT4, "1000000", "1e+06"),
        (FLOAT4, "0.1", "0.1"),
        (NUMERIC, "1.50", "1.5"),
        (NUMERIC, "-0.00", "0"),
        (NUMERIC, "1e-10", "0.0000000001"),
        (NUMERIC, "12e3", "12000"),
        (NUMERIC, "inf", "Infinity"),
        (NUMERIC, "1e39", "1" + "0" * 39),
        (NUMERIC, "-1e131071", "-1" + "0" * 131_071),
        (JSONB, "[1e400]", f"[1{'0' * 400}]"),
        (numeric(2), "nan", "NaN"),
        (numeric(38), "NaN", "NaN"),
        (array_of(numeric(0)), "{NaN,1,NULL}", "{NaN,1,NULL}"),
        (numeric(2), f"-{'9' * 36}.99", f"-{'9' * 36}.99"),
        (numeric(2), f"{'9' * 36}.98", f"{'9' * 36}.98"),
        (numeric(2), "1.005", "1.01"),
        (numeric(2), "-1.005", "-1.01"),
        (numeric(0), "0.5", "1"),
        (BYTEA, "a\\001\\\\", "\\x61015c"),
        (BYTEA, "\\xDE ad", "\\xdead"),
        (DATE, "Jan 5 2020", "2020-01-05"),
        (DATE, "1/8/1999", "1999-01-08"),
        (DATE, "44-3-15 BC".replace("44", "0044"), "0044-03-15 BC"),
        (DATE, "12020-01-01", "12020-01-01"),
        (TIME, "1:05 pm", "13:05:00"),
        (TIME, "24:00:00", "24:00:00"),
        (TIMESTAMP, "20200105T101530", "2020-01-05 10:15:30"),
        (TIMESTAMP, "2020-01-05 10:20:30+05", "2020-01-05 10:20:30"),
        (SqlType("timestamp", scale=0), "2020-01-05 10:20:30.5", "2020-01-05 10:20:31"),
        (TIMESTAMPTZ, "2020-07-01 10:00 America/New_York", "2020-07-01 14:00:00+00"),
        (TIMESTAMPTZ, "2020-01-01 10:00:00-05:30", "2020-01-01 15:30:00+00"),
        (DATE, " Infinity ", "infinity"),
        (DATE, "-infinity", "-infinity"),
        (TIMESTAMP, "infinity", "infinity"),
        (SqlType("timestamp", scale=0), "-infinity", "-infinity"),
        (TIMESTAMPTZ, "-INFINITY", "-infinity"),
        (TIMESTAMP, "294247-01-10 04:00:54.775806", "294247-01-10 04:00:54.775806"),
        (TIMESTAMP, "4713-01-01 00:00:00 BC", "4713-01-01 00:00:00 BC"),
        (SqlType("tstzrange"), "[2024-01-01 05:00+05,infinity)", '["2024-01-01 00:00:00+00",infinity)'),
        (SqlType("tsrange"), "[-infinity,infinity]", "[-infinity,infinity]"),
        (SqlType("tsrange"), "(infinity,infinity)", "empty"),
        (SqlType("daterange"), "(2024-01-01,infinity]", "[2024-01-02,infinity]"),
        (SqlType("daterange"), "(-infinity,2024-01-01]", "(-infinity,2024-01-02)"),
        (SqlType("daterange"), "[infinity,infinity]", "[infinity,infinity]"),
        (SqlType("daterange"), "[infinity,infinity)", "empty"),
        (SqlType("daterange"), "[44-03-15 BC,)".replace("44", "0044"), '["0044-03-15 BC",)'),
        (SqlType("daterange"), "(,infinity)", "(,infinity)"),
        (INTERVAL, "-1 year 2 days", "-1 years +2 days"),
        (INTERVAL, "P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
        (INTERVAL, "1.5 months ago", "-1 mons -15 days"),
        (INTERVAL, "0", "00:00:00"),
        (array_of(TEXT), '{ a , "b c" , null, "NULL"}', '{a,"b c",NULL,"NULL"}'),
        (array_of(INT4), "{1,NULL}", "{1,NULL}"),
        (map_of(INT4), "{b=>1, a=>NULL}", "{a=>NULL,b=>1}"),
        (RECORD, '(1,"x ""y""",)', '(1,"x ""y""",)'),
        (UUID, "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (JSONB, '{"b":1.50, "aa":[1,{}], "b":1e2}', '{"b": 100, "aa": [1, {}]}'),
        (SqlType("char", length=4), "ab", "ab  "),
        (SqlType("varchar", length=3), "abc   ", "abc"),
        (SqlType("int2vector"), " 1  2 ", "1 2"),
    ],
)
def test_any_spelling_becomes_the_canonical_one(type_: SqlType, given: str, wanted: str) -> None:
    assert shown(given, type_) == wanted


@pytest.mark.parametrize(
    ("type_", "given", "sqlstate", "message"),
    [
        (INT4, "x", "22P02", 'invalid input syntax for type integer: "x"'),
        (INT4, "0x10", "22P02", 'invalid input syntax for type integer: "0x10"'),
        (INT4, "2147483648", "22003", 'value "2147483648" is out of range for type integer'),
        (INT8, "9223372036854775808", "22003", 'value "9223372036854775808" is out of range for type bigint'),
        (UINT8, "-1", "22003", 'value "-1" is out of range for type uint8'),
        (FLOAT8, "1e400", "22003", '"1e400" is out of range for type double precision'),
        (FLOAT8, "1e-400", "22003", '"1e-400" is out of range for type double precision'),
        (NUMERIC, "1e131072", "22003", "value overflows numeric format"),
        (JSONB, "1e131072", "22003", "value overflows numeric format"),
        (INT4, "9" * 5000, "22003", f'value "{"9" * 5000}" is out of range for type integer'),
        (NUMERIC, "1.2.3", "22P02", 'invalid input syntax for type numeric: "1.2.3"'),
        (numeric(2), "1" * 37, "22003", "numeric field overflow"),
        (numeric(2), f"{'9' * 36}.99", "22003", "numeric field overflow"),  # stands for NaN
        (numeric(2), "inf", "22003", "numeric field overflow"),
        (BOOL, "maybe", "22P02", 'invalid input syntax for type boolean: "maybe"'),
        (DATE, "2023-02-29", "22008", 'date/time field value out of range: "2023-02-29"'),
        (TIMESTAMP, "294276-12-31", "22008", 'timestamp out of range: "294276-12-31"'),
        (DATE, "soon", "22007", 'invalid input syntax for type date: "soon"'),
        (TIMESTAMP, "infinite", "22007", 'invalid input syntax for type timestamp: "infinite"'),
        (TIMESTAMP, "infinity 10:00", "22007", 'invalid input syntax for type timestamp: "infinity 10:00"'),
        (
            TIMESTAMP,
            "294247-01-10 04:00:54.775807",
            "22008",
            'timestamp out of range: "294247-01-10 04:00:54.775807"',
        ),
        (TIME, "infinity", "22007", 'invalid input syntax for type time: "infinity"'),
        (INTERVAL, "1 fortnight", "22007", 'invalid input syntax for type interval: "1 fortnight"'),
        (UUID, "a0", "22P02", 'invalid input syntax for type uuid: "a0"'),
        (JSONB, "{bad", "22P02", "invalid input syntax for type json"),
        (array_of(INT4), "{1", "22P02", 'malformed array literal: "{1"'),
        (array_of(INT4), "{{1},{2,3}}", "22P02", 'malformed array literal: "{{1},{2,3}}"'),
        (array_of(INT4), "[0:2]={1}", "22P02", 'malformed array literal: "[0:2]={1}"'),
        (RECORD, "(1)", "22P02", 'malformed record literal: "(1)"'),
        (SqlType("varchar", length=2), "abc", "22001", "value too long for type character varying(2)"),
    ],
)
def test_text_that_is_no_value_is_refused_as_postgresql_does(
    type_: SqlType, given: str, sqlstate: str, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        from_text(pa.array(["1", given][1:]), type_)
    assert (caught.value.sqlstate, caught.value.message) == (sqlstate, message)


def test_a_slice_of_a_column_is_written_as_if_it_were_whole() -> None:
    for type_, values in (
        (BYTEA, [b"a", b"bc", None, b"d"]),
        (array_of(TEXT), [["a"], ["b", None], None, ["c d"]]),
        (INTERVAL, [{"months": 1, "days": 2, "microseconds": 3}] * 4),
        (FLOAT8, [1.5, 1e300, None, -0.0]),
    ):
        array = stored(list(values), type_)
        assert to_text(array.slice(1, 3), type_).equals(to_text(array, type_).slice(1, 3))
    assert to_text(pa.array([], INTERVAL_TYPE), INTERVAL).to_pylist() == []


MOMENTS = st.integers(-210_866_803_200_000_000 + 10**13, 9_224_318_015_999_999_999 - 2**60)


@given(
    st.lists(st.one_of(st.none(), MOMENTS)), st.sampled_from(["Europe/Berlin", "Africa/Monrovia", "UTC+3"])
)
def test_moments_in_a_zone_are_the_same_moments(values: list[int | None], zone: str) -> None:
    stored = pa.array(values, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    shown = to_text(stored, in_zone(TIMESTAMPTZ, zone))
    assert from_text(shown, TIMESTAMPTZ).equals(stored)
    assert from_text(shown, in_zone(TIMESTAMPTZ, "Asia/Tokyo")).equals(stored)


@pytest.mark.parametrize(
    ("type_", "written", "in_utc", "in_tokyo"),
    [
        (TIMESTAMPTZ, "2026-07-01 12:00", "2026-07-01 10:00:00+00", "2026-07-01 19:00:00+09"),
        (TIMESTAMPTZ, "2026-07-01 12:00 UTC", "2026-07-01 12:00:00+00", "2026-07-01 21:00:00+09"),
        (TIMESTAMPTZ, "Jul 1 2026 12:00", "2026-07-01 10:00:00+00", "2026-07-01 19:00:00+09"),
        (TIMESTAMPTZ, "infinity", "infinity", "infinity"),
        (array_of(TIMESTAMPTZ), "{2026-07-01}", '{"2026-06-30 22:00:00+00"}', '{"2026-07-01 07:00:00+09"}'),
        (SqlType("tstzrange"), "[2026-07-01,)", '["2026-06-30 22:00:00+00",)', '["2026-07-01 07:00:00+09",)'),
        (TIMESTAMP, "2026-07-01 12:00", "2026-07-01 12:00:00", "2026-07-01 12:00:00"),
    ],
)
def test_a_text_without_an_offset_is_by_the_clocks_of_a_zone(
    type_: SqlType, written: str, in_utc: str, in_tokyo: str
) -> None:
    stored = from_text(pa.array([written]), in_zone(type_, "Europe/Berlin"))
    assert to_text(stored, type_).to_pylist() == [in_utc]
    assert to_text(stored, in_zone(type_, "Asia/Tokyo")).to_pylist() == [in_tokyo]
