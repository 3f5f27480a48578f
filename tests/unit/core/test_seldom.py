"""What strangers cause again and again is told now and then, and each stranger is told apart.

Method: a clock that is handed in.
"""

from __future__ import annotations

from headwater.core.limits import REFUSAL_LOG_S, STRANGERS_LOGGED_MAX
from headwater.core.seldom import Seldom


def test_each_is_told_at_once_and_then_with_how_many_there_were() -> None:
    seldom = Seldom()
    assert [seldom.due("a", 0.0), seldom.due("b", 0.0)] == [1, 1]
    assert [seldom.due("a", now_s) for now_s in (1.0, REFUSAL_LOG_S - 1)] == [None, None]
    assert seldom.due("a", REFUSAL_LOG_S) == 3
    assert seldom.due("a", REFUSAL_LOG_S + 1) is None
    assert seldom.due("a", 2 * REFUSAL_LOG_S) == 2


def test_so_many_are_remembered() -> None:
    seldom = Seldom()
    for number in range(STRANGERS_LOGGED_MAX + 1):
        assert seldom.due(str(number), 0.0) == 1
    assert (seldom.due("0", 1.0), seldom.due(str(STRANGERS_LOGGED_MAX), 1.0)) == (1, None)
