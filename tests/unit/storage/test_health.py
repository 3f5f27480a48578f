"""Statuses and statistics: counters go on over restarts, of the cluster and of the environment.

Method: a state machine plays a cluster that counts, dies and comes back with counters at zero, and an
environment that restarts with what it had saved while the cluster runs on.  Whatever the cluster was
heard to have counted must be counted exactly once.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headwater.core.limits import STATUS_HISTORY_DROPPED_MAX, STATUS_HISTORY_ENTRIES_MAX
from headwater.core.protocol import Statistics, Status
from headwater.storage.health import COUNTERS, Health, shown


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


def told(health: Health, id_: str) -> list[Status]:
    return [event.shown for event in health.history[id_]]


def test_gauges_are_those_of_the_process_that_runs() -> None:
    health = Health()
    health.hear_statistics(Statistics("u1", {"offset_known": 7, "snapshot_committed": True}))
    health.settle()
    numbers = health.numbers["u1"]
    assert (numbers.gauge("offset_known"), numbers.gauge("offset_known", also_gone=True)) == (None, 7)
    again = Health()
    again.restore_numbers(json.loads(json.dumps(health.numbers_to_json())))
    assert again.numbers["u1"].gauge("offset_known", also_gone=True) == 7
    again.hear_statistics(Statistics("u1", {"offset_known": 9}))
    assert again.numbers["u1"].gauge("offset_known", also_gone=True) == 9
    again.restore_numbers({"u2": [{"ticks": 1}, {}]})  # as an earlier release has kept them
    assert again.numbers["u2"].counter("ticks") == 1


def test_a_status_is_news_only_once() -> None:
    health = Health()
    assert health.hear_status(status(1))
    assert not health.hear_status(status(1))
    assert health.hear_status(status(2))
    assert health.statuses["u1"] == status(2)
    assert told(health, "u1") == [status(1), status(2)]


def test_the_history_of_statuses_is_bounded() -> None:
    health = Health()
    for number in range(STATUS_HISTORY_ENTRIES_MAX + 5):
        health.hear_status(status(number))
    kept = [entry.at_ms for entry in told(health, "u1")]
    assert kept == list(range(5, STATUS_HISTORY_ENTRIES_MAX + 5))


def test_a_dropped_object_has_no_numbers_and_no_status_but_a_history() -> None:
    health = Health()
    for id_ in ("u1", "u2"):
        health.hear_status(status(1, id_))
        health.hear_statistics(Statistics(id_, {"ticks": 1}))
    health.forget("u1", 5)
    health.forget("u7", 5)
    assert (set(health.statuses), set(health.numbers)) == ({"u2"}, {"u2"})
    assert told(health, "u1") == [status(1), Status("u1", "dropped", None, None, 5)]
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
    assert told(after, "other") == [status(7, "other"), status(8, "other")]
    after.forget("other", 9)
    assert "u0" not in after.history, "those that were dropped before count too"


def words(health: Health) -> list[str]:
    return [entry.status for entry in told(health, "u1")]


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


def said(word: str | None, at_ms: int, id_: str = "u2") -> Status | None:
    return None if word is None else Status(id_, word, f"why {word}", None, at_ms)


@pytest.mark.parametrize(
    ("own", "source", "expected"),
    [
        ("running", "running", "running"),
        ("starting", "running", "starting"),
        (None, "running", None),
        ("running", "stalled", "stalled"),
        ("starting", "stalled", "stalled"),
        (None, "stalled", "stalled"),
        ("running", "paused", "paused"),
        ("running", "starting", "starting"),
        ("running", "failed", "failed"),
        ("stalled", "running", "stalled"),
        ("stalled", "stalled", "own"),
        ("stalled", "starting", "own"),
        ("stalled", "paused", "paused"),
        ("failed", "running", "own"),
        ("failed", "stalled", "own"),
        ("failed", "paused", "own"),
        ("failed", None, "own"),
    ],
)
def test_a_table_does_no_better_than_its_source_unless_it_has_ended(
    own: str | None, source: str | None, expected: str | None
) -> None:
    status = shown("u2", said(own, 5), said(source, 9, "u1"))
    if expected is None or (own is None and source == "running"):
        assert status is None
    else:
        assert status is not None
        assert status.id == "u2"
        assert status.status == (own if expected == "own" else expected)
        assert status.error == f"why {own if expected == 'own' else expected}"


def test_the_history_of_a_table_tells_what_its_source_did_to_it() -> None:
    health = Health()
    health.feeds("u1", ["u2", "u3"])
    for id_, word in (
        *(("u1", "starting"), ("u1", "running"), ("u2", "starting"), ("u2", "running"), ("u3", "running")),
        *(("u1", "stalled"), ("u1", "running"), ("u2", "failed"), ("u1", "paused"), ("u1", "running")),
    ):
        health.hear_status(Status(id_, word, None, None, health.recorded + 1))
    health.forget("u2", 99)
    words = {id_: " ".join(entry.status for entry in told(health, id_)) for id_ in ("u2", "u3")}
    assert words == {
        "u2": "starting running stalled running failed dropped",
        "u3": "starting running stalled running paused starting running",
    }
    for id_ in health.history:
        times = [entry.at_ms for entry in told(health, id_)]
        assert times == sorted(times)


def test_each_event_keeps_the_replica_that_ran_the_object_then() -> None:
    before, after = Health(), Health()
    before.feeds("u1", ["u2"], "u17")
    for id_, word in (("u1", "running"), ("u2", "running"), ("u1", "paused"), ("u1", "running")):
        before.hear_status(Status(id_, word, None, None, 1))
    after.restore_history(json.loads(json.dumps(before.history_to_json())))
    after.feeds("u1", ["u2"], "u17")
    after.hear_status(Status("u1", "stalled", None, None, 2))
    after.forget("u1", 3)
    after.forget("u2", 3)
    expected = [
        *(("running", "u17"), ("paused", None), ("starting", "u17"), ("running", "u17")),
        *(("stalled", "u17"), ("dropped", "u17")),
    ]
    for id_ in ("u1", "u2"):
        assert [(event.shown.status, event.replica_id) for event in after.history[id_]] == expected
    after.restore_history([[["u3", "running", None, None, 4]], []])  # as an earlier release has kept it
    assert [event.replica_id for event in after.history["u3"]] == [None]


def test_a_table_that_joins_a_source_that_stands_still_shows_that() -> None:
    health = Health()
    health.hear_status(Status("u1", "paused", None, "no replica", 1))
    assert health.feeds("u1", ["u2"]) == [Status("u2", "paused", None, "no replica", 1)]
    assert health.feeds("u1", ["u2"]) == []
    assert health.statuses["u2"].hint == "no replica"


def test_what_had_failed_has_failed_after_a_restart() -> None:
    before, after = Health(), Health()
    for id_, word in (("u1", "running"), ("u2", "failed"), ("u3", "running"), ("u4", "failed")):
        before.hear_status(Status(id_, word, f"why {word}", "a hint", 5))
    before.forget("u4", 6)
    after.restore_history(json.loads(json.dumps(before.history_to_json())))
    after.feeds("u1", ["u2", "u3"])
    after.hear_status(Status("u1", "starting", None, None, 9))
    assert {id_: status.status for id_, status in after.statuses.items()} == {
        "u1": "starting",
        "u2": "failed",
        "u3": "starting",
    }
    assert list(after.history["u2"]) == list(before.history["u2"])


def test_a_table_that_runs_and_has_rows_that_cannot_be_read_is_stalled_until_it_has_none() -> None:
    health = Health()
    health.feeds("u1", ["u2"])
    for id_ in ("u1", "u2"):
        health.hear_status(Status(id_, "running", None, None, 1))
    for _ in range(2):
        health.hear_flaws("u2", ("row 1 cannot be read", "Change it."), 5)
    assert health.statuses["u2"] == Status("u2", "stalled", "row 1 cannot be read", "Change it.", 5)
    health.hear_status(Status("u2", "running", None, None, 6))
    assert health.statuses["u2"].status == "stalled"
    health.hear_flaws("u2", None, 7)
    assert health.statuses["u2"] == Status("u2", "running", None, None, 7)
    assert [(s.status, s.at_ms) for s in told(health, "u2")] == [
        ("running", 1),
        ("stalled", 5),
        ("running", 7),
    ]
    health.hear_flaws("u2", ("row 2 cannot be read", None), 8)
    health.hear_status(Status("u1", "paused", None, None, 9))
    assert health.statuses["u2"].status == "paused"
