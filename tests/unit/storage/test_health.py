"""Statuses and statistics: counters go on over restarts, of the cluster and of the environment.

Method: a state machine plays a cluster that counts, dies and comes back with counters at zero, and an
environment that restarts with what it had saved while the cluster runs on.  Whatever the cluster was
heard to have counted must be counted exactly once.
"""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headwater.core.limits import STATUS_HISTORY_DROPPED_MAX, STATUS_HISTORY_ENTRIES_MAX
from headwater.core.protocol import Statistics, Status
from headwater.storage.health import COUNTERS, Health


class CountersOverRestarts(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.health = Health()
        self.running = dict.fromkeys(COUNTERS, 0)  # what the cluster process of now has counted
        self.before = dict.fromkeys(COUNTERS, 0)  # all processes before it, as far as was heard

    @rule(rows=st.integers(0, 5))
    def tick(self, rows: int) -> None:
        self.running = {name: count + rows for name, count in self.running.items()}
        self.health.hear_statistics(Statistics("u1", {**self.running, "offset_known": rows}))

    @rule()
    def repeat(self) -> None:
        """A reconnect: the same process says the same again."""
        self.health.hear_statistics(Statistics("u1", dict(self.running)))

    @rule()
    def cluster_restarts(self) -> None:
        self.health.settle()
        self.before = {name: self.before[name] + self.running[name] for name in COUNTERS}
        self.running = dict.fromkeys(COUNTERS, 0)

    @rule()
    def environment_restarts(self) -> None:
        saved = json.loads(json.dumps(self.health.numbers_to_json()))
        self.health = Health()
        self.health.restore_numbers(saved)

    @invariant()
    def everything_is_counted_once(self) -> None:
        numbers = self.health.numbers.get("u1")
        if numbers is not None:
            for name in COUNTERS:
                assert numbers.counter(name) == self.before[name] + self.running[name]


TestCountersOverRestarts = CountersOverRestarts.TestCase
TestCountersOverRestarts.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def status(number: int, id_: str = "u1") -> Status:
    return Status(id_, "stalled", f"error {number}", None, number)


def test_gauges_are_those_of_the_process_that_runs() -> None:
    health = Health()
    health.hear_statistics(Statistics("u1", {"offset_known": 7, "snapshot_committed": True}))
    health.settle()
    assert health.numbers["u1"].current == {"snapshot_committed": True}


def test_a_status_is_news_only_once() -> None:
    health = Health()
    assert health.hear_status(status(1))
    assert not health.hear_status(status(1))
    assert health.hear_status(status(2))
    assert health.statuses["u1"] == status(2)
    assert list(health.history["u1"]) == [status(1), status(2)]


def test_the_history_of_statuses_is_bounded() -> None:
    health = Health()
    for number in range(STATUS_HISTORY_ENTRIES_MAX + 5):
        health.hear_status(status(number))
    kept = [entry.at_ms for entry in health.history["u1"]]
    assert kept == list(range(5, STATUS_HISTORY_ENTRIES_MAX + 5))


def test_a_dropped_object_has_no_numbers_and_no_status_but_a_history() -> None:
    health = Health()
    for id_ in ("u1", "u2"):
        health.hear_status(status(1, id_))
        health.hear_statistics(Statistics(id_, {"ticks": 1}))
    health.forget("u1", 5)
    health.forget("u7", 5)
    assert (set(health.statuses), set(health.numbers)) == ({"u2"}, {"u2"})
    assert list(health.history["u1"]) == [status(1), Status("u1", "dropped", None, None, 5)]
    assert "u7" not in health.history


def test_histories_of_the_objects_dropped_longest_ago_go() -> None:
    health = Health()
    for number in range(STATUS_HISTORY_DROPPED_MAX + 3):
        health.hear_status(status(1, f"u{number}"))
        health.forget(f"u{number}", 2)
    assert set(health.history) == {f"u{n}" for n in range(3, STATUS_HISTORY_DROPPED_MAX + 3)}


def test_histories_outlive_the_environment() -> None:
    before, after = Health(), Health()
    for number in range(STATUS_HISTORY_DROPPED_MAX):
        before.hear_status(status(number, f"u{number}"))
        before.forget(f"u{number}", 5)
    before.hear_status(status(7, "other"))
    after.restore_history(json.loads(json.dumps(before.history_to_json())))
    assert after.history == before.history
    assert after.statuses == {}
    after.hear_status(status(7, "other"))  # the cluster says it again
    assert after.history == before.history
    after.hear_status(status(8, "other"))
    assert list(after.history["other"]) == [status(7, "other"), status(8, "other")]
    after.forget("other", 9)
    assert "u0" not in after.history, "those that were dropped before count too"


def words(health: Health) -> list[str]:
    return [entry.status for entry in health.history["u1"]]


def test_a_source_that_ran_after_a_pause_was_starting_in_between() -> None:
    health = Health()
    for word in ("paused", "running", "paused", "starting", "running", "paused", "stalled"):
        health.hear_status(Status("u1", word, None, None, 1))
    assert " ".join(words(health)) == (
        "paused starting running paused starting running paused starting stalled"
    )


def test_a_status_that_is_said_again_later_keeps_the_time_it_began() -> None:
    health = Health()
    health.hear_status(Status("u1", "running", None, None, 1))
    assert not health.hear_status(Status("u1", "running", None, None, 9))
    assert health.statuses["u1"].at_ms == 1
