"""The ledger in SQLite: a file that is damaged or full, and commits of others between two questions.

Method: harm is done on purpose, and the message is read.  What any ledger promises is in test_ledger.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.change import FileEntry
from headwater.core.errors import TransientError
from headwater.core.points import Read
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.persist.sqlite_ledger import SqliteLedger

RELATION = Relation((Column("k", INT4, False), Column("v", TEXT)), ((0,),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metadata.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    made = SqliteLedger(path)
    yield made
    made.close()


def test_a_plan_is_of_one_moment_although_another_process_folds_and_forgets_meanwhile(
    path: Path, ledger: SqliteLedger
) -> None:
    cluster = SqliteLedger(path)
    state = ledger.open_writer("u1")
    ledger.join([("t1", "keyed", RELATION, "b", Read(0))], "u1", 0, hydrated=True)
    cluster.put_state("t1", 1, 1, [FileEntry("old state", 1, 1)])
    ledger.append("u1", state, 2, 2, {"t1": [FileEntry("change", 1, 1)]})

    class Interrupted(SqliteLedger):
        """Between a plan's first question and its second, the cluster gets its turn."""

        def _state_files(self, collection_id: str, as_of: int) -> list[FileEntry]:
            cluster.put_state("t1", 2, 2, [FileEntry("new state", 1, 1)])
            cluster.forget("t1", 2)
            return super()._state_files(collection_id, as_of)

    environment = Interrupted(path)
    plan = environment.read_plan("t1", 2)
    assert ([f.path for f in plan.state], [f.path for f in plan.tail]) == (["old state"], ["change"])
    assert [f.path for f in ledger.read_plan("t1", 2).state] == ["new state"]
    environment.close()
    cluster.close()


def test_a_file_that_is_no_database_is_an_error_that_says_so(path: Path) -> None:
    path.write_bytes(b"x" * 5000)
    with pytest.raises(TransientError, match=r'could not open the metadata database ".*metadata\.sqlite"'):
        SqliteLedger(path)


def test_a_full_disk_is_an_error_that_says_so_and_changes_nothing(ledger: SqliteLedger) -> None:
    state = ledger.open_writer("u1")
    ledger.join([("t1", "keyed", RELATION, "b", Read(0))], "u1", 0, hydrated=True)
    pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
    ledger._db.execute(f"PRAGMA max_page_count = {pages}")
    many = [FileEntry(f"{'x' * 200}-{i}", 1, 1) for i in range(500)]
    with pytest.raises(TransientError, match=r"could not write the metadata database.*full"):
        ledger.append("u1", state, 1, 1, {"t1": many})
    ledger._db.execute("PRAGMA max_page_count = 100000")
    assert ledger.append("u1", state, 1, 1, {"t1": many}).ts == 1
    assert len(ledger.read_plan("t1", 1).tail) == 500
