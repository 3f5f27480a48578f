"""Whatever a table has, with the difference it has what was read of it, and later changes still count.

Method: random rows here and there, written as files; the difference is put behind the changes that the
table has, and read as any table is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.cluster.difference import DifferenceTask
from headwater.core.change import DELETE, INSERT, Discipline, FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT8, INT4, TEXT
from headwater.persist.local import LocalStore
from tests.support.tables_of_files import Change, Reader, Row, bag, write_changes, write_state

# Names that a query might want for itself.
COLUMNS = (Column("c1", INT4), Column("_n", FLOAT8), Column("f", TEXT))
RELATIONS = {"keyed": Relation(COLUMNS, ((0,),)), "counted": Relation(COLUMNS, ())}
MEMORY_BYTES = 256 * 2**20

values = st.tuples(
    st.integers(0, 6), st.sampled_from([0.0, -0.0, 1.5, math.nan, None]), st.sampled_from(["x", "", None])
)
tables = st.lists(values, max_size=8)


def by_key(rows: Sequence[Row]) -> list[Row]:
    return list({row[0]: row for row in rows}.values())


def difference(folder: Path, plan: ReadPlan, found: tuple[FileEntry, ...], buckets: int) -> list[FileEntry]:
    tasks = [
        DifferenceTask(LocalStore(folder), "1-1", plan, found, n, buckets, MEMORY_BYTES)
        for n in range(buckets)
    ]
    return [replace(task.run(), ts=plan.as_of) for task in tasks]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["keyed", "counted"]),
    tables,
    tables,
    tables,
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)
def test_the_difference_makes_a_table_what_was_read(
    discipline: Discipline,
    state: list[Row],
    changed: list[Row],
    found: list[Row],
    buckets: int,
    gone: bool,
    more: bool,
) -> None:
    relation = RELATIONS[discipline]
    if discipline == "keyed":
        state, found = by_key(state), by_key(found)
    with TemporaryDirectory() as name:
        folder = Path(name)
        changes: list[Change] = [(INSERT, 5, n, row) for n, row in enumerate(changed)]
        if gone:  # also rows that are not there: a table without a key counts below zero, then
            changes += [(DELETE, 6, n, (n, 1.5, "x")) for n in range(4)]
        tail = (replace(write_changes(folder, "tail.parquet", relation, changes), ts=6),)
        states = (write_state(folder, "state.parquet", relation, state),) if state else ()
        read = (write_state(folder, "read.parquet", relation, found),) if found else ()
        plan = ReadPlan("u1", relation, discipline, 7, 1, states, tail)
        written = difference(folder, plan, read, buckets)
        if discipline == "keyed" and bag(Reader(folder).rows(plan).elements()) == bag(found):
            assert not any(file.rows for file in written), "nothing differs"
        expected = found
        if more:
            later: list[Change] = [(INSERT, 8, 0, (9, 1.0, "later"))]
            written.append(replace(write_changes(folder, "later.parquet", relation, later), ts=8))
            expected = [*found, (9, 1.0, "later")]
        reset = any(file.resets for file in written)
        assert reset == (discipline == "counted")
        now = replace(
            plan, as_of=8, state=() if reset else states, tail=tuple(written) if reset else (*tail, *written)
        )
        assert Reader(folder).rows(now) == bag(expected)
