"""What becomes of a partition's rows: a message if they are few, a file if they are many, never both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.cluster.results import Keep
from headwater.core.limits import RESULT_INLINE_BYTES_MAX
from headwater.core.relation import Column, Relation
from headwater.core.types import INT8, TEXT
from headwater.formats.arrow import state_schema
from headwater.persist.local import LocalStore
from headwater.persist.results import read_result

RELATION = Relation((Column("n", INT8), Column("s", TEXT)))
SCHEMA = state_schema(RELATION)


def kept(data_dir: Path, batches: list[pa.RecordBatch], relation: Relation = RELATION) -> dict[str, Any]:
    pieces = list(Keep(LocalStore(data_dir), "results/p1.1", relation.to_json())(iter(batches)))
    assert [piece.num_rows for piece in pieces] == [1]
    found: dict[str, Any] = pieces[0].to_pylist()[0]
    return found


def rows_of(data_dir: Path, piece: dict[str, Any]) -> list[dict[str, Any]]:
    stream, path = piece["stream"], piece["path"]
    assert (stream is None) != (path is None)
    batches = list(
        pa.ipc.open_stream(stream) if path is None else read_result(LocalStore(data_dir), path, piece["rows"])
    )
    found: list[dict[str, Any]] = pa.Table.from_batches(batches, SCHEMA).to_pylist()
    return found


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(0, 2_000), max_size=6), width=st.sampled_from([1, 100, 400]))
def test_rows_are_the_same_whichever_way_they_take(
    tmp_path_factory: Any, sizes: list[int], width: int
) -> None:
    data_dir = tmp_path_factory.mktemp("results")
    batches = [
        pa.RecordBatch.from_arrays(
            [pa.array(range(size), pa.int64()), pa.array(["x" * width] * size, pa.string())], schema=SCHEMA
        )
        for size in sizes
    ]
    piece = kept(data_dir, batches)
    assert rows_of(data_dir, piece) == [row for batch in batches for row in batch.to_pylist()]
    large = sum(batch.nbytes for batch in batches) > RESULT_INLINE_BYTES_MAX
    assert (piece["path"] is not None) == large


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    piece = kept(tmp_path, [pa.record_batch({"o0": [1, 1, 1]})], Relation(()))
    assert sum(batch.num_rows for batch in pa.ipc.open_stream(piece["stream"])) == 3


def test_a_full_disk_comes_back_as_a_value(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("not a folder")
    text = pa.array(["x" * RESULT_INLINE_BYTES_MAX, "y"], pa.string())
    piece = kept(tmp_path, [pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int64()), text], schema=SCHEMA)])
    assert piece["stream"] is piece["path"] is None
    assert "could not write" in piece["failure"]
    assert "Free space" in piece["hint"]
