"""Computations that are stopped, or find that they take too long; and what a pace does not reach.

Method: loops of steps that would not end by themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.names import NamedRelation, SessionFacts
from headwater.sql.parse import parse_statements
from headwater.sql.select import before_rows, plan_query
from headwater.sql.select.generate.duckdb import query as duckdb_sql

STEPS_MAX = 50_000_000
LONG = "SELECT " + " AND ".join(["1 = 1"] * 3_000)


def _steps() -> None:
    for _ in range(STEPS_MAX):
        pace.step()
    raise AssertionError("nobody has stopped it")


def test_another_thread_stops_a_computation() -> None:
    own = pace.Pace()
    threading.Timer(0.05, own.stop).start()
    with pytest.raises(pace.Stopped), pace.kept(own):
        _steps()


def test_a_computation_takes_no_more_of_the_processor_than_it_may() -> None:
    with pytest.raises(pace.TooSlow), pace.kept(pace.Pace(0.01)):
        _steps()


def test_what_has_no_steps_is_not_begun_in_a_hurry() -> None:
    pace.stride()
    with pace.kept(pace.Pace()):
        pace.stride()
    with pytest.raises(pace.TooSlow), pace.kept(pace.Pace(60.0)):
        pace.stride()


def test_a_pace_is_kept_by_nobody_else() -> None:
    stopped = pace.Pace()
    stopped.stop()
    seen: list[str] = []

    def beside() -> None:
        for _ in range(10_000):
            pace.step()
        seen.append("ended")

    with pace.kept(stopped):
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        with pytest.raises(pace.Stopped):
            _steps()
    assert seen == ["ended"]
    for _ in range(10_000):
        pace.step()


class _Nothing:
    """A catalog without relations."""

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        raise UserError(f"unknown catalog item '{'.'.join(parts)}'", "42P01")

    def regclass(self, text: str) -> int | None:
        return None

    def type_oid(self, text: str) -> int | None:
        return None


@pytest.mark.parametrize("phase", ["parse", "plan", "constants", "generate"])
def test_every_phase_of_planning_can_be_stopped(phase: str) -> None:
    query = plan_query(LONG, _Nothing(), SessionFacts())
    phases: dict[str, Callable[[], object]] = {
        "parse": lambda: parse_statements(LONG),
        "plan": lambda: plan_query(LONG, _Nothing(), SessionFacts()),
        "constants": lambda: before_rows(query),
        "generate": lambda: duckdb_sql.generate(query, {}),
    }
    work = phases[phase]
    stopped = pace.Pace()
    stopped.stop()
    with pytest.raises(pace.Stopped), pace.kept(stopped):
        work()
