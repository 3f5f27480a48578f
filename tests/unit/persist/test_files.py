"""Files: written whole and described rightly, or not there at all.

Method: write batches and compare the description with the file.  Failures are real ones: a parent that is
a file, a device that is always full (/dev/full, reached through a link where the file is to be),
a limit on file sizes in a child process, and batches whose source fails half-way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.limits import ROW_GROUP_BYTES_MAX
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT4, FLOAT8, INT4, INT8, INTERVAL, TEXT, array_of, map_of, numeric
from headwater.formats.arrow import change_schema, state_schema
from headwater.persist.files import Weight, weigh, write_file
from headwater.persist.local import LocalStore
from tests.support.stored import stored_column

RELATION = Relation((Column("a", INT8), Column("b", TEXT)))
STATE = state_schema(RELATION)
CHANGES = change_schema(RELATION)


def rows(count: int, text: str = "x") -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"a": list(range(count)), "b": [text] * count}, schema=STATE)


def test_a_file_is_described_as_it_is(tmp_path: Path) -> None:
    entry = write_file(
        LocalStore(tmp_path), "tables/u1/state/1.parquet", iter([rows(3), rows(0), rows(4)]), STATE
    )
    target = tmp_path / "tables/u1/state/1.parquet"
    assert entry == FileEntry("tables/u1/state/1.parquet", 7, target.stat().st_size)
    assert pq.read_table(target).schema == STATE
    assert pq.read_table(target).column("a").to_pylist() == [0, 1, 2, 0, 1, 2, 3]


def test_rows_are_in_groups_by_bytes_and_the_file_says_what_they_weigh(tmp_path: Path) -> None:
    wide, narrow = rows(20, "x" * 5_000_000), rows(100_000)
    entry = write_file(LocalStore(tmp_path), "wide.parquet", iter([narrow, wide]), STATE)
    metadata = pq.read_metadata(tmp_path / "wide.parquet")
    counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert counts == [100_000, 5, 5, 5, 5]
    weight = weigh(LocalStore(tmp_path), [entry, entry])
    assert weight.bytes == 2 * (wide.nbytes + narrow.nbytes)
    assert weight.rows(ROW_GROUP_BYTES_MAX) == 6
    assert weigh(LocalStore(tmp_path), [FileEntry("missing.parquet", 1, 1)]) == Weight()


def test_a_file_without_batches_is_an_empty_table(tmp_path: Path) -> None:
    entry = write_file(LocalStore(tmp_path), "empty.parquet", iter(()), STATE)
    assert (entry.rows, entry.deletes) == (0, 0)
    assert pq.read_table(tmp_path / "empty.parquet").schema == STATE


def test_deletes_are_counted_over_all_batches(tmp_path: Path) -> None:
    def changes(operations: str) -> pa.RecordBatch:
        count = len(operations)
        columns = [
            pa.nulls(count, pa.int64()),
            pa.nulls(count, pa.string()),
            pa.array(list(operations)),
            pa.array(range(count), pa.int64()),
            pa.array(range(count), pa.int64()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=CHANGES)

    entry = write_file(
        LocalStore(tmp_path), "log.parquet", iter([changes("+-+"), changes("--"), changes("++")]), CHANGES
    )
    assert (entry.rows, entry.deletes) == (7, 3)


def test_a_parent_that_is_a_file_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("not a directory")
    with pytest.raises(TransientError, match=r'could not write ".*tables/u1/1\.parquet": \w') as caught:
        write_file(LocalStore(tmp_path), "tables/u1/1.parquet", iter([rows(1)]), STATE)
    assert caught.value.hint is not None
    assert (tmp_path / "tables").read_text() == "not a directory"


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, *arguments: int) -> int:
        return opened("/dev/full", os.O_WRONLY) if "full.parquet" in path else opened(path, *arguments)

    opened = os.open
    monkeypatch.setattr(os, "open", full)
    with pytest.raises(TransientError, match=r'could not write ".*full\.parquet": No space left on device'):
        write_file(LocalStore(tmp_path), "full.parquet", iter([rows(50_000)]), STATE)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_half_way_leaves_no_file(tmp_path: Path) -> None:
    code = f"""
import resource
from pathlib import Path
from headwater.core.errors import TransientError
from tests.unit.persist.test_files import STATE, LocalStore, rows, write_file
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
batches = (rows(5_000, str(i) * 9) for i in range(20))
try:
    write_file(LocalStore(Path({str(tmp_path)!r})), "big.parquet", batches, STATE)
except TransientError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ | {}
    )
    assert "big.parquet" in done.stdout, done.stderr
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_fails_half_way_leaves_no_file_and_keeps_its_error(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(3)
        raise DefiniteError("public.orders", "0/1", "cannot be read")

    with pytest.raises(DefiniteError, match="cannot be read"):
        write_file(LocalStore(tmp_path), "half.parquet", failing(), STATE)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_of_another_shape_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        write_file(LocalStore(tmp_path), "odd.parquet", iter([pa.RecordBatch.from_pydict({"z": [1]})]), STATE)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_told_of_floats_that_a_reader_would_skip_rows_by(tmp_path: Path) -> None:
    """The extremes of Parquet leave NaN out, and of -0 and 0 a dictionary has only one."""
    floats = (FLOAT8, FLOAT4, array_of(FLOAT8), map_of(FLOAT4))
    types = (*floats, INT8, TEXT, numeric(2), INTERVAL, array_of(INT4), array_of(TEXT))
    columns = [Column(f"c{i}", type_) for i, type_ in enumerate(types)]
    columns.append(Column("c7.days", FLOAT8))  # the path of a part of the interval, too
    schema = state_schema(Relation(tuple(columns)))
    interval = {"months": 1, "days": 2, "microseconds": 3}
    row = (1.0, 1.0, [1.0], [("k", 1.0)], 1, "x", 1, interval, [1, None], ["x"], 1.0)
    arrays = [stored_column([value], column.type) for value, column in zip(row, columns, strict=True)]
    write_file(
        LocalStore(tmp_path), "f.parquet", iter([pa.RecordBatch.from_arrays(arrays, schema=schema)]), schema
    )
    group = pq.read_metadata(tmp_path / "f.parquet").row_group(0)
    found = [group.column(i) for i in range(group.num_columns)]
    for column in found:
        floating = column.physical_type in ("FLOAT", "DOUBLE") or column.path_in_schema == "c7.days"
        assert column.is_stats_set is not floating, column.path_in_schema
        # Spark looks for a NULL of an array in the dictionary of its numbers, which may be empty.
        plain = floating or column.path_in_schema.endswith(("c8.elements.list.element", "shape.list.element"))
        assert any("DICTIONARY" in name for name in column.encodings) is not plain, column.path_in_schema
    assert len(found) == 17
