"""Retention: a file goes when nobody can need it, and only then.

Method: lay out a table's folder with files of chosen ages, some of them named by a ledger, forget or
sweep, and list what is left.  A crash is a failpoint between the ledger's commit and the removal of files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.change import FileEntry
from headwater.core.errors import TransientError
from headwater.core.limits import ORPHAN_FILE_AGE_S_MIN
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.observe.failpoints import armed
from headwater.persist.ledger import Ledger
from headwater.persist.retention import drop_collection, empty_scratch, forget, remove_files, sweep

RELATION = Relation((Column("k", INT4),))
NOW_S = 2_000_000_000
OLD_S = NOW_S - ORPHAN_FILE_AGE_S_MIN
YOUNG_S = OLD_S + 1


def put(data_dir: Path, path: str, modified_s: int = OLD_S) -> FileEntry:
    target = data_dir / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"rows")
    os.utime(target, (modified_s, modified_s))
    return FileEntry(path, 1, 4)


def present(data_dir: Path) -> set[str]:
    return {
        path.relative_to(data_dir / "tables").as_posix()
        for path in (data_dir / "tables").rglob("*")
        if path.is_file()
    }


def age(data_dir: Path, modified_s: int) -> None:
    """Make every folder look as if nothing had happened in it since then."""
    for path in [data_dir / "tables", *(data_dir / "tables").rglob("*")]:
        os.utime(path, (modified_s, modified_s))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """One table with two states: as of 2 (over a change at 1 and 2) and as of 4."""
    made = Ledger(tmp_path / "metadata.sqlite")
    writer = made.open_writer("u9")
    made.join([("u1", "counted", RELATION, "b", 0)], "u9", 0, hydrated=True)
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
    removed = sweep(ledger, tmp_path, NOW_S * 1000)
    assert {path.removeprefix("tables/") for path in removed} == EVERYTHING - FROM_4_ON
    assert present(tmp_path) == FROM_4_ON


def test_what_a_killed_environment_had_put_aside_is_removed_and_a_cluster_keeps_its_own(
    tmp_path: Path,
) -> None:
    empty_scratch(tmp_path, "quickstart")  # nothing is there yet
    for name in ("duckdb_temp_0.tmp", "results/p1.1/a.arrow", "cluster-quickstart/spark/a"):
        put(tmp_path, f"scratch/{name}")
    empty_scratch(tmp_path, "quickstart")
    left = [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]
    assert left == [tmp_path / "scratch" / "cluster-quickstart" / "spark" / "a"]


def test_the_sweeper_takes_only_old_files_that_nobody_names(tmp_path: Path, ledger: Ledger) -> None:
    kept = {
        put(tmp_path, "tables/u1/log/young.parquet", YOUNG_S),
        put(tmp_path, "tables/u1/state/young.parquet", YOUNG_S),
        put(tmp_path, "tables/u1/_delta_log/00000000000000000050.checkpoint.parquet"),
        put(tmp_path, "tables/u1/_delta_log/00000000000000000000.json"),
        put(tmp_path, "tables/u1/state/notes.txt"),
        put(tmp_path, "tables/u1/elsewhere.parquet"),
    }
    put(tmp_path, "tables/u1/log/old.parquet")
    put(tmp_path, "tables/u1/state/old.parquet")
    removed = sweep(ledger, tmp_path, NOW_S * 1000)
    assert sorted(removed) == ["tables/u1/log/old.parquet", "tables/u1/state/old.parquet"]
    assert present(tmp_path) == EVERYTHING | {file.path.removeprefix("tables/") for file in kept}
    assert sweep(ledger, tmp_path, NOW_S * 1000) == []


def test_chunks_of_a_backfill_are_not_swept(tmp_path: Path, ledger: Ledger) -> None:
    ledger.join([("u2", "keyed", RELATION, "b", 5)], "u9", 5, hydrated=False)
    ledger.add_chunks([("u2", 0, put(tmp_path, "tables/u2/state/named.parquet"))])
    put(tmp_path, "tables/u2/state/of a task that was tried again.parquet")
    sweep(ledger, tmp_path, NOW_S * 1000)
    assert present(tmp_path) - EVERYTHING == {"u2/state/named.parquet"}


def test_a_dropped_table_leaves_nothing(tmp_path: Path, ledger: Ledger) -> None:
    put(tmp_path, "tables/u1/_delta_log/0.json")
    put(tmp_path, "tables/u2/log/other.parquet", YOUNG_S)
    drop_collection(ledger, tmp_path, "u1")
    assert present(tmp_path) == {"u2/log/other.parquet"}
    assert not (tmp_path / "tables/u1").exists()
    drop_collection(ledger, tmp_path, "u1")


def test_a_drop_that_crashed_is_finished_by_the_next_sweep(tmp_path: Path, ledger: Ledger) -> None:
    put(tmp_path, "tables/u1/_delta_log/0.json", NOW_S)
    with armed("retention.before_unlink", "error"), pytest.raises(TransientError):
        drop_collection(ledger, tmp_path, "u1")
    assert "u1/_delta_log/0.json" in present(tmp_path)
    age(tmp_path, NOW_S)
    removed = sweep(ledger, tmp_path, NOW_S * 1000)
    assert {path.removeprefix("tables/") for path in removed} == EVERYTHING
    assert list((tmp_path / "tables").iterdir()) == []


@pytest.mark.parametrize("left", ["log", "state", "_delta_log", "log/half written.parquet.tmp"])
def test_a_folder_of_no_table_goes_even_if_it_is_empty_and_young(
    tmp_path: Path, ledger: Ledger, left: str
) -> None:
    (tmp_path / "tables/u7" / left).mkdir(parents=True)
    sweep(ledger, tmp_path, NOW_S * 1000)
    assert [folder.name for folder in (tmp_path / "tables").iterdir()] == ["u1"]


def test_a_table_that_has_joined_but_has_no_rows_yet_keeps_its_folder(tmp_path: Path, ledger: Ledger) -> None:
    ledger.join([("u2", "keyed", RELATION, "b", 5)], "u9", 5, hydrated=False)
    put(tmp_path, "tables/u2/_delta_log/0.json")
    age(tmp_path, OLD_S)
    sweep(ledger, tmp_path, NOW_S * 1000)
    assert "u2/_delta_log/0.json" in present(tmp_path)


def test_a_data_directory_without_tables_is_swept_too(tmp_path: Path) -> None:
    made = Ledger(tmp_path / "metadata.sqlite")
    assert sweep(made, tmp_path, NOW_S * 1000) == []
    made.close()


def test_removing_what_is_gone_already_is_fine(tmp_path: Path) -> None:
    put(tmp_path, "tables/u1/log/1.parquet")
    remove_files(tmp_path, ["tables/u1/log/1.parquet", "tables/u1/log/1.parquet", "tables/u7/log/2.parquet"])
    assert present(tmp_path) == set()
