"""Remap: a change keeps its timestamp for ever.

Method: drive a Remap and the plainest possible model of one (a list of pairs) with the
same random ticks and restarts, and compare every answer.  A restart rebuilds the Remap
from what was durable, which is how the product recovers.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.core.errors import InvariantViolation
from headwater.core.frontier import OffsetFrontier
from headwater.core.remap import Binding, Remap


class RemapAgainstModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.remap: Remap[OffsetFrontier] = Remap()
        self.model: list[tuple[int, int | None]] = []

    def ended(self) -> bool:
        return bool(self.model) and self.model[-1][1] is None

    @precondition(lambda self: not self.ended())
    @rule(wait=st.integers(1, 5), read=st.integers(0, 9))
    def tick(self, wait: int, read: int) -> None:
        ts, upper = self.model[-1] if self.model else (0, 0)
        binding = self.remap.mint(ts + wait, OffsetFrontier((upper or 0) + read))
        self.model.append((ts + wait, (upper or 0) + read))
        assert binding == Binding(ts + wait, OffsetFrontier((upper or 0) + read))

    @precondition(lambda self: not self.ended())
    @rule()
    def end(self) -> None:
        ts = self.model[-1][0] if self.model else 0
        self.remap.mint(ts + 1, OffsetFrontier(None))
        self.model.append((ts + 1, None))

    @rule()
    def restart(self) -> None:
        self.remap = Remap(Binding(ts, OffsetFrontier(upper)) for ts, upper in self.model)

    @invariant()
    def a_change_keeps_its_timestamp(self) -> None:
        last = max((upper or 0 for _, upper in self.model), default=0)
        for position in range(last + 2):
            expected = next((ts for ts, upper in self.model if upper is None or upper > position), None)
            assert self.remap.ts_of(position) == expected

    @invariant()
    def the_frontier_at_a_timestamp_is_that_of_the_last_binding_before_it(self) -> None:
        last = self.model[-1][0] if self.model else 0
        for at in range(last + 2):
            known = [upper for ts, upper in self.model if ts <= at]
            expected = OffsetFrontier(known[-1]) if known else None
            assert self.remap.upper_at(at) == expected


TestRemapAgainstModel = RemapAgainstModel.TestCase
TestRemapAgainstModel.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_a_frontier_that_goes_back_is_a_bug_not_a_user_error() -> None:
    remap = Remap([Binding(1000, OffsetFrontier(50))])
    with pytest.raises(InvariantViolation, match="frontier went back: 50 to 49"):
        remap.mint(2000, OffsetFrontier(49))


def test_an_upstream_that_has_ended_does_not_begin_again() -> None:
    remap = Remap([Binding(1000, OffsetFrontier(None))])
    with pytest.raises(InvariantViolation, match="frontier went back: end to 7"):
        remap.mint(2000, OffsetFrontier(7))


@pytest.mark.parametrize("ts", [999, 1000])
def test_two_bindings_never_share_a_timestamp_nor_go_back(ts: int) -> None:
    remap = Remap([Binding(1000, OffsetFrontier(50))])
    with pytest.raises(InvariantViolation, match=f"binding at {ts} follows one at 1000"):
        remap.mint(ts, OffsetFrontier(60))


def test_what_was_written_wrongly_is_noticed_when_it_is_loaded() -> None:
    with pytest.raises(InvariantViolation):
        Remap([Binding(2, OffsetFrontier(5)), Binding(1, OffsetFrontier(6))])
