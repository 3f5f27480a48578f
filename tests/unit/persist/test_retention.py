"""Retention: a file goes when nobody can need it, and only then.

Method: lay out a table's folder with files of chosen makers, some of them named by a ledger, forget or
sweep, and list what is left.  A crash is a failpoint between the ledger's commit and the removal of files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.core.change import FileEntry
from headwater.core.errors import TransientError
from headwater.core.points import Read
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.observe.failpoints import armed
from headwater.persist.answers import StoredAnswers
from headwater.persist.layout import UNFINISHED, change_file, claimed_by, state_file
from headwater.persist.ledger import Ledger, LedgerConflict
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.persist.retention import (
    drop_collection,
    empty_scratch,
    given_up,
    remove_forgotten,
    sweep,
)
from headwater.persist.state import commit_state

RELATION = Relation((Column("k", INT4),))


def put(data_dir: Path, path: str) -> FileEntry:
    target = data_dir / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"rows")
    os.utime(target, (0, 0))  # as old as it can be, which must not matter
    return FileEntry(path, 1, 4)


def forget(ledger: Ledger, data_dir: Path, collection_id: str, since: int) -> int:
    paths = ledger.forget(collection_id, since)
    remove_forgotten(LocalStore(data_dir), paths)
    return len(paths)


def swept(ledger: Ledger, data_dir: Path, *claims: int) -> list[str]:
    """What a sweep takes while these claims are held."""
    return sorted(sweep(ledger, LocalStore(data_dir), lambda: set(claims)))


def present(data_dir: Path) -> set[str]:
    return {
        path.relative_to(data_dir / "tables").as_posix()
        for path in (data_dir / "tables").rglob("*")
        if path.is_file()
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """One table with two states: as of 2 (over a change at 1 and 2) and as of 4."""
    made = open_ledger(tmp_path, "cluster-x")
    writer = made.open_writer("u9")
    made.join([("u1", "counted", RELATION, "b", Read(0))], "u9", 0, hydrated=True)
    for ts in range(1, 6):
        writer = made.append("u9", writer, ts, ts, {"u1": [put(tmp_path, f"tables/u1/log/{ts}.parquet")]})
    made.put_state("u1", 2, 0, [put(tmp_path, "tables/u1/state/2.parquet")])
    made.put_state("u1", 4, 1, [put(tmp_path, "tables/u1/state/4.parquet")])
    yield made
    made.close()


EVERYTHING = {*(f"u1/log/{ts}.parquet" for ts in range(1, 6)), "u1/state/2.parquet", "u1/state/4.parquet"}
FROM_2_ON = EVERYTHING - {"u1/log/1.parquet", "u1/log/2.parquet"}
FROM_4_ON = {"u1/log/5.parquet", "u1/state/4.parquet"}


@pytest.mark.parametrize(
    ("since", "left"), [(0, EVERYTHING), (1, EVERYTHING), (2, FROM_2_ON), (3, FROM_2_ON), (4, FROM_4_ON)]
)
def test_forgetting_keeps_the_newest_state_at_or_before_since_and_all_after_it(
    tmp_path: Path, ledger: Ledger, since: int, left: set[str]
) -> None:
    assert forget(ledger, tmp_path, "u1", since) == len(EVERYTHING - left)
    assert present(tmp_path) == left
    assert forget(ledger, tmp_path, "u1", since) == 0


def test_a_change_file_that_is_part_of_a_state_stays(tmp_path: Path, ledger: Ledger) -> None:
    ledger.put_state("u1", 5, 2, [FileEntry("tables/u1/log/3.parquet", 1, 4)])
    forget(ledger, tmp_path, "u1", 5)
    assert present(tmp_path) == {"u1/log/3.parquet"}


def test_a_crash_before_files_are_removed_leaves_them_to_the_sweeper(tmp_path: Path, ledger: Ledger) -> None:
    with armed("retention.before_unlink", "error"), pytest.raises(TransientError):
        forget(ledger, tmp_path, "u1", 4)
    assert present(tmp_path) == EVERYTHING
    removed = swept(ledger, tmp_path)
    assert {path.removeprefix("tables/") for path in removed} == EVERYTHING - FROM_4_ON
    assert present(tmp_path) == FROM_4_ON


def test_what_a_killed_environment_had_put_aside_is_removed_and_a_cluster_keeps_its_own(
    tmp_path: Path,
) -> None:
    empty_scratch(tmp_path, LocalStore(tmp_path), "quickstart")  # nothing is there yet
    for name in ("duckdb_temp_0.tmp", "results/p1.1/a.arrow", "cluster-quickstart/spark/a"):
        put(tmp_path, f"scratch/{name}")
    with LocalStore(tmp_path).spill() as spilled:
        (Path(spilled) / "b").touch()
        empty_scratch(tmp_path, LocalStore(tmp_path), "quickstart")
        left = {path for path in (tmp_path / "scratch").rglob("*") if path.is_file()}
        assert left == {tmp_path / "scratch" / "cluster-quickstart" / "spark" / "a", Path(spilled) / "b"}


def test_the_sweeper_takes_data_files_that_nobody_names_and_nothing_else(
    tmp_path: Path, ledger: Ledger
) -> None:
    kept = {
        put(tmp_path, "tables/u1/elsewhere.parquet"),
        put(tmp_path, "tables/u1/state/notes.txt"),
        put(tmp_path, "tables/u1/log/notes.txt"),
    }
    put(tmp_path, "tables/u1/log/old.parquet")
    put(tmp_path, "tables/u1/state/old.parquet")
    assert swept(ledger, tmp_path) == ["tables/u1/log/old.parquet", "tables/u1/state/old.parquet"]
    assert present(tmp_path) == EVERYTHING | {file.path.removeprefix("tables/") for file in kept}
    assert swept(ledger, tmp_path) == []


@pytest.mark.parametrize("make", [change_file, state_file])
@pytest.mark.parametrize("part", [0, 17, -3])
def test_a_files_name_tells_who_makes_it(make: Any, part: int) -> None:
    name = make("u1", 1_700_000_000_000, part, "12-345").rpartition("/")[2]
    assert claimed_by(name) == (12, 345)
    assert claimed_by(f"{name}.0af39c21{UNFINISHED}") == (12, 345)


@pytest.mark.parametrize("name", ["17-0-0af39c21.parquet", "17--1-12345678.parquet", "1.parquet", "x"])
def test_a_name_of_before_tells_nothing(name: str) -> None:
    assert claimed_by(name) is None
    assert given_up(name, {1, 2}, 1, {0, 1})


@pytest.mark.parametrize(
    ("maker", "rubbish"),
    [
        ((5, 1), False),  # ours, being made
        ((5, 2), True),  # ours, done or given up
        ((6, 1), False),  # of another process that runs: that is its own to judge
        ((6, 2), False),
        ((4, 1), True),  # of a process that was replaced, whatever its number says here
        ((7, 1), True),
    ],
)
def test_a_file_is_given_up_when_its_maker_is_gone_or_says_so(maker: tuple[int, int], rubbish: bool) -> None:
    name = state_file("u1", 9, 0, f"{maker[0]}-{maker[1]}").rpartition("/")[2]
    assert given_up(name, current={5, 6}, own=5, under_way={1}) is rubbish


def test_files_in_the_making_stay_until_their_maker_is_replaced(tmp_path: Path, ledger: Ledger) -> None:
    environment = open_ledger(tmp_path, "environment")
    assert environment.incarnation != ledger.incarnation
    paths = {
        "widened": state_file("u1", 9, 0, f"{ledger.incarnation}-3"),
        "inserted": change_file("u1", 9, 0, f"{environment.incarnation}-0"),
        "lost": state_file("u1", 9, 0, f"{ledger.incarnation}-2"),
    }
    for path in paths.values():
        put(tmp_path, path)
    unfinished = {name: f"{path}.0af39c21{UNFINISHED}" for name, path in paths.items()}
    for path in unfinished.values():
        put(tmp_path, path)
    assert swept(ledger, tmp_path, 3) == [paths["lost"], unfinished["lost"]]
    assert swept(ledger, tmp_path, 3) == []
    # The environment was killed and another one has begun; then the cluster, with a task that goes on.
    again = open_ledger(tmp_path, "environment")
    assert swept(ledger, tmp_path, 3) == [paths["inserted"], unfinished["inserted"]]
    successor = open_ledger(tmp_path, "cluster-x")
    assert swept(successor, tmp_path, 3) == [paths["widened"], unfinished["widened"]]
    put(tmp_path, paths["widened"])
    assert swept(successor, tmp_path, 3) == [paths["widened"]]
    # Whoever was replaced names nothing any more, and takes nothing away.
    with pytest.raises(LedgerConflict, match="another process has begun as cluster-x"):
        ledger.put_state("u1", 9, 2, [FileEntry(paths["widened"], 1, 4)])
    put(tmp_path, paths["lost"])
    with pytest.raises(LedgerConflict):
        swept(ledger, tmp_path)
    assert len({made.incarnation for made in (ledger, environment, again, successor)}) == 4
    for made in (environment, again, successor):
        made.close()


def test_what_delta_names_stays_although_the_ledger_does_not_know_it(tmp_path: Path, ledger: Ledger) -> None:
    file = put(tmp_path, state_file("u1", 5, 0, "900-1"))
    commit_state(LocalStore(tmp_path), "u1", RELATION, [file], 5, 0)  # and then the process dies
    assert swept(ledger, tmp_path) == []
    commit_state(LocalStore(tmp_path), "u1", RELATION, [put(tmp_path, "tables/u1/state/4.parquet")], 6, 0)
    assert swept(ledger, tmp_path) == [file.path]


def test_where_the_delta_log_cannot_be_read_nothing_is_taken(tmp_path: Path, ledger: Ledger) -> None:
    put(tmp_path, "tables/u1/_delta_log/00000000000000000000.json")
    put(tmp_path, "tables/u1/state/old.parquet")
    assert swept(ledger, tmp_path) == []


def test_chunks_of_a_backfill_are_not_swept(tmp_path: Path, ledger: Ledger) -> None:
    ledger.join([("u2", "keyed", RELATION, "b", Read(5))], "u9", 5, hydrated=False)
    ledger.add_chunks([("u2", Read(5), 0, put(tmp_path, "tables/u2/state/named.parquet"))])
    put(tmp_path, "tables/u2/state/of a task that was tried again.parquet")
    swept(ledger, tmp_path)
    assert present(tmp_path) - EVERYTHING == {"u2/state/named.parquet"}


def test_a_dropped_table_leaves_nothing(tmp_path: Path, ledger: Ledger) -> None:
    put(tmp_path, "tables/u1/_delta_log/0.json")
    put(tmp_path, "tables/u2/log/other.parquet")
    drop_collection(ledger, LocalStore(tmp_path), "u1")
    assert present(tmp_path) == {"u2/log/other.parquet"}
    assert not (tmp_path / "tables/u1").exists()
    drop_collection(ledger, LocalStore(tmp_path), "u1")


def test_a_drop_that_crashed_is_finished_by_the_next_sweep(tmp_path: Path, ledger: Ledger) -> None:
    put(tmp_path, "tables/u1/_delta_log/0.json")
    with armed("retention.before_unlink", "error"), pytest.raises(TransientError):
        drop_collection(ledger, LocalStore(tmp_path), "u1")
    assert "u1/_delta_log/0.json" in present(tmp_path)
    removed = swept(ledger, tmp_path)
    assert {path.removeprefix("tables/") for path in removed} == EVERYTHING
    assert list((tmp_path / "tables").iterdir()) == []


@pytest.mark.parametrize("left", ["log", "state", "_delta_log", "log/half written.parquet.tmp"])
def test_a_folder_of_no_table_goes_even_if_it_is_empty(tmp_path: Path, ledger: Ledger, left: str) -> None:
    (tmp_path / "tables/u7" / left).mkdir(parents=True)
    swept(ledger, tmp_path)
    assert [folder.name for folder in (tmp_path / "tables").iterdir()] == ["u1"]


def test_a_table_that_has_joined_but_has_no_rows_yet_keeps_its_folder(tmp_path: Path, ledger: Ledger) -> None:
    ledger.join([("u2", "keyed", RELATION, "b", Read(5))], "u9", 5, hydrated=False)
    put(tmp_path, "tables/u2/_delta_log/0.json")
    swept(ledger, tmp_path)
    assert "u2/_delta_log/0.json" in present(tmp_path)


def test_a_data_directory_without_tables_is_swept_too(tmp_path: Path) -> None:
    made = open_ledger(tmp_path, "cluster-x")
    assert swept(made, tmp_path) == []
    made.close()


def test_removing_what_is_gone_already_is_fine(tmp_path: Path) -> None:
    put(tmp_path, "tables/u1/log/1.parquet")
    LocalStore(tmp_path).remove(
        "tables/u1/log/1.parquet", "tables/u1/log/1.parquet", "tables/u7/log/2.parquet"
    )
    assert present(tmp_path) == set()


def test_what_an_upstream_has_said_goes_with_its_source(tmp_path: Path, ledger: Ledger) -> None:
    store = LocalStore(tmp_path)
    kept, stray = StoredAnswers(store, "u9"), StoredAnswers(store, "u8")
    for answers in (kept, stray):
        answers.keep("what is 1?", b"a schema")
    assert StoredAnswers(store, "u9").recall("what is 1?") == b"a schema"
    assert kept.recall("what is 2?") is None
    swept(ledger, tmp_path)
    assert (kept.recall("what is 1?"), stray.recall("what is 1?")) == (b"a schema", None)
    drop_collection(ledger, store, "u9")
    assert kept.recall("what is 1?") is None
