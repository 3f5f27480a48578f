"""What came and went at a timestamp is the difference of the rows before and after, whatever the keys are.

Method: random changes as real files, for each discipline, with keys that are NULL or -0, values that are left
as they were, and resets; the signed rows, put together, against the rows of the two moments.  The same for
rows of a snapshot that a later point has too.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headwater.cluster.tasks import PruneTask
from headwater.core.change import DELETE, INSERT, PARTIAL, Discipline, FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT8, TEXT
from headwater.persist.local import LocalStore
from headwater.persist.signed import DIFF, signed_sql
from headwater.sources.contract import Export
from tests.support.tables_of_files import (
    Change,
    Reader,
    Row,
    comparable,
    write_changes,
    write_state,
)

TABLE = Relation((Column("k", FLOAT8), Column("l", TEXT), Column("v", TEXT)), ((0, 1),))
KEYS = [(k, letter) for k in (None, 0.0, 1.0) for letter in (None, "x")]


def changes_of(
    pick: random.Random, rows: list[Row], discipline: Discipline, ts: int, sequence: int
) -> list[Change]:
    key, value = pick.choice(KEYS), str(pick.randrange(3))
    held = [row for row in rows if row[:2] == key]
    if discipline == "appended" or not held or (discipline == "counted" and pick.random() < 0.5):
        rows.append((*key, value))
        return [(INSERT, ts, sequence, (*key, value))]
    gone = held[0]
    rows.remove(gone)
    if discipline == "counted" or pick.random() < 0.3:
        return [(DELETE, ts, sequence, gone)]
    if pick.random() < 0.3:
        rows.append(gone)
        return [(f"{PARTIAL}2", ts, sequence, (*key, None))]
    rows.append((*key, value))
    return [(INSERT, ts, sequence, (*key, value))]


@pytest.mark.parametrize("discipline", ["appended", "counted", "keyed"])
@pytest.mark.parametrize("seed", range(6))
def test_signed_rows_lead_from_one_moment_to_the_next(
    tmp_path: Path, discipline: Discipline, seed: int
) -> None:
    pick, reader = random.Random(seed), Reader(tmp_path)
    relation = TABLE if discipline == "keyed" else replace(TABLE, keys=())
    rows: list[Row] = []
    files: list[FileEntry] = []
    before = ReadPlan("u1", relation, discipline, 0, 0, (), ())
    for ts in range(1, 7):
        resets = discipline != "appended" and pick.random() < 0.2
        if resets:
            rows = []
            files = []
        changes = [c for n in range(pick.randint(0, 8)) for c in changes_of(pick, rows, discipline, ts, n)]
        file = replace(write_changes(tmp_path, f"{ts}.parquet", relation, changes), ts=ts, resets=resets)
        files.append(file)
        now = ReadPlan("u1", relation, discipline, ts, 0, (), tuple(files))
        table = reader.query(signed_sql(before, now, [file], LocalStore(tmp_path)))
        net: Counter[Row] = Counter(reader.rows(before))
        names = relation.column_names()
        columns = (table.column(name).to_pylist() for name in (*names, DIFF))
        for *row, diff in zip(*columns, strict=True):
            net[tuple(comparable(value) for value in row)] += diff
        assert {row: n for row, n in net.items() if n} == dict(reader.rows(now))
        assert Counter(tuple(comparable(v) for v in row) for row in rows) == reader.rows(now)
        before = now
    reader.close()


def test_a_chunk_has_no_row_that_a_later_point_has_also_without_a_key_to_its_name(tmp_path: Path) -> None:
    export = Export("u1", ("r",), TABLE, ("k", "l", "v"), "keyed")
    old = [(*key, "old", None) for key in KEYS]
    before = write_state(tmp_path, "before", export.stored, old)
    later = write_state(
        tmp_path, "later", export.stored, [(None, None, "new", None), (-0.0, None, "new", None)]
    )
    entry = PruneTask(LocalStore(tmp_path), "1-1", export, 17, 0, before, (later,), 2**28).run()
    left = {(row["k"], row["l"]) for row in pq.read_table(tmp_path / entry.path).to_pylist()}
    assert left == {*KEYS} - {(None, None), (0.0, None)}
