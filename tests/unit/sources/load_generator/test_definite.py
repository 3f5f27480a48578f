"""Every generator: a snapshot is what replaying the changes gives, however either is cut.

Method: for each generator (small enough to replay) and random frontiers X <= Y,
the snapshot at X plus the changes of [X, Y), applied by the plainest model of a
table, must be the snapshot at Y.  The sizes of batches, parts and chunks are drawn
too and must not matter.
"""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core import limits
from headwater.core.frontier import OffsetFrontier
from headwater.sources.load_generator import KIND, read
from headwater.sources.load_generator.generators import generator_of
from headwater.sources.load_generator.grammar import GRAMMAR
from headwater.sql.upstream import Upstream
from tests.unit.sources.load_generator.upstreams import (
    NOW_MS,
    ROWS_MAX,
    SMALL,
    applied,
    changes_of_parts,
    exports_of,
    read_between,
    small,
    snapshot_at,
)

OFFSETS = st.integers(0, 350)
EVERY_GENERATOR = pytest.mark.parametrize("name", sorted(SMALL))


def bounded(name: str, offset: int) -> int:
    """The offset, or the generator's end when it has one before it."""
    end = generator_of(small(name)).end(small(name))
    return offset if end is None else min(offset, end)


@EVERY_GENERATOR
@settings(max_examples=10, deadline=None)
@given(x=OFFSETS, y=OFFSETS, chunk_rows=st.integers(1, 50))
def test_a_snapshot_and_the_changes_after_it_are_a_later_snapshot(
    name: str, x: int, y: int, chunk_rows: int
) -> None:
    options = small(name)
    start, end = sorted((bounded(name, x), bounded(name, y)))
    changes = read_between(options, start, end)
    for export in exports_of(options):
        before = snapshot_at(options, export, start, chunk_rows)
        after = applied(export, before, changes.get(export.table_id, []))
        assert after == snapshot_at(options, export, end)


@EVERY_GENERATOR
def test_replaying_from_the_beginning_gives_the_snapshot(name: str) -> None:
    options = small(name)
    end = bounded(name, 700)
    changes = read_between(options, 0, end)
    for export in exports_of(options):
        replayed = applied(export, snapshot_at(options, export, 0), changes.get(export.table_id, []))
        assert replayed == snapshot_at(options, export, end)
        assert replayed or end < 10


@EVERY_GENERATOR
@settings(max_examples=10, deadline=None)
@given(
    cuts=st.lists(OFFSETS, min_size=2, max_size=5),
    batch_rows=st.integers(1, 40),
    part_rows=st.integers(1, 60),
)
def test_changes_do_not_depend_on_how_a_range_is_cut(
    name: str, cuts: list[int], batch_rows: int, part_rows: int
) -> None:
    options = small(name)
    offsets = sorted({bounded(name, cut) for cut in cuts})
    whole = read_between(options, offsets[0], offsets[-1])
    pieces: dict[str, list[object]] = {}
    with (
        patch.object(limits, "GENERATOR_BATCH_ROWS", batch_rows),
        patch.object(limits, "GENERATOR_PART_ROWS_MIN", part_rows),
    ):
        for start, end in pairwise(offsets):
            for table, changes in read_between(options, start, end).items():
                pieces.setdefault(table, []).extend(changes)
    assert pieces == whole


@EVERY_GENERATOR
@settings(max_examples=10, deadline=None)
@given(start=OFFSETS, length=st.integers(1, 300), rows_max=st.integers(1, 500))
def test_a_tick_is_cut_to_about_the_rows_allowed_and_always_moves(
    name: str, start: int, length: int, rows_max: int
) -> None:
    options = small(name)
    first, last = bounded(name, start), bounded(name, start + length)
    exports = exports_of(options)
    cut, parts = read.plan_read(options, OffsetFrontier(first), OffsetFrontier(last), exports, rows_max)
    end = KIND.offset(cut)
    assert end is not None
    assert first < end <= last or first == last
    changes = [change for found in changes_of_parts(parts).values() for change in found]
    if end > first + 1:
        # Rows are estimated: a lot of an auction, or the lines of two orders, may come on top.
        assert len(changes) <= rows_max * 1.5 + 30


