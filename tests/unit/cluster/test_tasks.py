"""Tasks: what runs on executors, run here in the test's own process.

Method: tasks are pickled and unpickled before they run, as Spark does.  Reads and snapshots use a real
load generator; folds use real files, one column for every kind of type.  Failures: a file that is
missing or damaged, a disk that cannot be written, a definite error of the source.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.cluster.tasks import (
    Failed,
    FoldTask,
    GroupTask,
    PackTask,
    PruneTask,
    ReadTask,
    SnapshotTask,
    gather,
    run_aside,
    run_task,
    task_database,
    write_query,
)
from headwater.core import limits
from headwater.core.change import DELETE, FLAWS, INSERT, FileEntry, ReadPlan
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import OffsetFrontier
from headwater.core.limits import BACKFILL_NICENESS
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT8, INT4, TEXT, SqlType, array_of, list_of, map_of, numeric
from headwater.formats.arrow import change_schema, state_schema
from headwater.persist.combine import BELOW_ZERO
from headwater.persist.layout import spill_folder
from headwater.persist.local import LocalStore
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Answers, Export, ReadPart, Reset, Secrets, SnapshotChunk
from headwater.sources.load_generator import KIND, read
from tests.support.tables_of_files import write_changes, write_state
from tests.unit.sources.load_generator.upstreams import ROWS_MAX, exports_of, small

MEMORY_BYTES = 256 * 1024 * 1024
CLAIM = "1-1"

# One value for every stored form, as pyarrow makes and returns it.
VALUES: list[tuple[SqlType, Any]] = [
    (SqlType("int4"), 1),
    (SqlType("bool"), True),
    (SqlType("int2"), -(2**15)),
    (SqlType("int8"), 2**63 - 1),
    (SqlType("uint2"), 2**16 - 1),
    (SqlType("uint4"), 2**32 - 1),
    (SqlType("uint8"), Decimal(2**64 - 1)),
    (SqlType("float4"), 1.5),
    (SqlType("float8"), float("-inf")),
    (numeric(4), Decimal("-99999999999999999999999999.1234")),
    (numeric(), "1E-3 is not canonical but text is text"),
    (SqlType("text"), "ä\n'"),
    (SqlType("bytea"), b"\x00\xff"),
    (SqlType("date"), date(1, 1, 1)),
    (SqlType("time"), 86_400_000_000),
    (SqlType("timestamp"), datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    (SqlType("timestamptz"), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    (SqlType("interval"), {"months": -1, "days": 2, "microseconds": -(2**50)}),
    (SqlType("jsonb"), '{"a":1}'),
    (SqlType("mz_timestamp"), 2**62),
    (array_of(INT4), {"elements": [1, None], "shape": None}),
    (array_of(TEXT), {"elements": ["a", None], "shape": [2, 1, 2, 1, 0]}),
    (list_of(FLOAT8), [None, 0.5]),
    (map_of(INT4), [("a", 1), ("b", None)]),
    (SqlType("record", fields=(("x", INT4), ("y", TEXT))), {"x": None, "y": "z"}),
]
EVERY_KIND = Relation(tuple(Column(f"x{i}", type_) for i, (type_, _) in enumerate(VALUES)), ((0,),))
ROW = tuple(value for _, value in VALUES)
NULLS = (2, *[None] * (len(VALUES) - 1))


def shipped(task: Any) -> Any:
    """The task as it arrives at an executor."""
    return pickle.loads(pickle.dumps(task))


def plan_of(discipline: Any, state: list[FileEntry], tail: list[FileEntry], relation: Relation) -> ReadPlan:
    return ReadPlan("u1", relation, discipline, 9, 1, tuple(state), tuple(tail))


@pytest.mark.parametrize("discipline", ["keyed", "counted"])
def test_a_fold_keeps_every_kind_of_value_as_it_is(tmp_path: Path, discipline: str) -> None:
    gone = (3, *ROW[1:])
    state = write_state(tmp_path, "s.parquet", EVERY_KIND, [ROW, gone])
    tail = write_changes(tmp_path, "t.parquet", EVERY_KIND, [(INSERT, 1, 0, NULLS), (DELETE, 1, 1, gone)])
    entry = shipped(
        FoldTask(
            LocalStore(tmp_path), CLAIM, plan_of(discipline, [state], [tail], EVERY_KIND), 0, 1, MEMORY_BYTES
        )
    ).run()
    table = pq.read_table(tmp_path / entry.path)
    assert table.schema == state_schema(EVERY_KIND)
    found = [tuple(row.values()) for row in table.sort_by("x0").to_pylist()]
    assert found == [ROW, NULLS]
    assert (entry.rows, entry.bytes) == (2, (tmp_path / entry.path).stat().st_size)


def test_files_of_an_appended_table_are_packed_without_their_hidden_columns(tmp_path: Path) -> None:
    files = [
        write_changes(tmp_path, "1.parquet", EVERY_KIND, [(INSERT, 1, 0, ROW)]),
        write_state(tmp_path, "2.parquet", EVERY_KIND, [NULLS]),
    ]
    plan = plan_of("appended", [files[1]], [files[0]], EVERY_KIND)
    entry = shipped(PackTask(LocalStore(tmp_path), CLAIM, plan, tuple(files), 3, MEMORY_BYTES)).run()
    table = pq.read_table(tmp_path / entry.path)
    assert table.schema == state_schema(EVERY_KIND)
    assert [tuple(row.values()) for row in table.sort_by("x0").to_pylist()] == [ROW, NULLS]
    assert entry.path.startswith("tables/u1/state/9-3-")


@pytest.mark.parametrize("buckets", [2, 7])
def test_buckets_are_disjoint_and_together_everything(tmp_path: Path, buckets: int) -> None:
    relation = Relation((Column("k", TEXT), Column("v", FLOAT8)), ((0,),))
    rows = [(f"key {i}", float(i)) for i in range(500)]
    state = write_state(tmp_path, "s.parquet", relation, [*rows, (None, None)])
    plan = plan_of("keyed", [state], [], relation)
    entries = [
        FoldTask(LocalStore(tmp_path), CLAIM, plan, i, buckets, MEMORY_BYTES).run() for i in range(buckets)
    ]
    tables = [pq.read_table(tmp_path / entry.path) for entry in entries]
    keys = [key for table in tables for key in table.column("k").to_pylist()]
    assert len(keys) == 501
    assert set(keys) == {None, *(key for key, _ in rows)}
    assert all(table.num_rows > 0 for table in tables)
    for table in tables:
        assert table.column("k").to_pylist() == sorted(
            table.column("k").to_pylist(), key=lambda k: (k is None, k)
        )


def test_a_task_that_is_tried_again_writes_another_file(tmp_path: Path) -> None:
    state = write_state(tmp_path, "s.parquet", EVERY_KIND, [ROW])
    task = FoldTask(
        LocalStore(tmp_path), CLAIM, plan_of("keyed", [state], [], EVERY_KIND), 0, 1, MEMORY_BYTES
    )
    first, second = task.run(), task.run()
    assert first.path != second.path
    assert replace(first, path="") == replace(second, path="")


@pytest.mark.parametrize("content", [None, b"", b"no parquet at all", b"PAR1 begins and ends well PAR1"])
def test_a_file_that_is_missing_or_damaged_is_an_error_in_one_line(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "damaged.parquet").write_bytes(content)
    plan = plan_of("keyed", [FileEntry("damaged.parquet", 1, 1)], [], EVERY_KIND)
    failed = run_task(FoldTask(LocalStore(tmp_path), CLAIM, plan, 0, 1, MEMORY_BYTES))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, TransientError)
    assert "damaged.parquet" in str(failed.error)
    assert "\n" not in str(failed.error)
    assert not (tmp_path / "tables").exists() or not list((tmp_path / "tables").rglob("*.parquet"))


def test_a_disk_that_cannot_be_written_is_a_failure_of_the_task_not_of_spark(tmp_path: Path) -> None:
    state = write_state(tmp_path, "s.parquet", EVERY_KIND, [ROW])
    (tmp_path / "tables").write_text("not a directory")
    failed = run_task(
        FoldTask(LocalStore(tmp_path), CLAIM, plan_of("keyed", [state], [], EVERY_KIND), 0, 1, MEMORY_BYTES)
    )
    assert isinstance(failed, Failed)
    assert "could not write" in str(failed.error)


def test_what_does_not_fit_into_memory_lies_with_our_files_and_is_gone_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    data_dir = tmp_path / "data"
    with task_database(LocalStore(data_dir), 32 * 2**20) as database:
        database.execute("CREATE TABLE t AS SELECT i, md5(i::VARCHAR) AS s FROM range(2000000) r(i)")
        spilled = list(spill_folder(data_dir).rglob("*.tmp"))
        assert spilled
        assert database.execute("SELECT count(*) FROM t").fetchone() == (2_000_000,)
    assert not list(spill_folder(data_dir).iterdir())
    assert not list(elsewhere.iterdir())


def auction() -> tuple[dict[str, Any], tuple[Export, ...]]:
    options = dict(small("auction"))
    return options, tuple(exports_of(options))


def test_a_tick_writes_one_change_file_for_each_table_that_changed(tmp_path: Path) -> None:
    options, exports = auction()
    _, parts = read.plan_read(options, OffsetFrontier(0), OffsetFrontier(300), exports, ROWS_MAX)
    relations = {export.table_id: export.stored for export in exports}
    for part in parts:
        for table_id, file in shipped(ReadTask(LocalStore(tmp_path), CLAIM, 17, "u0", part)).run().files:
            assert file.path.startswith(f"tables/{table_id}/log/17-{part.index}-")
            table = pq.read_table(tmp_path / file.path)
            assert (table.num_rows, file.deletes) == (
                file.rows,
                table.column("_op").to_pylist().count(DELETE),
            )
            assert table.schema == change_schema(relations[table_id])
            assert file.rows > 0


def test_a_chunk_of_a_snapshot_is_a_state_file(tmp_path: Path) -> None:
    options, exports = auction()
    for export in exports:
        chunks = read.plan_snapshot(options, export, OffsetFrontier(200), 50)
        entries = shipped(
            GroupTask("u0", tuple(SnapshotTask(LocalStore(tmp_path), CLAIM, 17, c) for c in chunks))
        ).run()
        for chunk, entry in zip(chunks, entries, strict=True):
            assert entry.path.startswith(f"tables/{export.table_id}/state/17-{chunk.index}-")
            assert pq.read_table(tmp_path / entry.path).schema == state_schema(export.stored)


def test_rows_that_were_read_again_later_are_left_out_of_the_chunks_before(tmp_path: Path) -> None:
    relation = Relation((Column("id", INT4, nullable=False), Column("v", TEXT)), ((0,),))
    export = Export("u1", ("r",), relation, ("id", "v"), "keyed")
    stored = export.stored
    before = write_state(tmp_path, "before", stored, [(1, "old", None), (2, "old", None), (3, None, "x")])
    later = [
        write_state(tmp_path, "second", stored, [(2, "new", None)]),
        write_state(tmp_path, "third", stored, [(3, "new", None), (9, "new", None)]),
    ]
    task = shipped(PruneTask(LocalStore(tmp_path), CLAIM, export, 17, 0, before, tuple(later), MEMORY_BYTES))
    entry = task.run()
    left = [{"id": 1, "v": "old", FLAWS: None}]
    assert (entry.rows, pq.read_table(tmp_path / entry.path).to_pylist()) == (1, left)


def test_a_definite_error_of_a_snapshot_is_that_of_its_table_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, exports = auction()
    broken, whole = exports[0], exports[1]

    def failing(chunk: SnapshotChunk) -> Iterator[Any]:
        if chunk.export is not broken:
            yield from read.snapshot(chunk)
            return
        raise DefiniteError("public.orders", "0/7", 'column "amount" became text')

    changed = replace(KIND, reading=lambda secrets, answers: nullcontext(failing))
    monkeypatch.setitem(SOURCE_TYPES, KIND.name, changed)
    tasks = tuple(
        SnapshotTask(LocalStore(tmp_path), CLAIM, 1, chunk)
        for export in (broken, whole)
        for chunk in read.plan_snapshot(options, export, OffsetFrontier(10), 1_000)
    )
    results = pickle.loads(pickle.dumps(run_task(GroupTask("u0", tasks))))
    errors = [result for result in results if isinstance(result, DefiniteError)]
    assert {(error.reference, error.position) for error in errors} == {("public.orders", "0/7")}
    assert {file.path.split("/")[1] for file in results if isinstance(file, FileEntry)} == {whole.table_id}
    assert len(list(tmp_path.rglob("*.parquet"))) == len(results) - len(errors) > 0


def test_an_error_or_a_reset_of_one_table_leaves_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, exports = auction()
    broken, emptied = "u_bids", "u_auctions"

    def reading(part: ReadPart, secrets: Secrets, answers: Answers) -> Iterator[Any]:
        for export, batch in read.read(part):
            yield export, batch
            if export.table_id == broken and part.index == 1:
                yield export, DefiniteError("a.b", "0/7", "became text")
            if export.table_id == emptied and part.index == 1:
                yield export, Reset()
                yield export, batch.slice(0, 1)

    monkeypatch.setitem(SOURCE_TYPES, KIND.name, replace(KIND, read=reading))
    parts = [ReadPart(KIND.name, options, i * 100, i * 100 + 100, exports, i) for i in range(3)]
    written = [shipped(ReadTask(LocalStore(tmp_path), CLAIM, 9, "u0", part)).run() for part in parts]
    files, errors = gather(pickle.loads(pickle.dumps(written)))
    assert {id_: error.message for id_, error in errors.items()} == {broken: "became text"}
    assert broken not in files
    assert [file.resets for file in files[emptied]] == [True, False]
    assert files[emptied][0].rows == 1
    assert {export.table_id for export in exports} - files.keys() == {broken}


def test_what_is_too_much_to_hold_is_written_while_more_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, exports = auction()
    emptied, broken = "u_bids", "u_accounts"
    left: list[int] = []  # files that lay there when the last batch came

    def reading(part: ReadPart, secrets: Secrets, answers: Answers) -> Iterator[Any]:
        rows = list(read.read(part))
        yield from rows
        broken_export = next(export for export in exports if export.table_id == broken)
        yield broken_export, DefiniteError("a.b", "0/7", "became text")
        bids, batch = next((e, found) for e, found in rows if e.table_id == emptied)
        yield bids, Reset()
        yield bids, batch.slice(0, 2)
        yield bids, batch.slice(2, 1)
        left.append(len(list(tmp_path.rglob("*.parquet"))))

    monkeypatch.setitem(SOURCE_TYPES, KIND.name, replace(KIND, read=reading))
    part = ReadPart(KIND.name, options, 0, 100, exports, 0)
    whole = shipped(ReadTask(LocalStore(tmp_path), CLAIM, 9, "u0", part)).run()
    monkeypatch.setattr(limits, "TICK_PART_HELD_BYTES_MAX", 1)
    pieces = shipped(ReadTask(LocalStore(tmp_path), CLAIM, 9, "u0", part)).run()
    assert left[0] == 0 < left[1] - len(whole.files)
    assert (pieces.received, [id_ for id_, _ in pieces.errors]) == (whole.received, [broken])
    files, _ = gather([pieces])
    at_once, _ = gather([whole])
    assert files.keys() == at_once.keys()
    for id_, file in at_once.items():
        found = [pq.read_table(tmp_path / one.path) for one in files[id_]]
        assert pa.concat_tables(found) == pq.read_table(tmp_path / file[0].path)
        assert all(one.rows for one in files[id_])
    assert [(file.rows, file.resets) for file in files[emptied]] == [(2, True), (1, False)]


NICENESS_MAX = 19


class Priority:
    """A task that says how far behind others it stands, and its threads."""

    def run(self) -> list[int]:
        with ThreadPoolExecutor(1) as pool:
            return [_niceness(), pool.submit(_niceness).result()]


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_a_backfill_stands_behind_others_and_leaves_its_process_as_it_was() -> None:
    before = _niceness()
    assert run_aside(Priority()) == [min(before + BACKFILL_NICENESS, NICENESS_MAX)] * 2
    assert run_task(Priority()) == [before] * 2


@pytest.mark.parametrize("buckets", [1, 3])
@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_row_that_would_count_less_than_zero_is_not_folded_away(
    tmp_path: Path, kept: int, buckets: int
) -> None:
    taken = [(DELETE, 1, i, ROW) for i in range(2)]
    state = [write_state(tmp_path, "s.parquet", EVERY_KIND, [NULLS, *[ROW] * kept])]
    tail = write_changes(tmp_path, "t.parquet", EVERY_KIND, [(INSERT, 1, 9, NULLS), *taken])
    for there in (state, []):
        plan = plan_of("counted", there, [tail], EVERY_KIND)
        tried = [
            run_task(FoldTask(LocalStore(tmp_path), CLAIM, plan, i, buckets, MEMORY_BYTES))
            for i in range(buckets)
        ]
        failed = [outcome.error for outcome in tried if isinstance(outcome, Failed)]
        if there and kept == 2:
            assert not failed
            assert sum(entry.rows for entry in tried) == 2
        else:
            assert failed
            assert all(isinstance(error, InvariantViolation) for error in failed)
            assert "table u1" in str(failed[0])


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        (
            f"SELECT CASE WHEN range = 3000000 THEN error('{BELOW_ZERO}')::BIGINT ELSE range END AS n"
            " FROM range(4000000)",
            InvariantViolation,
            BELOW_ZERO,
        ),
        (
            "SELECT 10 // (range - 3000000) AS n FROM range(4000000)",
            TransientError,
            "could not fold table u1",
        ),
    ],
)
def test_an_error_of_a_query_is_not_taken_for_one_of_the_disk(
    tmp_path: Path, query: str, error: type[Exception], text: str
) -> None:
    """It comes when some rows have been written already."""
    with pytest.raises(error, match=text):
        write_query(LocalStore(tmp_path), query, (), "n.parquet", "u1", pa.schema([("n", pa.int64())]), 2**30)
    assert not (tmp_path / "n.parquet").exists()
