"""Replicas of clusters are what the one process was seen to be, from when they came on."""

from __future__ import annotations

import json

from headwater.core.limits import REPLICA_HISTORY_ENTRIES_MAX
from headwater.storage.replicas import DROPPED, ReplicaEvent, Replicas


def test_each_replica_has_the_events_of_its_own_life() -> None:
    replicas = Replicas()
    replicas.state(["u1"], 1)
    assert (replicas.current(), list(replicas.history)) == ([], []), "nobody has looked yet"
    replicas.hear(False, "being started", 2)
    replicas.hear(False, "being started again", 3)
    replicas.hear(True, None, 4)
    replicas.state(["u1", "u17"], 5)
    replicas.hear(False, "signal 9", 6)
    replicas.state(["u1"], 7)
    replicas.hear(True, None, 8)
    assert list(replicas.history) == [
        ReplicaEvent("u1", "offline", "being started", 2),
        ReplicaEvent("u1", "online", None, 4),
        ReplicaEvent("u17", "online", None, 5),
        ReplicaEvent("u1", "offline", "signal 9", 6),
        ReplicaEvent("u17", "offline", "signal 9", 6),
        ReplicaEvent("u1", "online", None, 8),
    ]
    assert replicas.current() == [ReplicaEvent("u1", "online", None, 8)]


def test_a_replica_that_is_dropped_goes_offline_and_may_come_again() -> None:
    before = Replicas()
    before.state(["u1", "u17", "u18"], 1)
    before.hear(True, None, 2)
    before.state(["u1", "u18"], 3)
    before.state(["u1", "u17", "u18"], 4)
    before.recorded = 0
    before.state(["u1", "u18"], 5)
    assert before.recorded == 1
    assert [event for event in before.history if event.replica_id == "u17"] == [
        ReplicaEvent("u17", "online", None, 2),
        ReplicaEvent("u17", "offline", DROPPED, 3),
        ReplicaEvent("u17", "online", None, 4),
        ReplicaEvent("u17", "offline", DROPPED, 5),
    ]
    assert [event.replica_id for event in before.current()] == ["u1", "u18"]
    after = Replicas()  # of an environment that ended before it could say that one was dropped
    after.restore(before.to_json())
    after.state(["u1"], 6)
    after.hear(True, None, 7)
    assert list(after.history) == [*before.history, ReplicaEvent("u18", "offline", DROPPED, 6)]


def test_the_history_outlives_the_environment_and_goes_on() -> None:
    before, after = Replicas(), Replicas()
    before.state(["u1"], 1)
    before.hear(True, None, 2)
    after.restore(json.loads(json.dumps(before.to_json())))
    after.state(["u1"], 3)
    after.hear(True, None, 4)  # the same process, which never went
    assert list(after.history) == [ReplicaEvent("u1", "online", None, 2)]
    assert after.current() == [ReplicaEvent("u1", "online", None, 2)]
    after.hear(False, "gone", 5)
    assert list(after.history)[-1] == ReplicaEvent("u1", "offline", "gone", 5)


def test_the_history_is_bounded() -> None:
    replicas = Replicas()
    replicas.state(["u1"], 0)
    for number in range(REPLICA_HISTORY_ENTRIES_MAX + 10):
        replicas.hear(number % 2 == 0, None, number)
    assert len(replicas.history) == REPLICA_HISTORY_ENTRIES_MAX


def test_why_a_process_went_may_be_known_later_than_that_it_did() -> None:
    replicas = Replicas()
    replicas.state(["u1"], 0)
    replicas.hear(True, None, 1)
    replicas.hear(False, "connection lost", 2)
    replicas.learn("signal 9")
    replicas.hear(True, None, 3)
    replicas.learn("signal 9")  # of one that is there nobody asks why it went
    assert list(replicas.history) == [
        ReplicaEvent("u1", "online", None, 1),
        ReplicaEvent("u1", "offline", "signal 9", 2),
        ReplicaEvent("u1", "online", None, 3),
    ]
