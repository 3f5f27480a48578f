"""Files of results: rows come back as they were, nothing stays behind, errors say what to do."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.core.errors import UserError
from headwater.persist.layout import result_folder
from headwater.persist.local import LocalStore
from headwater.persist.results import read_result, remove_result, write_result

BATCHES = [pa.record_batch({"n": [1, 2]}), pa.record_batch({"n": [None, 4]})]


ROWS = 4


def written(data_dir: Path, peek_id: str, attempt: int) -> str:
    folder = result_folder(peek_id, attempt)
    path, rows = write_result(LocalStore(data_dir), folder, iter(BATCHES), BATCHES[0].schema)
    assert rows == ROWS
    return path


def test_rows_come_back_batch_by_batch(tmp_path: Path) -> None:
    assert list(read_result(LocalStore(tmp_path), written(tmp_path, "p1", 1), ROWS)) == BATCHES


def test_an_attempt_is_removed_alone_and_a_result_with_all_of_them(tmp_path: Path) -> None:
    first, second, other = (written(tmp_path, *at) for at in (("p1", 1), ("p1", 2), ("p11", 1)))
    remove_result(LocalStore(tmp_path), "p1", 1)
    assert [(tmp_path / path).exists() for path in (first, second, other)] == [False, True, True]
    remove_result(LocalStore(tmp_path), "p1")
    assert [(tmp_path / path).exists() for path in (second, other)] == [False, True]
    remove_result(LocalStore(tmp_path), "p1")  # nothing is there, and nothing happens


def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("not a folder")
    with pytest.raises(UserError, match=r'could not write ".*scratch/results/p1.1/.*"') as raised:
        written(tmp_path, "p1", 1)
    assert raised.value.sqlstate == "53100"
    assert "Free space" in str(raised.value.hint)


def test_a_file_that_was_cut_is_an_error_wherever_it_was_cut(tmp_path: Path) -> None:
    path = written(tmp_path, "p1", 1)
    content = (tmp_path / path).read_bytes()
    end_mark_bytes = 8  # without it no row is missing
    for size in range(len(content) - end_mark_bytes):
        (tmp_path / path).write_bytes(content[:size])
        with pytest.raises(UserError, match="where the result was kept"):
            list(read_result(LocalStore(tmp_path), path, ROWS))


@pytest.mark.parametrize("content", [None, b"", b"something else"])
def test_a_file_that_is_gone_or_damaged_is_an_error_and_no_gap(tmp_path: Path, content: bytes | None) -> None:
    path = written(tmp_path, "p1", 1)
    (tmp_path / path).unlink()
    if content is not None:
        (tmp_path / path).write_bytes(content)
    with pytest.raises(UserError, match=r"could not read .*, where the result was kept") as raised:
        list(read_result(LocalStore(tmp_path), path, ROWS))
    assert raised.value.hint == "Run it again."
