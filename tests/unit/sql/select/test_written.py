"""Texts of an engine that say what they are: what is kept when one is put into another.

Method: the ways in which texts are made, one by one.
"""

from __future__ import annotations

import re
from itertools import chain

import pytest

from headwater.core.errors import UserError
from headwater.core.types import INT4, INT8, NUMERIC, TEXT, SqlType, array_of, list_of
from headwater.sql.select.functions import FUNCTIONS
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    bound_pair,
    call,
    cast_to,
    numeric_nan,
    unless_nan,
)
from headwater.sql.select.functions.written import (
    Guarded,
    Simple,
    calling,
    literal,
    named_column,
    native,
    of_the_engine,
    simple,
)
from headwater.sql.select.generate.spark.expressions import fill

KERNEL = re.compile(r"\bhw_\w+")
ANY = {
    "numeric": NUMERIC,
    "any": TEXT,
    "anyelement": INT4,
    "anynonarray": INT4,
    "anyarray": array_of(INT4),
    "anymap": SqlType("map", element=INT4),
    "anylist": list_of(INT4),
}

DECIMAL = SqlType("numeric", scale=2)
ENGINES = pytest.mark.parametrize("engine", [DUCKDB, SPARK])


def test_what_is_computed_of_few_simple_texts_is_simple() -> None:
    column, two = simple("c1"), literal("2", "2")
    product = native("(c1 * 2)", column, two)
    assert isinstance(product, Simple)
    assert isinstance(native("(c1 * 2 + c1)", product, column), Simple)
    assert not isinstance(native("...", product, product), Simple)  # four of them
    assert not isinstance(native("f(x)", "x"), Simple)
    assert not isinstance(f"({column})", Simple)


@ENGINES
def test_a_cast_is_as_simple_as_what_it_casts(engine: str) -> None:
    assert isinstance(cast_to(engine, simple("c1"), INT8), Simple)
    assert not isinstance(cast_to(engine, "hw_numeric_fit(c1)", INT8), Simple)


@pytest.mark.parametrize(
    ("template", "own"), [("abs({0})", True), ("hw_ilike({0}, {1})", False), ("<<sum|{0}>>", False)]
)
def test_a_template_tells_whether_it_is_the_engines_alone(template: str, own: bool) -> None:
    assert of_the_engine(template) == own


@ENGINES
def test_a_pair_is_bound_unless_both_are_simple(engine: str) -> None:
    def make(left: str, right: str) -> str:
        return f"({left} - {right})"

    assert bound_pair(engine, simple("c1"), simple("c2"), make) == "(c1 - c2)"
    assert "(r.a - r.b)" in bound_pair(engine, simple("c1"), "f(c2)", make)


@ENGINES
def test_nan_is_asked_of_each_input_once_and_not_of_constants(engine: str) -> None:
    def add(sides: tuple[str, ...]) -> str:
        return f"({sides[0]} + {sides[1]})"

    def total(left: str, right: str) -> str:
        return unless_nan(engine, (left, right), (DECIMAL, DECIMAL), "NAN", add)

    nan = numeric_nan(2)
    one = literal("CAST('1.00' AS DECIMAL(38,2))", "1.00")
    assert total(one, one) == f"({one} + {one})"
    inner = total(simple("c1"), one)
    assert isinstance(inner, Guarded)
    assert inner.count(nan) == 1
    outer = total(inner, simple("c1"))
    assert outer.count(f"c1 = {nan}") == 1
    # NULL is no number: with it beside a NaN the sum is NULL.
    assert "IS NOT NULL" in total(simple("c1"), literal("CAST(NULL AS DECIMAL(38,2))", None))
    assert total(simple("c1"), literal(nan, "NaN")).count(f"{nan} = {nan}") == 1


def test_whoever_writes_a_call_of_a_kernel_notes_it() -> None:
    written_count = 0
    for function in chain.from_iterable(FUNCTIONS.values()):
        types = tuple(want if isinstance(want, SqlType) else ANY[want] for want in function.arguments)
        texts = tuple(map(named_column, "abcdefghij"))[: len(types)]
        if function.spark is None:
            continue
        with calling() as outside, calling() as kernels:
            try:
                text = fill(function.spark, texts, types)
            except UserError:
                continue  # these types it does not take
        assert set(kernels) == set(KERNEL.findall(text)), function.name
        assert outside == kernels
        written_count += bool(kernels)
    assert written_count > 300


def test_what_is_written_afterwards_is_not_noted() -> None:
    with calling() as kernels:
        call(SPARK, "hw_reverse", "c1")
    call(SPARK, "hw_initcap", "c1")
    assert kernels == ["hw_reverse"]
