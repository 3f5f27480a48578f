"""Positions as people write them, and when a source has come to one.

Method: tables of cases; the question itself is asked of a real server in tests/postgres/test_recency.py.
"""

from __future__ import annotations

import pytest

from headwater.sources.postgres.frontier import LsnFrontier
from headwater.sources.postgres.position import position_from_text, reached


@pytest.mark.parametrize(
    ("text", "lsn"),
    [
        ("16/B374D848", 0x16_B374D848),
        ("0/1", 1),
        ("ffffffff/ffffffff", 2**64 - 1),
        ("98765432", 98765432),
        ("0/2000018", 0x2000000),  # behind a page's header no record ends
        ("0/2000028", 0x2000000),
    ],
)
def test_a_position_is_a_place_in_the_log(text: str, lsn: int) -> None:
    assert position_from_text(text) == LsnFrontier(lsn, "", 0)


@pytest.mark.parametrize("text", ["", "/", "1/", "1/2/3", "x/1", "-1", "1.5", "0/123456789", str(2**64), "٣"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pg_current_wal_insert_lsn"):
        position_from_text(text)


def test_a_position_is_reached_in_its_own_history_alone() -> None:
    stands_at = LsnFrontier(100, "7", 1)
    assert reached(stands_at, LsnFrontier(100, "7", 1))
    assert reached(stands_at, LsnFrontier(100, "", 0))
    assert not reached(stands_at, LsnFrontier(101, "7", 1))
    assert not reached(stands_at, LsnFrontier(101, "", 0))
    assert not reached(stands_at, LsnFrontier(50, "7", 2))
    assert not reached(stands_at, LsnFrontier(50, "8", 1))