@EVERY_GENERATOR
def test_keys_are_unique_at_every_frontier(name: str) -> None:
    options = small(name)
    for at in {bounded(name, offset) for offset in (1, 7, 151, 400)}:
        for export in exports_of(options):
            rows = list(snapshot_at(options, export, at).elements())
            for key in export.relation.keys:
                assert len({tuple(row[i] for i in key) for row in rows}) == len(rows)


@EVERY_GENERATOR
def test_columns_that_cannot_be_null_never_are(name: str) -> None:
    options = small(name)
    end = bounded(name, 300)
    changes = read_between(options, 0, end)
    for export in exports_of(options):
        rows = [row for op, row in changes.get(export.table_id, []) if op == "+"]
        rows += snapshot_at(options, export, end)
        for i, column in enumerate(export.relation.columns):
            assert column.nullable or all(row[i] != "None" for row in rows)


def test_a_keyed_delete_says_only_its_key() -> None:
    changes = read_between(small("tpch"), 1, 20)
    deletes = [row for op, row in changes["u_lineitem"] if op == "-"]
    assert deletes
    for row in deletes:
        assert [i for i, value in enumerate(row) if value != "None"] == [0, 3]


def test_no_exports_make_no_parts_and_no_cut() -> None:
    options = small("counter")
    end, parts = read.plan_read(options, OffsetFrontier(0), OffsetFrontier(10**9), (), 10)
    assert (end, parts) == (OffsetFrontier(10**9), ())


def test_exports_that_never_change_make_no_parts_after_the_beginning() -> None:
    options = small("auction")
    fixed = tuple(export for export in exports_of(options) if export.reference[-1] == "users")
    end, parts = read.plan_read(options, OffsetFrontier(1), OffsetFrontier(99), fixed, ROWS_MAX)
    assert (end, parts) == (OffsetFrontier(99), ())


def test_a_small_range_is_one_part_and_a_large_one_several() -> None:
    options = small("counter")
    exports = exports_of(options)
    _, few = read.plan_read(options, OffsetFrontier(0), OffsetFrontier(1_000), exports, ROWS_MAX)
    _, many = read.plan_read(options, OffsetFrontier(0), OffsetFrontier(10**6), exports, ROWS_MAX)
    assert (len(few), len(many)) == (1, limits.TICK_TASKS_MAX)
    assert [part.index for part in many] == list(range(len(many)))


def test_a_huge_first_transaction_is_shared_out() -> None:
    options = small("static tpch") | {"scale_factor": 10.0}
    lineitem = tuple(export for export in exports_of(options) if export.reference[-1] == "lineitem")
    end, parts = read.plan_read(
        options, OffsetFrontier(0), OffsetFrontier(None), lineitem, limits.TICK_ROWS_MAX
    )
    assert end == OffsetFrontier(None)
    assert len(parts) > limits.TICK_TASKS_MAX
    assert {(part.start, part.end) for part in parts} == {(0, 1)}


def test_a_source_that_was_read_to_its_end_has_nothing_more() -> None:
    options = small("static tpch")
    end, parts = read.plan_read(options, OffsetFrontier(None), OffsetFrontier(None), exports_of(options), 10)
    assert (end, parts) == (OffsetFrontier(None), ())
    assert read.probe(options, NOW_MS) == OffsetFrontier(None)


@pytest.mark.parametrize("variant", GRAMMAR.variants)
def test_what_is_written_tells_whether_there_is_one_output(variant: str) -> None:
    assert GRAMMAR.single(Upstream("LOAD GENERATOR", variant)) == KIND.single_output(small(variant.lower()))
