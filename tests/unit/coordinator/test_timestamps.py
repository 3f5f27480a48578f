"""Timestamps of reads: fresh, never before what was shown, never where history is gone.

Method: the choice is a pure function, so a table of cases; the oracle and the holds are driven by a state
machine against a model in which every hold is a pair in a list.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.coordinator.timestamps import Choice, Hold, Holds, Isolation, Oracle, choose
from headwater.core.errors import InvariantViolation
from headwater.core.time import TIMESTAMP_END

STRICT: Isolation = "strict serializable"
LOOSE: Isolation = "serializable"
END = TIMESTAMP_END

# floor, sinces, uppers, ends, isolation -> timestamp, whether it waits
CASES: list[tuple[str, int, list[int], list[int], list[int], Isolation, int, bool]] = [
    ("the freshest that all inputs have", 102, [90, 80], [105, 110], [], STRICT, 104, False),
    ("an input that is behind what was shown is waited for", 107, [90], [105, 110], [], STRICT, 107, True),
    ("exactly what was shown is there at once", 104, [90], [105], [], STRICT, 104, False),
    ("serializable does not look at what was shown", 107, [90], [105, 110], [], LOOSE, 104, False),
    ("history that is gone is not read", 50, [120], [105], [], LOOSE, 120, True),
    (
        "history that is gone is not read, nor what is older than shown",
        130,
        [120],
        [105],
        [],
        STRICT,
        130,
        True,
    ),
    ("without inputs it is what was shown", 77, [], [], [], STRICT, 77, False),
    ("without inputs it is what was shown, serializable or not", 77, [], [], [], LOOSE, 77, False),
    ("a plain table never waits", 77, [70], [END], [], STRICT, 77, False),
    (
        "a plain table that is younger than what was shown is read at its birth",
        77,
        [90],
        [],
        [],
        STRICT,
        90,
        False,
    ),
    ("an ended source is read where it ended", 77, [10], [END], [95], STRICT, 95, False),
    ("an ended source is read where it ended, by all", 77, [10], [END], [95], LOOSE, 95, False),
    ("of two ended sources the later end counts", 77, [10, 10], [END, END], [95, 93], STRICT, 95, False),
    (
        "an ended source beside a running one follows that one",
        77,
        [10, 10],
        [END, 90],
        [95],
        STRICT,
        89,
        False,
    ),
    ("an end before what was shown is no way back", 99, [10], [END], [95], STRICT, 99, False),
]


@pytest.mark.parametrize(
    ("floor", "sinces", "uppers", "ends", "isolation", "ts", "waits"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_read_takes_the_timestamp_that(
    floor: int,
    sinces: list[int],
    uppers: list[int],
    ends: list[int],
    isolation: Isolation,
    ts: int,
    waits: bool,
) -> None:
    first = max(sinces, default=ts)
    assert choose(floor, sinces, uppers, ends, isolation) == Choice(ts, waits, first)


moments = st.integers(1, 100)


@given(
    floor=moments,
    sinces=st.lists(moments, max_size=3),
    uppers=st.lists(moments | st.just(END), max_size=3),
    ends=st.lists(moments, max_size=2),
    isolation=st.sampled_from([STRICT, LOOSE]),
)
def test_a_choice_is_readable_consistent_and_waits_only_if_it_must(
    floor: int, sinces: list[int], uppers: list[int], ends: list[int], isolation: Isolation
) -> None:
    choice = choose(floor, sinces, uppers, ends, isolation)
    assert all(choice.ts >= since for since in sinces)
    assert choice.waits == any(upper <= choice.ts for upper in uppers)
    if isolation == STRICT:
        assert choice.ts >= floor
    if not choice.waits and any(upper != END for upper in uppers):
        assert any(upper == choice.ts + 1 for upper in uppers)  # nothing fresher without waiting


class TestClock:
    __test__ = False

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_s(self) -> float:
        return self.ms / 1000

    def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


IDS = ("u1", "u2", "u3")


class HoldsAndOracle(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = TestClock()
        self.oracle = Oracle(self.clock, 5)
        self.holds = Holds()
        self.live: list[tuple[Hold, set[str]]] = []
        self.since = dict.fromkeys(IDS, 0)
        self.shown = 5
        self.promised = 0

    @rule(ms=st.integers(-3, 10))
    def time_passes_or_the_clock_is_set_back(self, ms: int) -> None:
        self.clock.ms = max(0, self.clock.ms + ms)

    @rule(ts=moments | st.just(END))
    def show(self, ts: int) -> None:
        self.oracle.show(ts)
        if ts != END:
            self.shown = max(self.shown, ts)

    @rule(ts=moments)
    def close(self, ts: int) -> None:
        floor = self.oracle.floor
        self.oracle.close(ts)
        assert self.oracle.floor == floor
        assert self.oracle.closed >= max(ts, floor)
        self.promised = max(self.promised, ts)

    @rule()
    def write(self) -> None:
        ts = self.oracle.next_write()
        assert ts > max(self.shown, self.promised)
        assert ts >= self.clock.ms
        self.oracle.show(ts)
        self.shown = ts

    @rule(id_=st.sampled_from(IDS), since=moments)
    def start(self, id_: str, since: int) -> None:
        allowed = min((hold.ts for hold, ids in self.live if id_ in ids), default=since)
        self.holds.start(id_, min(since, allowed))
        self.since[id_] = max(self.since[id_], min(since, allowed))

    @rule(ids=st.sets(st.sampled_from(IDS), min_size=1), ts=moments)
    def acquire(self, ids: set[str], ts: int) -> None:
        if all(self.since[id_] <= ts for id_ in ids):
            self.live.append((self.holds.acquire(ids, ts), ids))
        else:
            with pytest.raises(InvariantViolation, match=f"held at {ts}, before its since"):
                self.holds.acquire(ids, ts)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), ahead=st.integers(0, 20))
    def downgrade(self, data: st.DataObject, ahead: int) -> None:
        hold, _ = data.draw(st.sampled_from(self.live))
        hold.downgrade(hold.ts + ahead)
        with pytest.raises(InvariantViolation, match="a hold went back"):
            hold.downgrade(hold.ts - 1)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), state=moments)
    def plan(self, data: st.DataObject, state: int) -> None:
        hold, ids = data.draw(st.sampled_from(self.live))
        hold.uses(sorted(ids)[0], state)
        assert hold.states[sorted(ids)[0]] <= state

    @precondition(lambda self: self.live)
    @rule(data=st.data(), times=st.integers(1, 2))
    def release(self, data: st.DataObject, times: int) -> None:
        index = data.draw(st.integers(0, len(self.live) - 1))
        hold, _ = self.live.pop(index)
        for _ in range(times):
            hold.release()

    @rule(id_=st.sampled_from(IDS), wanted=moments)
    def compact(self, id_: str, wanted: int) -> None:
        reached = self.holds.raise_since(id_, wanted)
        allowed = min((hold.ts for hold, ids in self.live if id_ in ids), default=wanted)
        self.since[id_] = max(self.since[id_], min(wanted, allowed))
        assert reached == self.since[id_]

    @invariant()
    def since_is_what_it_should_be_and_never_falls(self) -> None:
        for id_ in IDS:
            assert self.holds.since(id_) == self.since[id_]

    @invariant()
    def nothing_that_is_held_is_forgotten(self) -> None:
        for hold, ids in self.live:
            assert all(self.holds.since(id_) <= hold.ts for id_ in ids)

    @invariant()
    def what_was_shown_is_never_unsaid(self) -> None:
        assert self.oracle.floor == self.shown

    @invariant()
    def it_is_known_who_still_reads(self) -> None:
        for id_ in IDS:
            assert self.holds.held(id_) == any(id_ in ids for _, ids in self.live)
            for as_of in (1, 50, 101):
                older = [
                    hold for hold, ids in self.live if id_ in ids and hold.states.get(id_, as_of) < as_of
                ]
                assert self.holds.uses_before(id_, as_of) == bool(older)


TestHoldsAndOracle = HoldsAndOracle.TestCase
TestHoldsAndOracle.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_collection_that_is_gone_starts_anew_under_its_next_id() -> None:
    holds = Holds()
    holds.start("u1", 50)
    holds.forget("u1")
    assert holds.since("u1") == 0
