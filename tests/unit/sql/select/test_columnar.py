"""Kernels that do ordinary rows by columns answer as the same function row by row.

Method: hypothesis makes columns of ordinary, odd and missing values; each kernel is asked both ways, in whole
and in slices of a larger array.  What fails row by row must fail by columns, with the same words.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import INT8, TEXT, list_of, type_to_json
from headwater.formats.jsonb import Number, print_value
from headwater.sql.select.kernels import KERNELS, KERNELS_BY_NAME, numerics
from headwater.sql.select.kernels.kernel import arrow_of, with_others
from tests.support.times_by_row import BOTH_WAYS

COLUMNAR = {
    kernel.name for kernel in KERNELS if kernel.by_row is not None and kernel.function != kernel.by_row
}
ROW_WISE_MAX = 118
"""Kernels that are Python once per row and nothing else: this number may only become smaller."""

NUMERICS = st.one_of(
    st.none(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6, places=2).map(
        numerics.shown
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.builds(
        lambda sign, whole, fraction: f"{sign}{whole.lstrip('0') or '0'}{'.' if fraction else ''}{fraction}",
        st.sampled_from(["", "-"]),
        st.text("0123456789", min_size=1, max_size=24),
        st.text("0123456789", max_size=24),
    ).map(lambda text: text if text.strip("-0.") else text.lstrip("-")),
    st.sampled_from(
        ["0", "0.00", "NaN", "Infinity", "-Infinity", "99999999999999999", "1" * 45, "-0.5", "0.1"]
    ),
)
PLACES = st.integers(-20, 20) | st.sampled_from([-(2**31), 2**31 - 1])
FLOATS = st.none() | st.one_of(
    st.floats(),
    st.floats(-1e6, 1e6),
    st.decimals(-1000, 1000, places=3).map(float),
    st.integers(-30, 30).map(lambda place: 10.0**place),
    st.floats(width=32),
)
LETTERS = st.sampled_from("ab ,xX0é😀ß\u0301\n") | st.characters(
    exclude_categories=["Cs"], exclude_characters="\x00"
)
TEXTS = st.none() | st.text(LETTERS, max_size=12)
SHORT = st.text("ab ,xé😀", max_size=2)
COUNTS = st.integers(-5, 12) | st.sampled_from([-(2**31), 2**31 - 1])
SCALARS = st.none() | st.booleans() | st.text(LETTERS, max_size=5)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "ab", "é", '"', "\\", "a: "]), SCALARS, max_size=4)
DOCUMENTS = st.none() | st.one_of(
    OBJECTS,
    st.lists(SCALARS, max_size=3),
    SCALARS,
    st.dictionaries(st.sampled_from("ab"), OBJECTS, max_size=2),
).map(print_value)
KEYS = st.sampled_from(["a", "b", "ab", "é", '"', "\\", "a: ", "", ": "])

EXACT_FLOATS = ("ceil", "floor", "trunc", "round", "sqrt", "degrees", "radians", "sign")


def integers(size: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1) | st.integers(-3, 3)


GIVEN: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    **{f"hw_numeric_{name}": (NUMERICS, NUMERICS) for name in ("add", "sub", "mul", "div", "mod", "idiv")},
    **{f"hw_numeric_{name}": (NUMERICS,) for name in ("neg", "abs", "sign", "ceil", "floor", "key")},
    **{f"hw_numeric_to_{kind}": (NUMERICS,) for kind in ("int2", "int4", "int8")},
    **{f"hw_numeric_{name}": (NUMERICS, PLACES) for name in ("round", "trunc")},
    "hw_numeric_to_float8": (NUMERICS,),
    "hw_numeric_sum": (st.none() | st.lists(NUMERICS, max_size=6),),
    "hw_float8_to_numeric": (FLOATS,),
    "hw_float4_to_numeric": (FLOATS,),
    "hw_numeric_fit": (NUMERICS, st.integers(0, 38)),
    "hw_substring": (TEXTS, COUNTS, COUNTS),
    "hw_substring_from": (TEXTS, COUNTS),
    "hw_overlay": (TEXTS, SHORT, COUNTS, COUNTS),
    "hw_text_cut": (TEXTS, st.integers(1, 14), st.sampled_from(["char", "varchar"])),
    "hw_text_fit": (TEXTS | st.just("ab    "), st.integers(1, 14), st.sampled_from(["char", "varchar"])),
    **{f"hw_float8_{name}": (FLOATS,) for name in EXACT_FLOATS},
    **{
        f"hw_int{size}_shift_{way}": (integers(size), COUNTS)
        for size in (2, 4, 8)
        for way in ("left", "right")
    },
    "hw_left": (TEXTS, COUNTS),
    "hw_right": (TEXTS, COUNTS),
    "hw_split_part": (TEXTS, SHORT, COUNTS),
    "hw_lpad": (TEXTS, st.integers(-3, 20), SHORT),
    "hw_rpad": (TEXTS, st.integers(-3, 20), SHORT),
    "hw_btrim": (TEXTS, SHORT),
    "hw_ltrim": (TEXTS, SHORT),
    "hw_rtrim": (TEXTS, SHORT),
    "hw_reverse": (TEXTS,),
    "hw_replace": (TEXTS, SHORT, SHORT),
    "hw_repeat": (TEXTS, st.integers(-2, 4)),
    "hw_translate": (TEXTS, st.text("ab,xé", max_size=4), st.text("ab,xé", max_size=4)),
    "hw_concat": (st.none() | st.lists(TEXTS, max_size=3),),
    "hw_concat_ws": (st.none() | SHORT, st.lists(TEXTS, max_size=3)),
    "hw_initcap": (TEXTS | st.text("aBÿ1 _-ß", max_size=8),),
    "hw_constant_time_eq": (st.none() | st.binary(max_size=3), st.none() | st.binary(max_size=3)),
    "hw_encode": (st.none() | st.binary(max_size=5), st.sampled_from(["hex", "base64", "HEX", "none"])),
    "hw_string_to_array": (TEXTS, st.none() | SHORT, st.none() | SHORT),
    "hw_jsonb_typeof": (DOCUMENTS | st.sampled_from(["-1", "0.5", "12"]),),
    "hw_jsonb_get": (DOCUMENTS, KEYS),
    "hw_jsonb_get_text": (DOCUMENTS, KEYS),
}


def answer(function: Any, arrays: list[pa.Array]) -> tuple[Any, Any]:
    try:
        return repr(function(*arrays).to_pylist()), None  # in which NaN is NaN, and -0 is not 0
    except UserError as error:
        return None, (error.message, error.sqlstate)


@pytest.mark.parametrize("name", GIVEN)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_by_columns_as_row_by_row(name: str, data: st.DataObject) -> None:
    kernel = KERNELS_BY_NAME[name]
    first, *others = GIVEN[name]
    count = data.draw(st.integers(0, 12))
    rows = data.draw(st.lists(first, min_size=count, max_size=count))
    columns: list[list[Any]] = [rows]
    for other in others:
        alike = data.draw(st.booleans())
        values = st.lists(other, min_size=count, max_size=count)
        columns.append([data.draw(other)] * count if alike else data.draw(values))
    arrays = [
        pa.array(column, arrow_of(type_)) for column, type_ in zip(columns, kernel.arguments, strict=True)
    ]
    assert kernel.by_row is not None
    expected = answer(kernel.by_row, arrays)
    assert answer(kernel.function, arrays) == expected
    begin = data.draw(st.integers(0, count))
    sliced = [array.slice(begin) for array in arrays]
    assert answer(kernel.function, sliced) == answer(kernel.by_row, sliced)


def ordinary_number(chance: random.Random) -> str:
    """Of up to 16 digits with a point anywhere, and with zeros at either end."""
    digits = "".join(chance.choices("0123456789", (4, 2, 1, 1, 1, 1, 1, 1, 1, 4), k=chance.randint(1, 16)))
    behind = chance.choice((0, 0, 1, 2, 2, 2, chance.randint(0, 15)))
    whole, fraction = digits[: len(digits) - behind].lstrip("0") or "0", digits[len(digits) - behind :]
    text = f"{whole}.{fraction}" if behind and fraction else whole
    return f"-{text}" if chance.random() < 0.4 and text.strip("0.") else text


def odd_number(chance: random.Random) -> str | None:
    longer = f"{chance.randrange(1, 10**12)}.{chance.randrange(10**25):025}"
    return chance.choice(
        (None, "NaN", "Infinity", "-Infinity", "1" * 45, longer, f"-{longer}", "-0." + "0" * 30 + "1")
    )


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("name", sorted(name for name in GIVEN if GIVEN[name][0] is NUMERICS))
def test_few_and_many_odd_numbers_among_ordinary_ones(name: str, share: float) -> None:
    kernel = KERNELS_BY_NAME[name]
    for seed in range(12):
        chance = random.Random(seed)

        def column(kind: str, chance: random.Random = chance) -> list[Any]:
            if kind == "int4":
                return [chance.randint(-3, 12) for _ in range(300)]
            return [(odd_number if chance.random() < share else ordinary_number)(chance) for _ in range(300)]

        arrays = [pa.array(column(kind), arrow_of(kind)) for kind in kernel.arguments]
        assert kernel.by_row is not None
        answers = answer(kernel.by_row, arrays)
        assert answer(kernel.function, arrays) == answers
        if answers[1] is not None:  # of all rows none has an answer then: one by one
            parts = [[array.slice(at, 1) for array in arrays] for at in range(300)]
            assert [answer(kernel.function, part) for part in parts] == [
                answer(kernel.by_row, part) for part in parts
            ]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_few_and_many_letters_beyond_ascii_are_reversed(share: float) -> None:
    chance = random.Random(5)
    letters = [
        chance.choice("é😀\u0301") if chance.random() < share else chance.choice("ab 1") for _ in range(4_000)
    ]
    texts = ["".join(letters[at : at + 10]) if at % 70 else None for at in range(0, 4_000, 10)]
    reversed_ = KERNELS_BY_NAME["hw_reverse"].function(pa.array(texts).slice(3))
    assert reversed_.to_pylist() == [None if text is None else text[::-1] for text in texts[3:]]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 63, 64, 65, 200])
def test_bytes_that_differ_anywhere_are_not_the_same(length: int) -> None:
    chance = random.Random(length)
    ours = [chance.randbytes(length) for _ in range(length + 2)]
    theirs = [
        bytes(byte ^ (place == row) for place, byte in enumerate(data)) for row, data in enumerate(ours)
    ]
    same = KERNELS_BY_NAME["hw_constant_time_eq"].function(pa.array(ours), pa.array(theirs))
    assert same.to_pylist() == [row >= length for row in range(length + 2)]


def test_all_of_them_are_compared() -> None:
    assert set(GIVEN) == COLUMNAR - BOTH_WAYS


def test_kernels_that_are_python_once_per_row_become_fewer() -> None:
    rows = [kernel.name for kernel in KERNELS if kernel.function == kernel.by_row]
    assert len(rows) <= ROW_WISE_MAX


@pytest.mark.parametrize("number", [1, 2, 9_999, 10_000, 10_001, 20_000, 25_000, 25_001, 25_002, 2**31 - 1])
def test_parts_far_away_are_found_in_either_direction(number: int) -> None:
    text = "".join(f"{i}," for i in range(25_000))
    parts = text.split(",")
    split_part = KERNELS_BY_NAME["hw_split_part"].function
    for signed in (number, -number):
        place = number - 1 if signed > 0 else len(parts) - number
        expected = parts[place] if 0 <= place < len(parts) else ""
        assert split_part(pa.array([text]), pa.array([","]), pa.array([signed], pa.int32())).to_pylist() == [
            expected
        ]


def test_separators_that_overlap_are_counted_from_the_left() -> None:
    split_part = KERNELS_BY_NAME["hw_split_part"].function
    given_texts, numbers = pa.array(["aaa"] * 4), pa.array([1, 2, -1, -2], pa.int32())
    assert split_part(given_texts, pa.array(["aa"] * 4), numbers).to_pylist() == ["", "a", "a", ""]


def together(pairs: list[tuple[str | None, str | None]] | None) -> str | None:
    """What string_agg makes of a group's values, each with the separator before it."""
    parts = [(value, separator or "") for value, separator in pairs or () if value is not None]
    return "".join([parts[0][0], *(separator + value for value, separator in parts[1:])]) if parts else None


