"""Failpoints: armed ones act at exactly the hits they were told, others cost nothing.

Method: arm in this process and count what happens; `exit` is tried in a child,
armed through the environment as a chaos test would.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.errors import InvariantViolation, TransientError, UserError
from headwater.observe import failpoints
from headwater.observe.failpoints import Action, arm, armed, disarm, failpoint, parse_action

NAME = "ledger.before_commit"
OTHER = "fold.before_commit"


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    disarm()
    yield
    disarm()


def hits_that_fail(count: int) -> list[int]:
    failed = []
    for hit in range(1, count + 1):
        try:
            failpoint(NAME)
        except TransientError:
            failed.append(hit)
    return failed


def test_a_failpoint_that_is_not_armed_does_nothing() -> None:
    arm(OTHER, "error")
    assert hits_that_fail(3) == []


def test_an_armed_error_is_transient_and_names_the_failpoint() -> None:
    arm(NAME, "error")
    with pytest.raises(TransientError, match=r'failpoint "ledger\.before_commit" was hit'):
        failpoint(NAME)


def test_a_count_makes_only_that_hit_act() -> None:
    arm(NAME, "3*error")
    assert hits_that_fail(6) == [3]


def test_arming_again_counts_anew() -> None:
    arm(NAME, "2*error")
    assert hits_that_fail(1) == []
    arm(NAME, "2*error")
    assert hits_that_fail(2) == [2]


def test_chance_is_reproducible_by_its_seed_and_about_right() -> None:
    arm(NAME, "25%error", seed=7)
    first = hits_that_fail(400)
    arm(NAME, "25%error", seed=7)
    assert hits_that_fail(400) == first
    assert 60 < len(first) < 140
    arm(NAME, "25%error", seed=8)
    assert hits_that_fail(400) != first


def test_a_chance_of_nothing_never_acts_and_a_full_one_always() -> None:
    arm(NAME, "0%error")
    assert hits_that_fail(50) == []
    arm(NAME, "100%error")
    assert hits_that_fail(5) == [1, 2, 3, 4, 5]


def test_a_with_block_disarms_at_its_end_even_after_an_error() -> None:
    with pytest.raises(TransientError), armed(NAME, "error"):
        failpoint(NAME)
    failpoint(NAME)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("exit", Action("exit")),
        (" error ", Action("error")),
        ("sleep(250)", Action("sleep", sleep_ms=250)),
        ("3*exit", Action("exit", nth=3)),
        ("10%sleep(5)", Action("sleep", sleep_ms=5, percent=10.0)),
        ("2.5%4*error", Action("error", nth=4, percent=2.5)),
    ],
)
def test_actions_are_read_as_written(text: str, action: Action) -> None:
    assert parse_action(text) == action


@pytest.mark.parametrize("text", ["", "explode", "sleep", "sleep()", "*exit", "exit*3", "3*10%exit"])
def test_an_unknown_action_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not known"):
        parse_action(text)


def test_a_name_that_is_not_declared_cannot_be_armed_or_passed() -> None:
    with pytest.raises(UserError, match=r'failpoint "no\.such" does not exist'):
        arm("no.such", "error")
    arm(NAME, "error")
    with pytest.raises(InvariantViolation, match="not declared"):
        failpoint("no.such")


def test_the_environment_arms_several() -> None:
    failpoints.arm_from({failpoints.VARIABLE: f"{NAME}=error; {OTHER}=2*error;"})
    with pytest.raises(TransientError):
        failpoint(NAME)
    failpoint(OTHER)
    with pytest.raises(TransientError):
        failpoint(OTHER)


def test_exit_ends_a_child_at_once_without_cleanup() -> None:
    code = (
        "import atexit, sys\n"
        "from headwater.observe.failpoints import failpoint\n"
        "atexit.register(sys.stdout.write, 'cleaned up')\n"
        f"failpoint({NAME!r}); sys.stdout.write('one '); sys.stdout.flush()\n"
        f"failpoint({NAME!r}); sys.stdout.write('two ')\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, failpoints.VARIABLE: f"{NAME}=2*exit"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert child.returncode == failpoints.EXIT_STATUS
    assert child.stdout == "one "


def test_a_file_in_the_folder_arms_once_and_is_taken_away(tmp_path: Path) -> None:
    failpoints.arm_from({failpoints.FOLDER_VARIABLE: str(tmp_path)})
    try:
        assert hits_that_fail(2) == []
        (tmp_path / NAME).write_text("2*error")
        assert hits_that_fail(4) == [2]
        assert not (tmp_path / NAME).exists()
        (tmp_path / NAME).write_text("2*error")
        assert hits_that_fail(4) == [2], "the count begins anew with a new file"
    finally:
        failpoints.arm_from({})
