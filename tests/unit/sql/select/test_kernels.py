"""Kernels: properties of their arithmetic, orders and translations, and how they reach an engine.

Goal: numerics are exact and ordered, sort keys order as values do, regular expressions find the
longest match, errors survive the way through an engine, and NULLs and batches are handled once for all.
Method: hypothesis against Python's own exact types; a DuckDB connection in process; Spark's wrapper is
called as Spark would call it, without Spark.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.calendar import DAY_US, add_months
from headwater.core.errors import UserError
from headwater.formats.engine_types import duckdb_working, spark_type
from headwater.formats.jsonb import print_value
from headwater.sql.select.kernels import (
    KERNELS,
    KERNELS_BY_NAME,
    Kernel,
    documents,
    fields,
    intervals,
    numerics,
    regex,
    register_duckdb,
    spark_function,
    told,
    zones,
)
from headwater.sql.select.kernels.errors import KernelError, marked_text, user_error_of
from headwater.sql.select.kernels.kernel import (
    Interval,
    arrow_of,
    conform,
    duckdb_function,
    interval_array,
    row_wise,
    stored_form,
    type_of,
    values_of,
)
from headwater.sql.select.kernels.number_patterns import shown

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6)


def run(name: str, *columns: Sequence[object]) -> list[object]:
    kernel = KERNELS_BY_NAME[name]
    arrays = [
        pa.array(column, arrow_of(type_)) for column, type_ in zip(columns, kernel.arguments, strict=True)
    ]
    return values_of(kernel.function(*arrays))


# Numerics


@given(DECIMALS, DECIMALS)
def test_sums_and_products_of_numerics_are_exact(left: Decimal, right: Decimal) -> None:
    texts = [numerics.canonical(left)], [numerics.canonical(right)]
    assert Fraction(str(run("hw_numeric_add", *texts)[0])) == Fraction(left) + Fraction(right)
    assert Fraction(str(run("hw_numeric_mul", *texts)[0])) == Fraction(left) * Fraction(right)


@given(DECIMALS, DECIMALS.filter(bool))
def test_a_quotient_has_sixteen_significant_digits_and_is_correctly_rounded(
    left: Decimal, right: Decimal
) -> None:
    scale = numerics.quotient_scale(left, right)
    result = numerics.divide(left, right)
    assert abs(Fraction(result) - Fraction(left) / Fraction(right)) * 10**scale * 2 <= 1
    if result:
        assert scale + result.adjusted() + 1 >= 13  # base 10000 digits: up to three of the first are zeros


@given(DECIMALS.filter(lambda value: value > 0))
def test_a_square_root_squared_is_the_number_to_its_last_digit(value: Decimal) -> None:
    root = Fraction(numerics.square_root(value))
    step = Fraction(Decimal(1).scaleb(numerics.square_root(value).as_tuple().exponent)) / 2  # type: ignore[arg-type]
    assert (root - step) ** 2 <= Fraction(value) <= (root + step) ** 2


@given(st.lists(DECIMALS, min_size=2))
def test_numeric_keys_order_as_the_numbers_do(values: list[Decimal]) -> None:
    texts = {numerics.canonical(value) for value in values}
    assert sorted(texts, key=numerics.sort_key) == sorted(texts, key=Decimal)


def test_infinities_surround_all_numbers_and_nan_is_the_greatest() -> None:
    ordered = ["-Infinity", "-10", "-9.5", "-0.001", "0", "0.001", "9.5", "10", "Infinity", "NaN"]
    shuffled = [*ordered[5:], *ordered[:5]]
    assert sorted(shuffled, key=numerics.sort_key) == ordered


def test_a_numeric_that_does_not_fit_its_scale_is_refused_with_the_limit() -> None:
    with pytest.raises(UserError) as caught:
        numerics.fit("1" + "0" * 36, 2)
    assert caught.value.sqlstate == "22003"
    assert caught.value.detail == (
        "A field with precision 38, scale 2 must round to an absolute value less than 10^36."
    )
    assert numerics.fit("9.995", 2) == "10.00"


# Documents

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(DOCUMENTS, DOCUMENTS)
def test_documents_have_equal_keys_just_when_they_are_equal(left: object, right: object) -> None:
    first, second = print_value(left), print_value(right)
    assert (documents.sort_key(first) == documents.sort_key(second)) == (first == second)


@given(DOCUMENTS)
def test_a_document_contains_itself(document: object) -> None:
    assert documents.contains(document, document)


# Times


@given(st.integers(-(10**6), 10**6), st.integers(-3000, 3000))
def test_adding_months_and_taking_them_away_loses_only_clamped_days(day: int, months: int) -> None:
    there = add_months(np.array([day]), np.array([months]))
    back = int(add_months(there, np.array([-months]))[0])
    assert 0 <= day - back <= 3


@given(
    st.integers(-(10**15), 10**17),
    st.sampled_from(["hour", "day", "week", "month", "quarter", "year", "century"]),
)
def test_truncation_goes_back_and_is_idempotent(moment: int, field: str) -> None:
    once = fields.truncated(np.array([moment]), field)
    assert int(once[0]) <= moment
    assert int(fields.truncated(once, field)[0]) == int(once[0])


PARTS = st.tuples(st.integers(-50, 50), st.integers(-500, 500), st.integers(-(10**12), 10**12))


@given(PARTS)
def test_justifying_keeps_an_interval_as_long_as_it_was(value: Interval) -> None:
    def length(parts: tuple[int, ...]) -> int:
        return (parts[0] * 30 + parts[1]) * DAY_US + parts[2]

    columns = intervals.justified(tuple(np.array([part]) for part in value))  # type: ignore[arg-type]
    justified = tuple(int(part[0]) for part in columns)
    assert length(justified) == length(value)
    assert len({part > 0 for part in justified if part}) <= 1


def test_a_clock_that_shows_an_hour_twice_means_the_second_time() -> None:
    clock = np.array([1_635_647_400_000_000])  # 2021-10-31 02:30:00
    berlin = zones.zone_named("europe/berlin")
    assert clock - berlin.from_clock(clock) == 3_600_000_000
    assert berlin.to_clock(berlin.from_clock(clock)) == clock
    with pytest.raises(UserError, match='time zone "Nowhere/Foo" not recognized'):
        zones.zone_named("Nowhere/Foo")


@pytest.mark.parametrize(
    ("name", "moment", "clock"),
    [
        ("MSK", "2010-07-01 12:00", "15:00"),
        ("msk", "2013-07-01 12:00", "16:00"),
        ("msk", "2020-07-01 12:00", "15:00"),
        ("MSD", "2020-07-01 12:00", "16:00"),
        ("akst", "2020-07-01 12:00", "03:00"),
        ("NPT", "2020-07-01 12:00", "17:45"),
    ],
)
def test_an_abbreviation_means_what_it_meant_at_the_time(name: str, moment: str, clock: str) -> None:
    at = np.array([np.datetime64(moment, "us").astype(np.int64)])
    shown = zones.zone_named(name).to_clock(at)
    assert str(shown.astype("datetime64[us]")[0])[11:16] == clock
    assert zones.zone_named(name).from_clock(shown) == at


# Regular expressions


def test_the_longest_of_the_leftmost_matches_is_found() -> None:
    for pattern, text, longest in (
        ("foo|foobar", "xfoobar", "foobar"),
        ("a?(ab)?", "ab", "ab"),
        ("[a-z]+[0-9]*", "ab12-z", "ab12"),
    ):
        found = regex.find(regex.compiled(pattern), text)
        assert found is not None
        assert found.group() == longest


@settings(deadline=None)
@given(st.text(alphabet="ab", max_size=8), st.sampled_from(["a*(ab)?b*", "(a|b)+a", "a?b?a?", "(ab)*(ba)?"]))
def test_no_longer_match_starts_where_the_found_one_does(text: str, pattern: str) -> None:
    found = regex.find(regex.compiled(pattern), text)
    if found is None:
        return
    compiled = regex.compiled(pattern).compiled
    assert all(
        compiled.fullmatch(text, found.start(), end) is None for end in range(found.end() + 1, len(text) + 1)
    )


def test_what_could_match_otherwise_than_in_postgresql_is_refused() -> None:
    for pattern in ("a+?b", "(a|ab)(c|bcd)", "ab|abc$", "x*(?=y)z*"):
        with pytest.raises(UserError) as caught:
            regex.find(regex.compiled(pattern), "abcd")
        assert caught.value.sqlstate == "0A000"
        assert isinstance(regex.matches(pattern, "abcd"), bool)


def test_a_pattern_that_is_none_says_why() -> None:
    for pattern, why in (
        ("(a", "parentheses () not balanced"),
        ("[a", "brackets [] not balanced"),
        ("*", "quantifier"),
    ):
        with pytest.raises(UserError, match="invalid regular expression") as caught:
            regex.compiled(pattern)
        assert why in caught.value.message
        assert caught.value.sqlstate == "2201B"


# Templates


def test_numbers_by_templates_look_as_in_postgresql() -> None:
    for value, template, text in (
        ("-12.345", "999.99", " -12.35"),
        ("0", "FM999.99", "0."),
        ("1234.5", "9,999.99", " 1,234.50"),
        ("1234567", "9,999", " #,###"),
        ("-5", "999PR", "  <5>"),
    ):
        assert shown(value, template) == text


# The way through an engine


@given(st.text(), st.text(), st.text())
def test_an_error_comes_back_from_an_engines_text_as_it_was(message: str, detail: str, hint: str) -> None:
    text = marked_text(UserError(message, "22P02", detail or None, hint or None))
    found = user_error_of(f"Invalid Input Error: Python exception occurred: KernelError: {text}\n  at java")
    assert found is not None
    assert (found.message, found.sqlstate) == (message, "22P02")
    assert (found.detail or "", found.hint or "") == (detail, hint)


@pytest.mark.parametrize(
    ("text", "sqlstate", "message"),
    [
        (
            "Out of Range Error: Overflow in addition of INT32 (2147483647 + 1)!",
            "22003",
            "integer out of range",
        ),
        ("Out of Range Error: Overflow in division of -32768 / -1", "22003", "smallint out of range"),
        ("Invalid Input Error: Division by zero in expression (7 // 0).", "22012", "division by zero"),
        ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` ...", "22012", "division by zero"),
        (
            '[CAST_OVERFLOW] The value 70000 of the type "INT" cannot be cast to "SMALLINT"',
            "22003",
            "smallint out of range",
        ),
        (
            "Out of Range Error: Overflow in addition of DECIMAL(38) (9 + 1);",
            "22003",
            "numeric field overflow",
        ),
    ],
)
def test_an_engines_own_words_become_postgresqls(text: str, sqlstate: str, message: str) -> None:
    found = user_error_of(text)
    assert found is not None
    assert (found.sqlstate, found.message) == (sqlstate, message)


def test_a_marked_error_in_the_querys_own_text_is_not_taken_for_the_error() -> None:
    text = "Conversion Error: something else\n\nLINE 1: select error('HW|22012|division by zero|||')"
    assert user_error_of(text) is None


def test_every_type_of_the_vocabulary_has_a_name_in_both_engines() -> None:
    for kernel in KERNELS:
        for name in (*kernel.arguments, kernel.returns):
            if name != "any":
                assert duckdb_working(type_of(name))
                assert spark_type(type_of(name))
                assert arrow_of(name) is not None


def test_a_kernel_fails_in_duckdb_with_its_own_error() -> None:
    connection = duckdb.connect()
    register_duckdb(connection)
    with pytest.raises(duckdb.Error) as caught:
        connection.execute(told("SELECT hw_text_to_int4('x')")).fetchall()
    found = user_error_of(str(caught.value))
    assert found is not None
    assert (found.sqlstate, found.message) == ("22P02", 'invalid input syntax for type integer: "x"')


def test_in_spark_only_the_rows_that_fail_carry_an_error() -> None:
    function, returns = spark_function(KERNELS_BY_NAME["hw_text_to_int4"])
    assert returns == "STRUCT<value: INT, error: STRING>"
    rows = function(pa.array(["1", "x", None])).to_pylist()
    assert [row["value"] for row in rows] == [1, None, None]
    assert [row["error"] is None for row in rows] == [True, False, True]
    assert "22P02" in rows[1]["error"]


def test_in_spark_each_row_of_a_long_batch_has_its_own_answer() -> None:
    function, _ = spark_function(KERNELS_BY_NAME["hw_interval_div"])
    intervals_given = interval_array([(0, row, 0) for row in range(1_000)])
    rows = function(intervals_given, pa.array([float(row % 7 - 3) for row in range(1_000)])).to_pylist()
    assert [row["error"] is None for row in rows] == [row % 7 != 3 for row in range(1_000)]
    assert [row["value"]["days"] for row in rows if row["value"]] == [
        int(row / (row % 7 - 3)) for row in range(1_000) if row % 7 != 3
    ]


def test_a_kernel_that_never_fails_answers_spark_plainly() -> None:
    function, returns = spark_function(KERNELS_BY_NAME["hw_numeric_neg"])
    assert returns == "STRING"
    assert function(pa.array(["2.50", None])).to_pylist() == ["-2.50", None]


def test_strict_kernels_answer_null_without_being_called() -> None:
    def refuse(*values: object) -> object:
        raise UserError("called", "XX000")

    kernel = row_wise("hw_refuse", ("text", "text"), "text", refuse)
    assert kernel.function(pa.array(["a", None]), pa.array([None, "b"], pa.string())).to_pylist() == [
        None,
        None,
    ]
    with pytest.raises(KernelError, match=r"HW\|XX000\|called"):
        duckdb_function(kernel)(pa.chunked_array([[0]]), pa.chunked_array([["a"]]), pa.chunked_array([["b"]]))


def test_intervals_pass_through_duckdb_and_back() -> None:
    parts = [(1, -2, 3_000_001), None, (0, 0, 0)]
    kernel = row_wise("hw_same", ("interval",), "interval", lambda value: value)
    given_array = duckdb_function(kernel)(
        pa.chunked_array([[0] * 3]), pa.chunked_array([interval_array(parts)])
    )
    assert given_array.type == pa.month_day_nano_interval()
    assert values_of(stored_form(given_array)) == parts
    nested = pa.array([[1, None], None], pa.list_(pa.uint16()))
    assert conform(nested, "any").type == pa.list_(pa.int32())


def test_an_interval_whose_parts_do_not_fit_is_out_of_range() -> None:
    with pytest.raises(UserError, match="interval out of range"):
        interval_array([(2**31, 0, 0)])


def test_no_two_kernels_share_a_name() -> None:
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS)
    assert all(isinstance(kernel, Kernel) and kernel.name.startswith("hw_") for kernel in KERNELS)


def test_values_of_a_batch_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.sql.select.kernels.kernel.KERNEL_BATCH_BYTES_MAX", 1_000)
    repeat = KERNELS_BY_NAME["hw_repeat"].function
    texts = pa.array(["x", None, "y"])
    assert len(repeat(texts, pa.array([500, 500, 500], pa.int32()))) == 3
    with pytest.raises(UserError, match="take more than 0 MiB") as raised:
        repeat(texts, pa.array([500, 500, 501], pa.int32()))
    assert raised.value.sqlstate == "53200"


def test_what_is_made_of_long_values_slice_by_slice_has_the_same_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headwater.sql.select.kernels.kernel.KERNEL_SLICE_BYTES_MAX", 100)
    monkeypatch.setattr("headwater.sql.select.kernels.kernel.KERNEL_BATCH_BYTES_MAX", 1_000)
    replace = duckdb_function(KERNELS_BY_NAME["hw_replace"])
    number = pa.chunked_array([[0, 0, 0]])
    texts = pa.chunked_array([["a" * 100] * 3])
    old, short, long = (pa.chunked_array([[text] * 3]) for text in ("a", "bb", "bbbb"))
    assert len(replace(number, texts, old, short)) == 3
    with pytest.raises(KernelError, match="take more than 0 MiB"):
        replace(number, texts, old, long)


@pytest.mark.parametrize("last", ["100000000", "1e131000", "-100000000"])
def test_a_series_that_is_too_long_is_refused_before_it_is_begun(last: str) -> None:
    series = KERNELS_BY_NAME["hw_series_numeric"].function
    step = "-1" if last.startswith("-") else "1"
    began_s = time.monotonic()
    with pytest.raises(UserError, match="a series of more than 1000000 rows"):
        series(pa.array(["1"]), pa.array([last]), pa.array([step]))
    assert time.monotonic() - began_s < 1
