"""State + tail = rows, whichever state one starts from.

Method: for each discipline a state machine makes ticks of random changes (NULLs, NaN, arrays, decimals,
duplicates; several files each, rows in any order), writes them as real Parquet files, folds at random moments
with the tasks that the cluster runs, and reads at random timestamps from any state at or before them.
A model of plain Python values says what the rows are.  The columns have the worst names we can think of.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.cluster.tasks import FoldTask, PackTask
from headwater.core.change import DELETE, INSERT, PARTIAL, Discipline, FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import (
    FACTS,
    FLOAT4,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    TEXT,
    SqlType,
    array_of,
    map_of,
    numeric,
)
from headwater.formats.arrow import state_schema
from headwater.persist.local import LocalStore
from tests.support.tables_of_files import (
    Change,
    Reader,
    Row,
    bag,
    comparable,
    new_directory,
    write_changes,
    write_state,
)

# Names that the generated text uses itself, or that need quotes.
COLUMNS = (
    Column("_net", INT8),
    Column('a "b"', TEXT),
    Column("file_index", FLOAT8),
    Column("c0", array_of(INT4)),
    Column("_place", numeric(2)),
    Column("tail", INTERVAL),
    Column("_rank", array_of(FLOAT4)),
)
KEYED = Relation(COLUMNS, ((0, 1),))
UNKEYED = Relation(COLUMNS)
MEMORY_BYTES = 256 * 1024 * 1024
CLAIM = "1-1"


def array(elements: list[Any], shape: list[int] | None = None) -> dict[str, Any]:
    """The stored form of an array."""
    return {"elements": elements, "shape": shape}


keys = st.tuples(st.none() | st.integers(0, 2), st.sampled_from([None, "", "it's", "ä"]))
values = st.tuples(
    st.sampled_from([None, float("nan"), 0.0, -0.0, 1.5, float("inf")]),
    st.sampled_from(
        [
            None,
            array([]),
            array([None]),
            array([1, None]),
            array([1, 2]),
            array([1, 2], [1, 2, 0]),
            array([1, 2], [2, 1, 2, 1, 1]),
        ]
    ),
    st.sampled_from([None, Decimal("0.00"), Decimal("1.20"), Decimal("-99999999999999999999.45")]),
    st.sampled_from([None, {"months": 1, "days": None, "microseconds": 2**40}]),
    st.sampled_from(
        [None, array([]), array([0.0]), array([-0.0]), array([0.0], [1, 1, 5]), array([float("nan"), None])]
    ),
)
rows = st.builds(lambda key, value: (*key, *value), keys, values)


def frozen(row: Row) -> Row:
    """A row that can be counted."""
    return tuple(
        tuple((name, comparable(part)) for name, part in value.items())
        if isinstance(value, dict)
        else comparable(value)
        for value in row
    )


class TableAgainstModel(RuleBasedStateMachine):
    """What all disciplines have in common; `apply` is the model of one."""

    discipline: Discipline = "appended"
    relation = UNKEYED

    def __init__(self) -> None:
        super().__init__()
        self.directory = new_directory()
        self.reader = Reader(self.directory)
        self.ts = 1
        self.position = 0
        self.file_count = 0
        self.current: list[Row] = []
        self.expected: dict[int, Counter[Row]] = {1: Counter()}
        self.ticks: list[FileEntry] = []
        self.states: dict[int, tuple[FileEntry, ...]] = {1: ()}

    def teardown(self) -> None:
        self.reader.close()
        shutil.rmtree(self.directory)

    def apply(self, operation: str, row: Row) -> str | None:
        """Change `current`; returns the operation that was possible, if any."""
        self.current.append(row)
        return INSERT

    def path(self) -> str:
        self.file_count += 1
        return f"tables/u1/log/{self.file_count % 7}-{self.file_count}.parquet"

    @rule(
        wanted=st.lists(st.tuples(st.sampled_from([INSERT, INSERT, DELETE]), rows), max_size=8),
        file_count=st.integers(1, 3),
        shuffled=st.randoms(use_true_random=False),
        wait=st.integers(1, 3),
    )
    def tick(self, wanted: list[tuple[str, Row]], file_count: int, shuffled: Any, wait: int) -> None:
        self.ts += wait
        changes: list[Change] = []
        for sequence, (operation, row) in enumerate(wanted):
            self.position += shuffled.randint(0, 1)  # several changes may share a position
            done = self.apply(operation, row)
            if done is not None:
                changes.append((done, self.position, sequence, row))
        self.position += 1
        shuffled.shuffle(changes)
        for part in range(file_count):
            entry = write_changes(self.directory, self.path(), self.relation, changes[part::file_count])
            self.ticks.append(replace(entry, ts=self.ts))
        self.expected[self.ts] = Counter(map(frozen, self.current))

    def plan(self, state_as_of: int, as_of: int) -> ReadPlan:
        tail = tuple(file for file in self.ticks if state_as_of < file.ts <= as_of)
        return ReadPlan(
            "u1", self.relation, self.discipline, as_of, state_as_of, self.states[state_as_of], tail
        )

    def expected_at(self, as_of: int) -> Counter[Row]:
        return self.expected[max(ts for ts in self.expected if ts <= as_of)]

    def read(self, plan: ReadPlan) -> Counter[Row]:
        table = self.reader.table(plan)
        assert table.schema.names == list(self.relation.column_names())
        columns = [column.to_pylist() for column in table.columns]
        return Counter(map(frozen, zip(*columns, strict=True)))

    def newest_plan(self) -> ReadPlan:
        return self.plan(max(self.states), self.ts)

    @precondition(lambda self: self.ts > max(self.states))
    @rule(buckets=st.integers(1, 3))
    def fold(self, buckets: int) -> None:
        plan = self.newest_plan()
        tasks = [
            FoldTask(LocalStore(self.directory), CLAIM, plan, i, buckets, MEMORY_BYTES)
            for i in range(buckets)
        ]
        self.states[self.ts] = tuple(file for file in (task.run() for task in tasks) if file.rows)
        assert sum(file.rows for file in self.states[self.ts]) == sum(self.expected[self.ts].values())

    @precondition(lambda self: len(self.states) > 1)
    @rule(data=st.data())
    def read_from_any_state(self, data: st.DataObject) -> None:
        state_as_of = data.draw(st.sampled_from(sorted(self.states)))
        as_of = data.draw(st.integers(state_as_of, self.ts))
        assert self.read(self.plan(state_as_of, as_of)) == self.expected_at(as_of)

    @invariant()
    def the_rows_are_the_models(self) -> None:
        assert self.read(self.newest_plan()) == self.expected[self.ts]


class Appended(TableAgainstModel):
    @precondition(lambda self: self.ts > max(self.states))
    @rule(small_bytes=st.integers(2_300, 3_400))
    def pack(self, small_bytes: int) -> None:
        """As the cluster does: large files stay where they are, with their hidden columns."""
        plan = self.newest_plan()
        present = [file for file in (*plan.state, *plan.tail) if file.rows]
        large = [file for file in present if file.bytes >= small_bytes]
        small = tuple(file for file in present if file.bytes < small_bytes)
        if small:
            large.append(PackTask(LocalStore(self.directory), CLAIM, plan, small, 0, MEMORY_BYTES).run())
        by_path = sorted(large, key=lambda file: file.path)  # as the ledger hands them out
        self.states[self.ts] = tuple(FileEntry(file.path, file.rows, file.bytes) for file in by_path)


class Keyed(TableAgainstModel):
    discipline: Discipline = "keyed"
    relation = KEYED

    def apply(self, operation: str, row: Row) -> str | None:
        before = [other for other in self.current if other[:2] == row[:2]]
        self.current = [other for other in self.current if other[:2] != row[:2]]
        if operation == INSERT and before and self.position % 2:  # what stands in the third column is ignored
            self.current.append((*row[:2], before[0][2], *row[3:]))
            return f"{PARTIAL}2"
        if operation == INSERT:
            self.current.append(row)
        return operation


class Counted(TableAgainstModel):
    discipline: Discipline = "counted"

    def apply(self, operation: str, row: Row) -> str | None:
        if operation == INSERT:
            self.current.append(row)
            return INSERT
        found = [i for i, other in enumerate(self.current) if frozen(other) == frozen(row)]
        if not found:
            return None  # an upstream never takes away what is not there
        del self.current[found[0]]
        return DELETE


FEW = settings(
    max_examples=10, stateful_step_count=10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestAppended = Appended.TestCase
TestAppended.settings = FEW
TestKeyed = Keyed.TestCase
TestKeyed.settings = FEW
TestCounted = Counted.TestCase
TestCounted.settings = FEW


SIMPLE = Relation((Column("k", INT8), Column("v", TEXT)), ((0,),))


def simple_plan(discipline: Discipline, state: list[FileEntry], tail: list[FileEntry]) -> ReadPlan:
    return ReadPlan("u1", SIMPLE, discipline, 9, 1, tuple(state), tuple(tail))


def test_the_last_change_of_a_key_wins_by_tick_then_by_sequence(tmp_path: Path) -> None:
    changes: list[Change] = [
        (INSERT, 5, 0, (1, "later tick")),
        (INSERT, 4, 9, (1, "earlier tick, higher sequence")),
        (INSERT, 7, 1, (2, "second")),
        (INSERT, 7, 0, (2, "first")),
        (DELETE, 2**62, 2**62, (3, None)),
        (INSERT, 2**62, 2**62 - 1, (3, "gone")),
    ]
    files = [write_changes(tmp_path, f"{i}.parquet", SIMPLE, [change]) for i, change in enumerate(changes)]
    found = Reader(tmp_path).rows(simple_plan("keyed", [], files))
    assert found == bag([(1, "later tick"), (2, "second")])


def test_of_two_changes_that_claim_one_place_exactly_one_counts(tmp_path: Path) -> None:
    twice = [write_changes(tmp_path, f"{i}.parquet", SIMPLE, [(INSERT, 1, 1, (1, "same"))]) for i in range(2)]
    assert Reader(tmp_path).rows(simple_plan("keyed", [], twice)) == bag([(1, "same")])


def test_a_delete_keeps_its_effect_on_a_state_row_whose_other_columns_differ(tmp_path: Path) -> None:
    state = write_state(tmp_path, "s.parquet", SIMPLE, [(1, "old"), (2, "stays")])
    tail = write_changes(tmp_path, "t.parquet", SIMPLE, [(DELETE, 1, 1, (1, None))])
    assert Reader(tmp_path).rows(simple_plan("keyed", [state], [tail])) == bag([(2, "stays")])


def test_a_counted_row_goes_one_copy_at_a_time(tmp_path: Path) -> None:
    row = (1, None)
    state = write_state(tmp_path, "s.parquet", SIMPLE, [row] * 3)
    tail = write_changes(tmp_path, "t.parquet", SIMPLE, [(DELETE, 1, 1, row), (DELETE, 2, 2, row)])
    assert Reader(tmp_path).rows(simple_plan("counted", [state], [tail])) == bag([row])


@pytest.mark.parametrize("discipline", ["appended", "keyed", "counted"])
def test_a_table_without_files_has_its_columns(tmp_path: Path, discipline: Discipline) -> None:
    kinds = sorted(set(FACTS) - {"array", "list", "map", "record"})
    columns = [*(SqlType(kind) for kind in kinds), numeric(3), array_of(TEXT), map_of(INT4)]
    relation = Relation(tuple(Column(f"x{i}", type_) for i, type_ in enumerate(columns)), ((0,),))
    plan = ReadPlan("u1", relation, discipline, 9, 1, (), (FileEntry("never written", 0, 0),))
    table = Reader(tmp_path).table(plan)
    assert (table.num_rows, table.schema.names) == (0, list(relation.column_names()))
    assert table.cast(state_schema(relation)).schema == state_schema(relation)


@pytest.mark.parametrize("log_first", [True, False])
def test_a_state_may_mix_files_with_and_without_hidden_columns(tmp_path: Path, log_first: bool) -> None:
    packed = write_state(tmp_path, "s.parquet", SIMPLE, [(1, "packed")])
    taken = write_changes(tmp_path, "t.parquet", SIMPLE, [(INSERT, 1, 1, (2, "taken as it was"))])
    state = [taken, packed] if log_first else [packed, taken]
    expected = bag([(1, "packed"), (2, "taken as it was")])
    assert Reader(tmp_path).rows(simple_plan("appended", state, [])) == expected
    task = PackTask(
        LocalStore(tmp_path), CLAIM, simple_plan("appended", state, []), tuple(state), 0, MEMORY_BYTES
    )
    assert Reader(tmp_path).rows(simple_plan("appended", [task.run()], [])) == expected


def test_a_path_with_a_quote_is_read(tmp_path: Path) -> None:
    odd = tmp_path / "it's"
    state = write_state(odd, "s.parquet", SIMPLE, [(1, "a")])
    assert Reader(odd).rows(simple_plan("keyed", [state], [])) == bag([(1, "a")])


FLOAT_KEY = Relation((Column("k", FLOAT8), Column("v", TEXT), Column("w", TEXT)), ((0,),))


def test_keys_are_equal_as_sql_says_and_shown_as_they_were_given(tmp_path: Path) -> None:
    nan = float("nan")
    state = write_state(
        tmp_path, "s.parquet", FLOAT_KEY, [(0.0, "a", "kept"), (nan, "b", "c"), (1.0, "d", "e")]
    )
    changes: list[Change] = [
        (DELETE, 1, 1, (0.0, None, None)),
        (INSERT, 1, 2, (-0.0, "new", "new")),
        (INSERT, 2, 1, (nan, "again", "again")),
    ]
    tail = write_changes(tmp_path, "t.parquet", FLOAT_KEY, changes)
    found = Reader(tmp_path).rows(ReadPlan("u1", FLOAT_KEY, "keyed", 9, 1, (state,), (tail,)))
    assert found == bag([(-0.0, "new", "new"), (nan, "again", "again"), (1.0, "d", "e")])
    partly = write_changes(tmp_path, "p.parquet", FLOAT_KEY, [(f"{PARTIAL}2", 3, 1, (-0.0, "newer", None))])
    found = Reader(tmp_path).rows(ReadPlan("u1", FLOAT_KEY, "keyed", 9, 1, (state,), (partly,)))
    assert found == bag([(-0.0, "newer", "kept"), (nan, "b", "c"), (1.0, "d", "e")])


def test_a_row_that_goes_takes_none_along_that_is_spelled_otherwise(tmp_path: Path) -> None:
    relation = Relation((Column("f", FLOAT8),))
    state = write_state(tmp_path, "s.parquet", relation, [(0.0,), (-0.0,), (float("nan"),)])
    tail = write_changes(tmp_path, "t.parquet", relation, [(DELETE, 1, 1, (0.0,)), (INSERT, 2, 1, (-0.0,))])
    found = Reader(tmp_path).rows(ReadPlan("u1", relation, "counted", 9, 1, (state,), (tail,)))
    assert found == bag([(-0.0,), (-0.0,), (float("nan"),)])
