"""Snapshots say which transactions they show, also around the wrap of their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.sources.postgres.frontier import last_end, lsn_of, lsn_text
from headwater.sources.postgres.visibility import Snapshot


@pytest.mark.parametrize("epoch", [0, 1, 5])
@pytest.mark.parametrize("xmax", [10, 2**31, 2**32 - 3])
def test_a_snapshot_shows_what_was_committed(epoch: int, xmax: int) -> None:
    full = epoch * 2**32 + xmax
    snapshot = Snapshot.from_text(f"{full - 4}:{full}:{full - 4},{full - 2}")
    numbers = np.array([full + step for step in range(-5, 3)], np.int64) % 2**32
    assert snapshot.shows(numbers).tolist() == [True, False, True, False, True, False, False, False]


def test_a_snapshot_may_have_nothing_in_progress() -> None:
    assert Snapshot.from_text("5:5:").shows(np.array([4, 5], np.int64)).tolist() == [True, False]


def test_positions_are_printed_and_read() -> None:
    assert lsn_text(0x16B374D848) == "16/B374D848"
    assert lsn_of("16/B374D848") == 0x16B374D848


def test_no_record_ends_behind_the_header_of_a_page() -> None:
    assert last_end(8192 * 5 + 24) == 8192 * 5
    assert last_end(16 * 2**20 + 40) == 16 * 2**20
    assert last_end(8192 * 5 + 48) == 8192 * 5 + 48
