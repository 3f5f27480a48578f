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

from headwater.core.calendar import DAY_INFINITE, DAY_MIN, DAY_US, MOMENT_INFINITE, MOMENT_MAX, MOMENT_MIN
from headwater.core.errors import UserError
from headwater.sql.select.kernels import KERNELS_BY_NAME
from headwater.sql.select.kernels.fields import FIELDS
from headwater.sql.select.kernels.kernel import array_of_values, values_of
from tests.support.times_by_row import BOTH_WAYS, MODELS

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

MOMENTS = (
    st.none()
    | st.integers(-(10**15), 2 * 10**15)
    | st.integers(MOMENT_MIN, MOMENT_MAX)
    | st.sampled_from([MOMENT_INFINITE, -MOMENT_INFINITE, MOMENT_MIN, MOMENT_MAX - 10**6, 0, -1])
)
NEAR_MOMENTS = MOMENTS.map(lambda moment: moment and (moment if moment < 2**62 else MOMENT_INFINITE))
DATES = st.none() | st.integers(-(10**6), 10**6) | st.sampled_from([DAY_INFINITE, -DAY_INFINITE, DAY_MIN])
TIMES = st.none() | st.integers(0, DAY_US)
NAMES = st.sampled_from([*FIELDS, "YEAR", "fortnight"]) | st.sampled_from(
    ["year", "month", "second", "epoch"]
)
LENGTHS = NEAR_INTERVALS.map(lambda parts: parts and (parts[0] // 20, parts[1] // 5, parts[2]))
YEARS = st.integers(-5, 3000) | INT4 | st.sampled_from([-4714, -4713, 294_276, 294_277, 5_874_897, 5_874_898])
SMALLER = st.integers(-1, 13) | st.integers(0, 62)
SECONDS = st.floats(0, 61) | st.floats() | st.sampled_from([60.0, 59.9999999, -0.0])
MADE = (YEARS, SMALLER, SMALLER, SMALLER, SMALLER, SECONDS)
KINDS = ("timestamp", "timestamptz")
MILLISECONDS = st.none() | st.integers(0, 2 * 10**12) | INT8

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
    **{f"hw_{verb}_interval": (NAMES, INTERVALS) for verb in ("date_part", "extract", "date_trunc")},
    **{f"hw_time_{verb}": (TIMES, INTERVALS) for verb in ("add", "sub")},
    "hw_interval_to_time": (INTERVALS,),
    "hw_time_to_interval": (TIMES,),
    "hw_time_scale": (TIMES, st.integers(-1, 7)),
    "hw_age": (MOMENTS, MOMENTS),
    "hw_date_to_mz_timestamp": (DATES,),
    **{f"hw_{kind}_{verb}": (MOMENTS, INTERVALS) for kind in KINDS for verb in ("add", "sub")},
    **{f"hw_{kind}_to_{other}": (MOMENTS,) for kind in KINDS for other in ("time", "mz_timestamp")},
    **{f"hw_{kind}_scale": (NEAR_MOMENTS, st.none() | st.integers(-1, 7)) for kind in KINDS},
    **{f"hw_overlaps_{kind}": (MOMENTS,) * 4 for kind in KINDS},
    **{f"hw_mz_timestamp_to_{kind}": (MILLISECONDS,) for kind in KINDS},
    **{f"hw_date_bin_{kind}": (st.none() | LENGTHS, NEAR_MOMENTS, NEAR_MOMENTS) for kind in KINDS},
    "hw_make_date": MADE[:3],
    "hw_make_time": MADE[3:],
    "hw_make_timestamp": MADE,
    "hw_make_timestamptz": MADE,
    "hw_to_timestamp": (st.none() | st.floats(-1e10, 1e10) | st.floats() | st.floats(8e12, 1e13),),
}


def answer(function: Any, arrays: list[pa.Array]) -> tuple[Any, Any]:
    try:
        return [str(value) for value in values_of(function(*arrays))], None
    except UserError as error:
        return None, (error.message, error.sqlstate)


@pytest.mark.parametrize("name", GIVEN)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_by_columns_as_row_by_row(name: str, data: st.DataObject) -> None:
    kernel = KERNELS_BY_NAME[name]
    model = MODELS.get(name, kernel).by_row
    assert model is not None
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
    failures = []
    for begin in range(count):  # one by one they do not hide each other's errors
        row = [array.slice(begin, 1) for array in arrays]
        wanted = answer(model, row)
        assert answer(kernel.function, row) == wanted
        failures += [wanted] if wanted[1] else []
    # Of several rows that fail, any may be told of.
    assert answer(kernel.function, arrays) in (failures or [answer(model, arrays)])


def test_every_model_is_compared() -> None:
    assert set(GIVEN) == set(MODELS) | BOTH_WAYS
