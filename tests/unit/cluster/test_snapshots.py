"""Chunks that are read together: as many as are worth a task, and none left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.cluster.snapshots import Table, groups
from headwater.core.limits import SNAPSHOT_CHUNK_ROWS, SNAPSHOT_GROUP_CHUNKS_MAX
from headwater.core.points import Read
from headwater.core.relation import Relation
from headwater.sources.contract import Export, SnapshotChunk

SIZES = st.lists(st.lists(st.integers(0, 2 * SNAPSHOT_CHUNK_ROWS), max_size=5), max_size=60)


def table(number: int, sizes: list[int]) -> Table:
    export = Export(f"u{number}", ("t",), Relation(()), (), "keyed")
    chunks = tuple(
        SnapshotChunk("x", {}, Read(None), export, place, rows) for place, rows in enumerate(sizes)
    )
    return Table(export, 1, None, missing=chunks)


@given(SIZES)
def test_every_chunk_is_in_one_group_and_no_group_is_too_large(sizes: list[list[int]]) -> None:
    tables = [table(number, rows) for number, rows in enumerate(sizes)]
    found = list(groups(tables))
    assert [pair for group in found for pair in group] == [(t, c) for t in tables for c in t.missing]
    for group in found:
        assert 0 < len(group) <= SNAPSHOT_GROUP_CHUNKS_MAX
        assert len(group) == 1 or sum(chunk.rows_estimate for _, chunk in group) <= SNAPSHOT_CHUNK_ROWS


def test_a_thousand_small_tables_are_few_tasks() -> None:
    assert len(list(groups(table(number, [10]) for number in range(1_000)))) == 32
