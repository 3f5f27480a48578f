"""Waiting after wrong passwords: who guesses waits, who does not does not, and little is kept.

Method: the throttle with a clock of numbers; an attacker that does all it may, counted.
"""

from __future__ import annotations

import pytest

from headwater.core import throttle as throttle_module
from headwater.core.limits import (
    LOGIN_FAILURES_FREE,
    LOGIN_FAILURES_S,
    LOGIN_SPACING_S_MAX,
    LOGIN_SPACING_S_MIN,
    LOGIN_WAIT_S_MAX,
)
from headwater.core.throttle import Throttle


def guesses(throttle: Throttle, seconds: int, at_once: int, user: str = "u") -> int:
    """How many of an attacker's guesses are looked at, who makes so many at once, again and again."""
    looked_at = 0
    due: list[float] = []
    for now_s in range(seconds):
        for _ in range(at_once):
            wait_s = throttle.turn("a", user, now_s)
            if wait_s is None:
                continue
            if wait_s == 0:
                throttle.failed("a", user, now_s)
                looked_at += 1
            else:
                due.append(now_s + wait_s)
        for _ in [moment for moment in due if moment <= now_s]:
            throttle.failed("a", user, now_s)
            looked_at += 1
        due = [moment for moment in due if moment > now_s]
    return looked_at


def test_mistakes_cost_nothing_and_then_more_and_more() -> None:
    throttle, now_s, waits = Throttle(), 0.0, []
    for _ in range(LOGIN_FAILURES_FREE + 10):
        wait_s = throttle.turn("a", "u", now_s)
        assert wait_s is not None
        waits.append(wait_s)
        now_s += wait_s
        throttle.failed("a", "u", now_s)
    assert waits[:LOGIN_FAILURES_FREE] == [0.0] * LOGIN_FAILURES_FREE
    assert waits[LOGIN_FAILURES_FREE] == LOGIN_SPACING_S_MIN
    assert waits == sorted(waits)
    assert waits[-1] <= 2 * LOGIN_SPACING_S_MAX


@pytest.mark.parametrize("at_once", [1, 10, 500])
def test_many_connections_do_not_guess_faster(at_once: int) -> None:
    assert guesses(Throttle(), 600, at_once) <= 600 / LOGIN_SPACING_S_MAX + LOGIN_FAILURES_FREE + 12


def test_who_waits_too_long_is_refused_unseen() -> None:
    throttle = Throttle()
    for _ in range(20):
        throttle.failed("a", "u", 0.0)
    waits = [throttle.turn("a", "u", 0.0) for _ in range(50)]
    assert None in waits
    assert max(wait_s for wait_s in waits if wait_s is not None) <= LOGIN_WAIT_S_MAX


def test_others_do_not_wait() -> None:
    throttle = Throttle()
    for _ in range(1000):
        throttle.failed("a", "u", 0.0)
    assert throttle.turn("a", "other", 0.0) == 0.0
    assert throttle.turn("b", "u", 0.0) == 0.0


def test_who_gets_many_names_wrong_waits_but_not_who_was_right_before() -> None:
    throttle = Throttle()
    throttle.passed("a", "mine", 0.0)
    for number in range(100):
        throttle.failed("a", f"u{number}", 0.0)
    wait_s = throttle.turn("a", "another", 0.0)
    assert wait_s is None or wait_s > 0
    assert throttle.turn("a", "mine", 0.0) == 0.0
    assert throttle.turn("b", "another", 0.0) == 0.0


def test_the_right_password_ends_it_and_so_does_time() -> None:
    throttle = Throttle()
    for _ in range(10):
        throttle.failed("a", "u", 0.0)
    assert throttle.turn("a", "u", 0.0) != 0.0
    assert throttle.turn("a", "u", LOGIN_FAILURES_S + 1) == 0.0
    throttle.failed("a", "u", LOGIN_FAILURES_S + 1)
    throttle.passed("a", "u", LOGIN_FAILURES_S + 1)
    assert throttle.turn("a", "u", LOGIN_FAILURES_S + 1) == 0.0


def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle_module, "LOGIN_FAILURES_KEPT_MAX", 10)
    throttle = Throttle()
    for number in range(100):
        throttle.failed(f"a{number}", "u", 0.0)
        throttle.passed(f"a{number}", "v", 0.0)
    assert len(throttle) <= 10
