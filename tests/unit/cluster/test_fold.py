"""The fold's policy: when a tail is long enough to be worth a fold.

Method: sizes at, just below and just above every bound.  The work of a fold is tested in test_tasks.py
and in persist/test_combine.py.
"""

from __future__ import annotations

import pytest

from headwater.cluster.fold import due
from headwater.core.limits import (
    FOLD_TAIL_BYTES_MAX,
    FOLD_TAIL_FILES_HARD_MAX,
    FOLD_TAIL_FILES_MAX,
    FOLD_TAIL_STATE_RATIO_MIN,
)
from headwater.persist.ledger import TailSize

STATE_ROWS = 10_000
ENOUGH = int(STATE_ROWS * FOLD_TAIL_STATE_RATIO_MIN)


def tail(
    files: int = 1, size: int = 1, rows: int = ENOUGH, state_rows: int = STATE_ROWS, id_: str = "u1"
) -> TailSize:
    return TailSize(id_, files, size, rows, last_ts=2, state_as_of=1, state_rows=state_rows)


CASES = [
    ("many files", tail(files=FOLD_TAIL_FILES_MAX), True),
    ("not quite many files", tail(files=FOLD_TAIL_FILES_MAX - 1), False),
    ("many bytes", tail(size=FOLD_TAIL_BYTES_MAX), True),
    ("not quite many bytes", tail(size=FOLD_TAIL_BYTES_MAX - 1), False),
    ("many files of too few rows", tail(files=FOLD_TAIL_FILES_MAX, rows=ENOUGH - 1), False),
    ("many bytes of too few rows", tail(size=FOLD_TAIL_BYTES_MAX, rows=ENOUGH - 1), False),
    ("too few rows in too many files", tail(files=FOLD_TAIL_FILES_HARD_MAX, rows=1), True),
    ("too few rows in not quite too many files", tail(files=FOLD_TAIL_FILES_HARD_MAX - 1, rows=1), False),
    ("many files over an empty state", tail(files=FOLD_TAIL_FILES_MAX, rows=0, state_rows=0), True),
    ("few files over an empty state", tail(files=FOLD_TAIL_FILES_MAX - 1, rows=9, state_rows=0), False),
]


@pytest.mark.parametrize(("size", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_tail_is_due_when_a_fold_is_worth_it(size: TailSize, expected: bool) -> None:
    assert due([size]) == ([size] if expected else [])


def test_the_longest_tail_is_folded_first() -> None:
    tails = [tail(files=FOLD_TAIL_FILES_MAX + i, id_=f"u{i}") for i in (2, 0, 5, 1)]
    assert [size.collection_id for size in due(tails)] == ["u5", "u2", "u1", "u0"]
