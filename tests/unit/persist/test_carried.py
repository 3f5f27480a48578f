"""A row that changes its key brings along what its upstream did not send again.

Method: ticks of random changes (inserts, deletions, updates that leave columns as they were, changes of the
key that carry columns along, several in a tick and of one row) are written as real change files; a model of
plain Python rows says what the table is after each.  Every state at or before a moment gives the same rows.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.cluster.tasks import FoldTask
from headwater.core.change import CARRIED, DELETE, KEY, PARTIAL, FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, FLOAT8, TEXT
from headwater.persist.local import LocalStore
from tests.support.carrying import TABLE, Upstream, row_of
from tests.support.tables_of_files import Change, Reader, Row, bag, write_changes, write_state


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_the_models_from_whichever_state(tmp_path: Path, seed: int) -> None:
    upstream, pick, reader = Upstream(seed), random.Random(seed), Reader(tmp_path)
    files: list[FileEntry] = []
    states: dict[int, tuple[FileEntry, ...]] = {0: ()}
    carriers = 0
    for ts in range(1, 8):
        changes = [change for n in range(pick.randint(1, 20)) for change in upstream.change(ts, 2 * n)]
        pick.shuffle(changes)
        for part in range(2):
            entry = write_changes(tmp_path, f"{ts}-{part}.parquet", TABLE, changes[part::2])
            files.append(replace(entry, ts=ts))
            carriers += entry.carriers
        expected = bag(row_of(key, values) for key, values in upstream.rows.items())
        for at, state in states.items():
            tail = tuple(file for file in files if file.ts > at)
            assert reader.rows(ReadPlan("u1", TABLE, "keyed", ts, at, state, tail)) == expected
        if pick.random() < 0.4:
            at = max(states)
            tail = tuple(file for file in files if file.ts > at)
            plan = ReadPlan("u1", TABLE, "keyed", ts, at, states[at], tail)
            folded = [FoldTask(LocalStore(tmp_path), "1-1", plan, i, 2, 2**28).run() for i in range(2)]
            states[ts] = tuple(file for file in folded if file.rows)
    reader.close()
    assert carriers


SHORT = Relation((Column("k", FLOAT8), Column("x", TEXT), Column("y", TEXT)), ((0,),))


def rows_of(tmp_path: Path, state: list[Row], changes: list[Change]) -> object:
    base = write_state(tmp_path, "s.parquet", SHORT, state)
    tail = write_changes(tmp_path, "t.parquet", SHORT, changes)
    return Reader(tmp_path).rows(ReadPlan("u1", SHORT, "keyed", 9, 1, (base,), (tail,)))


def test_an_earlier_row_of_the_new_key_has_no_say(tmp_path: Path) -> None:
    changes: list[Change] = [
        (DELETE, 1, 0, (2.0, None, None)),
        (DELETE, 2, 0, (1.0, None, None)),
        (f"{PARTIAL}{CARRIED}1", 2, 1, (2.0, None, "new")),
    ]
    state: list[Row] = [(1.0, "mine", "old"), (2.0, "another's", "old")]
    assert rows_of(tmp_path, state, changes) == bag([(2.0, "mine", "new")])


def test_a_key_that_is_only_spelled_otherwise_is_the_same_key(tmp_path: Path) -> None:
    changes: list[Change] = [
        (DELETE, 1, 0, (0.0, None, None)),
        (f"{PARTIAL}{CARRIED}1", 1, 1, (-0.0, None, "new")),
    ]
    assert rows_of(tmp_path, [(0.0, "mine", "old")], changes) == bag([(-0.0, "mine", "new")])


def test_rows_whose_keys_could_not_be_stored_move_as_others_do(tmp_path: Path) -> None:
    relation = Relation((*SHORT.columns, Column(KEY, BYTEA)), ((0, 3),))
    state = [(None, "mine", "old", b"a"), (None, "another's", "old", b"b"), (1.0, "third", "old", None)]
    moves = [(b"a", 2.0, None), (b"b", None, b"c"), (None, None, b"a")]
    changes: list[Change] = []
    for n, (odd_before, key, odd) in enumerate(moves):
        changes.append((DELETE, 2, 4 * n, (1.0 if odd_before is None else None, None, None, odd_before)))
        changes.append((f"{PARTIAL}{CARRIED}1", 2, 4 * n + 1, (key, None, "new", odd)))
    base = write_state(tmp_path, "s.parquet", relation, state)
    tail = write_changes(tmp_path, "t.parquet", relation, changes)
    found = Reader(tmp_path).rows(ReadPlan("u1", relation, "keyed", 9, 1, (base,), (tail,)))
    came = [(2.0, "mine", "new", None), (None, "another's", "new", b"c"), (None, "third", "new", b"a")]
    assert found == bag(came)


def test_columns_may_be_left_under_the_new_key_while_others_come_along(tmp_path: Path) -> None:
    changes: list[Change] = [
        (DELETE, 1, 0, (1.0, None, None)),
        (f"{PARTIAL}2{CARRIED}1", 1, 1, (2.0, None, None)),
    ]
    state: list[Row] = [(1.0, "mine", "gone with its key"), (2.0, None, "read beside")]
    assert rows_of(tmp_path, state, changes) == bag([(2.0, "mine", "read beside")])


def test_a_row_that_moves_very_often_is_read_within_seconds(tmp_path: Path) -> None:
    changes: list[Change] = []
    for n in range(3_000):
        changes += [
            (DELETE, n, 0, (float(n % 50), None, None)),
            (f"{PARTIAL}{CARRIED}1", n, 1, (float((n + 1) % 50), None, str(n))),
        ]
    assert rows_of(tmp_path, [(0.0, "mine", "old")], changes) == bag([(0.0, "mine", "2999")])
