"""The catalog in SQLite: files that are damaged, or somebody else's.

Method: files are damaged on purpose and the message is read as a user would.  What any store promises is in
test_store.py.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headwater.catalog.sqlite_store import SqliteCatalog
from headwater.catalog.updates import CreateItem
from headwater.core.errors import UserError
from tests.unit.catalog.populated import table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "metadata.sqlite"


def test_a_file_that_is_no_database_is_named_with_what_to_do(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not at all a database" * 100)
    with pytest.raises(UserError, match="is damaged: file is not a database") as caught:
        SqliteCatalog(path)
    assert str(path) in caught.value.message
    assert caught.value.hint is not None
    assert "backup" in caught.value.hint


def test_a_database_with_damaged_pages_is_noticed(path: Path) -> None:
    store = SqliteCatalog(path)
    store.transact([], [CreateItem(table(f"u{n}", f"t{n}")) for n in range(1, 300)])
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096 - 1, 2):
        data[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(data)
    with pytest.raises(UserError, match="is damaged") as caught:
        SqliteCatalog(path)
    assert str(path) in caught.value.message


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UserError, match="not one of this product"):
        SqliteCatalog(path)
    assert path.read_bytes() == before


def test_a_directory_that_cannot_be_written_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "metadata.sqlite").mkdir()
    with pytest.raises(UserError, match="could not be used"):
        SqliteCatalog(tmp_path / "metadata.sqlite")
