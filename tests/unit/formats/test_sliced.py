"""Long columns a slice at a time are what they are at once, and what makes them can be stopped in between."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headwater.core import pace
from headwater.core.limits import ENCODE_SLICE_VALUES_MAX
from headwater.core.types import SqlType
from headwater.formats.binary import to_binary
from headwater.formats.sliced import by_slices, own_values
from headwater.formats.text import to_text

INTS = SqlType("list", element=SqlType("int4"))


def test_slices_together_are_the_whole() -> None:
    lengths: list[int] = []

    def negated(values: pa.Array) -> pa.Array:
        lengths.append(len(values))
        return pc.negate(values)

    values = pa.array([None, *range(2 * ENCODE_SLICE_VALUES_MAX)], pa.int64())
    assert by_slices(negated, values).equals(pc.negate(values))
    assert lengths == [ENCODE_SLICE_VALUES_MAX, ENCODE_SLICE_VALUES_MAX, 1]


def test_nothing_more_is_made_for_whoever_has_stopped() -> None:
    made: list[int] = []
    own = pace.Pace()

    def first(values: pa.Array) -> pa.Array:
        made.append(len(values))
        own.stop()
        return values

    with pytest.raises(pace.Stopped), pace.kept(own):
        by_slices(first, pa.array(range(3 * ENCODE_SLICE_VALUES_MAX)))
    assert made == [ENCODE_SLICE_VALUES_MAX]


def test_lists_that_were_cut_from_others_leave_their_values_behind() -> None:
    lists = pa.array([[1, 2], None, [], [3, None, 5], [6]], pa.list_(pa.int32()))
    for start, length in ((0, 5), (1, 3), (3, 2), (2, 1), (5, 0)):
        part = lists.slice(start, length)
        assert own_values(part).to_pylist() == part.to_pylist()
    assert len(own_values(lists.slice(3, 1)).values) == 3


def test_long_and_cut_lists_have_the_text_and_the_bytes_that_others_have() -> None:
    count = ENCODE_SLICE_VALUES_MAX + 3
    lists = pa.array([[1, None], list(range(count)), None, [7]], pa.list_(pa.int32()))
    texts = to_text(lists, INTS).to_pylist()
    assert texts == ["{1,NULL}", "{" + ",".join(map(str, range(count))) + "}", None, "{7}"]
    assert to_text(lists.slice(1, 2), INTS).to_pylist() == texts[1:3]
    numbers = pa.array([None, *map(str, range(count))], pa.string())
    numeric = SqlType("numeric")
    whole = to_binary(numbers, numeric)
    assert len(whole) == count + 1
    assert whole.slice(count - 2).to_pylist() == to_binary(numbers.slice(count - 2), numeric).to_pylist()
