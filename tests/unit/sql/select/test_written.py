"""Texts of an engine that say what they are: what is kept when one is put into another.

Method: the ways in which texts are made, one by one.
"""

from __future__ import annotations

import pytest

from headwater.core.types import INT8, SqlType
from headwater.sql.select.functions.forms import DUCKDB, SPARK, bound_pair, cast_to, numeric_nan, unless_nan
from headwater.sql.select.functions.written import (
    Guarded,
    Simple,
    literal,
    native,
    of_the_engine,
    simple,
)

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