@given(
    groups=st.lists(st.none() | st.lists(st.tuples(TEXTS, TEXTS), max_size=5), max_size=6),
    cut=st.integers(0, 3),
)
@settings(max_examples=200)
def test_texts_of_a_group_are_put_together_as_one_by_one(
    groups: list[list[tuple[str | None, str | None]] | None], cut: int
) -> None:
    expected = [together(group) for group in groups][cut:]
    whole = pa.array(groups, arrow_of("text[][]")).slice(cut)
    assert KERNELS_BY_NAME["hw_string_agg"].function(whole).to_pylist() == expected
    encoded = pc.cast(whole, arrow_of("bytea[][]"))
    found = KERNELS_BY_NAME["hw_bytea_agg"].function(encoded).to_pylist()
    assert [None if one is None else one.decode() for one in found] == expected


@given(
    groups=st.lists(st.none() | st.lists(TEXTS | st.text('"\\\x01a'), max_size=5), max_size=6),
    cut=st.integers(0, 3),
)
@settings(max_examples=200)
def test_texts_of_a_group_become_one_document(groups: list[list[str | None] | None], cut: int) -> None:
    expected = [None if group is None else print_value(group) for group in groups][cut:]
    whole = pa.array(groups, arrow_of("text[]")).slice(cut)
    types = pa.array([json.dumps(type_to_json(list_of(TEXT)))] * len(whole))
    assert KERNELS_BY_NAME["hw_jsonb_agg"].function(whole, types).to_pylist() == expected
    ranges = [None if group is None else range(len(group)) for group in groups]
    counted = pa.array(ranges, arrow_of("int8[]")).slice(cut)
    types = pa.array([json.dumps(type_to_json(list_of(INT8)))] * len(whole))
    numbers = [None if one is None else print_value([Number(i) for i in one]) for one in ranges[cut:]]
    assert KERNELS_BY_NAME["hw_jsonb_agg"].function(counted, types).to_pylist() == numbers


@pytest.mark.parametrize("separator", [",", "aa", "aab"])
def test_long_texts_are_cut_as_short_ones(separator: str) -> None:
    text = "".join(random.Random(3).choices("aab,", k=100_000)) + "b" * 200_000 + "aab,a" * 150_000
    arrays = [pa.array([text, None, "a,b"]), pa.array([separator] * 3), pa.array(["a"] * 3)]
    parts = [None if part == "a" else part for part in text.split(separator)]
    short = [None if part == "a" else part for part in "a,b".split(separator)]
    assert KERNELS_BY_NAME["hw_string_to_array"].function(*arrays).to_pylist() == [parts, None, short]


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_what_was_made_by_row_is_put_in_its_place(count: int) -> None:
    chance = random.Random(count)
    values = pa.array([None if n % 7 == 0 else str(n) for n in range(60)])
    places = sorted(chance.sample(range(60), count))
    odd = np.isin(np.arange(60), places)
    others = pa.array([None if n % 5 == 0 else f"odd {n}" for n in range(count)], pa.string())
    wanted = values.to_pylist()
    for place, other in zip(places, others.to_pylist(), strict=True):
        wanted[place] = other
    assert with_others(values, odd, others).to_pylist() == wanted
