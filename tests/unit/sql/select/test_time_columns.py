"""Kernels over dates, times and intervals work by columns, and answer as plain Python row by row does.

Method: hypothesis makes columns of ordinary, extreme and missing values; each kernel is asked, and its model
(tests/support/times_by_row.py) in the same way, in whole and in slices of a larger array.  What fails row by
row must fail by columns, with the same words.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.calendar import DAY_US
from headwater.core.errors import UserError
from headwater.sql.select.kernels import KERNELS_BY_NAME
from headwater.sql.select.kernels.kernel import array_of_values
from tests.support.times_by_row import MODELS

SMALL = st.integers(-40, 40)
INT4 = SMALL | st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), 2**31 - 1])
INT8 = SMALL | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1])
CLOCKS = st.integers(-3 * DAY_US, 3 * DAY_US) | st.integers(-(10**15), 10**15)
NEAR_INTERVALS = st.tuples(SMALL, SMALL, CLOCKS)
INTERVALS = st.none() | NEAR_INTERVALS | st.tuples(INT4, INT4, INT8)
FLOATS = st.floats(-100, 100) | st.floats() | st.sampled_from([0.0, -0.0, 0.5, 1.5, 1e-320])
LISTS = st.none() | st.lists(
    (st.none() | NEAR_INTERVALS | st.tuples(INT4, INT4, INT8)).map(
        lambda parts: parts and dict(zip(("months", "days", "microseconds"), parts, strict=True))
    ),
    max_size=4,
)

GIVEN: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "hw_interval_mul": (INTERVALS, FLOATS),
    "hw_interval_div": (INTERVALS, FLOATS),
    "hw_interval_add": (INTERVALS, INTERVALS),
    "hw_interval_sub": (INTERVALS, INTERVALS),
    "hw_interval_neg": (INTERVALS,),
    "hw_justify_hours": (INTERVALS,),
    "hw_justify_days": (INTERVALS,),
    "hw_justify_interval": (INTERVALS,),
    "hw_make_interval": (INT4,) * 6 + (st.floats(-(10**12), 10**12) | st.floats(),),
    "hw_interval_sum": (LISTS,),
    "hw_interval_avg": (LISTS,),
}


def answer(function: Any, arrays: list[pa.Array]) -> tuple[Any, Any]:
    try:
        return [str(value) for value in function(*arrays).to_pylist()], None
    except UserError as error:
        return None, (error.message, error.sqlstate)


@pytest.mark.parametrize("name", GIVEN)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_by_columns_as_row_by_row(name: str, data: st.DataObject) -> None:
    kernel, model = KERNELS_BY_NAME[name], MODELS[name]
    count = data.draw(st.integers(0, 8))
    arrays = []
    for values, type_ in zip(GIVEN[name], kernel.arguments, strict=True):
        alike = data.draw(st.booleans())
        column = (
            [data.draw(values)] * count
            if alike
            else data.draw(st.lists(values, min_size=count, max_size=count))
        )
        arrays.append(array_of_values(column, type_))
    assert answer(kernel.function, arrays) == answer(model.function, arrays)
    for begin in range(count):  # one by one they do not hide each other's errors
        row = [array.slice(begin, 1) for array in arrays]
        assert answer(kernel.function, row) == answer(model.function, row)


def test_every_model_is_compared() -> None:
    assert set(GIVEN) == set(MODELS)
