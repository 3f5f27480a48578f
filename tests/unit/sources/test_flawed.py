"""Values that cannot be converted are found among others, whatever the conversion raises at them.

Method: conversions that raise errors at certain texts.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.core.errors import TransientError, UserError
from headwater.core.flaws import Flaw
from headwater.core.limits import VALUES_UNFORESEEN_MAX
from headwater.sources.flawed import Defect, as_far


def converted(
    texts: list[str], error: type[Exception] = KeyError
) -> tuple[list[str | None], dict[int, Flaw]]:
    """By a conversion that breaks at `!`, and refuses `?`."""

    def convert(some: pa.Array) -> pa.Array:
        found = some.to_pylist()
        if "!" in found:
            raise error("broken")
        if "?" in found:
            raise UserError("not a text")
        return some

    values, flaws = as_far(pa.array(texts, pa.string()), convert, pa.string(), lambda one: str(one[0]))
    return values.to_pylist(), flaws


def test_what_nobody_foresaw_is_a_flaw_of_the_values_that_do_it() -> None:
    values, flaws = converted(["a", "!", "?", "b"])
    assert values == ["a", None, None, "b"]
    assert flaws[2] == Flaw("?", "not a text")
    defect = flaws[1]
    assert isinstance(defect, Defect)
    assert (defect.value, defect.why) == ("!", "internal error: KeyError: 'broken'")
    assert "raise error" in defect.where


def test_at_many_values_it_is_not_the_values() -> None:
    few = ["!", "a"] * VALUES_UNFORESEEN_MAX
    assert len(converted(few)[1]) == VALUES_UNFORESEEN_MAX
    with pytest.raises(KeyError):
        converted([*few, "!"])
    assert len(converted(["?"] * 100)[1]) == 100, "refused values may be any number"


@pytest.mark.parametrize("error", [MemoryError, OSError, ImportError, TransientError])
def test_what_the_machine_lacks_is_no_values_fault(error: type[Exception]) -> None:
    with pytest.raises(error):
        converted(["a", "!"], error)
