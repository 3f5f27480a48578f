"""States as Delta tables: any Delta reader sees exactly the files of the newest commit.

Method: commit states over real Parquet files and open the table with the deltalake package, which shares
nothing with our reader; its files, rows and history are compared with what was committed.  A crash
between the Delta commit and the ledger's is a commit that nobody remembers: the next must still be right.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.core.change import INSERT, FileEntry
from headwater.core.errors import TransientError
from headwater.core.relation import Column, Relation
from headwater.core.types import FACTS, FLOAT8, INT4, INT8, TEXT, SqlType, array_of, map_of, numeric
from headwater.persist.layout import change_file, state_file, table_root
from headwater.persist.local import LocalStore
from headwater.persist.state import AS_OF, commit_state
from tests.support.tables_of_files import Row, bag, write_changes, write_state

RELATION = Relation((Column("k", INT8), Column("v", TEXT)), ((0,),))
NOW_MS = 1_700_000_000_000


def state_of(data_dir: Path, as_of: int, rows: list[Row], part: int = 0) -> FileEntry:
    return write_state(data_dir, state_file("u1", as_of, part, "1-1"), RELATION, rows)


def commit(data_dir: Path, files: list[FileEntry], as_of: int) -> int:
    return commit_state(LocalStore(data_dir), "u1", RELATION, files, as_of, NOW_MS + as_of)


def opened(data_dir: Path) -> DeltaTable:
    return DeltaTable(str(data_dir / table_root("u1")))


def files_of(data_dir: Path) -> set[str]:
    root = table_root("u1")
    return {root + unquote(uri).rpartition(root)[2] for uri in opened(data_dir).file_uris()}


def rows_of(data_dir: Path) -> Counter[Row]:
    table = opened(data_dir).to_pyarrow_table(columns=["k", "v"])
    return bag(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_new_table_is_version_0_with_its_files_and_timestamp(tmp_path: Path) -> None:
    files = [state_of(tmp_path, 10, [(1, "a")]), state_of(tmp_path, 10, [(2, None)], part=1)]
    assert commit(tmp_path, files, 10) == 0
    assert rows_of(tmp_path) == bag([(1, "a"), (2, None)])
    assert files_of(tmp_path) == {file.path for file in files}
    assert opened(tmp_path).history(1)[0][AS_OF] == "10"
    assert opened(tmp_path).metadata().name == "u1"


def test_a_table_may_be_empty(tmp_path: Path) -> None:
    commit(tmp_path, [], 10)
    assert rows_of(tmp_path) == Counter()
    assert opened(tmp_path).schema().to_arrow() is not None
    later = state_of(tmp_path, 11, [(1, "a")])
    assert commit(tmp_path, [later], 11) == 1
    assert commit(tmp_path, [], 12) == 2
    assert rows_of(tmp_path) == Counter()


def test_a_state_that_was_written_anew_replaces_the_old_one(tmp_path: Path) -> None:
    commit(tmp_path, [state_of(tmp_path, 10, [(1, "a")])], 10)
    new = state_of(tmp_path, 20, [(1, "b"), (2, "c")])
    assert commit(tmp_path, [new], 20) == 1
    assert rows_of(tmp_path) == bag([(1, "b"), (2, "c")])
    assert [entry[AS_OF] for entry in opened(tmp_path).history()] == ["20", "10"]


def test_a_change_file_becomes_part_of_the_state_where_it_lies(tmp_path: Path) -> None:
    state = state_of(tmp_path, 10, [(1, "a")])
    commit(tmp_path, [state], 10)
    changes = write_changes(tmp_path, change_file("u1", 20, 0, "1-1"), RELATION, [(INSERT, 5, 0, (2, "b"))])
    commit(tmp_path, [state, changes], 20)
    assert files_of(tmp_path) == {state.path, changes.path}
    assert rows_of(tmp_path) == bag([(1, "a"), (2, "b")])


def test_a_commit_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    files = [state_of(tmp_path, 10, [(1, "a")])]
    for _ in range(3):
        commit(tmp_path, files, 10)
    assert rows_of(tmp_path) == bag([(1, "a")])
    log = tmp_path / table_root("u1") / "_delta_log"
    assert '"add"' in (log / f"{0:020}.json").read_text()
    assert '"add"' not in (log / f"{2:020}.json").read_text()


def test_a_commit_that_the_ledger_never_heard_of_is_corrected_by_the_next(tmp_path: Path) -> None:
    first = state_of(tmp_path, 10, [(1, "a")])
    commit(tmp_path, [first], 10)
    forgotten = state_of(tmp_path, 20, [(1, "of the fold that crashed")])
    commit(tmp_path, [forgotten], 20)
    (tmp_path / forgotten.path).unlink()  # nobody names it, so it was swept
    next_one = state_of(tmp_path, 30, [(1, "c")])
    commit(tmp_path, [first, next_one], 30)
    assert files_of(tmp_path) == {first.path, next_one.path}
    assert rows_of(tmp_path) == bag([(1, "a"), (1, "c")])


def test_the_log_is_checkpointed(tmp_path: Path) -> None:
    kept = [state_of(tmp_path, 1, [(1, "a")]), state_of(tmp_path, 2, [(2, "b")])]
    for as_of in range(1, 53):
        version = commit(tmp_path, [kept[as_of % 2]], as_of)
    assert version == 51
    log = tmp_path / table_root("u1") / "_delta_log"
    assert [path.name for path in log.glob("*.checkpoint.parquet")] == [f"{50:020}.checkpoint.parquet"]
    assert files_of(tmp_path) == {kept[0].path}
    assert rows_of(tmp_path) == bag([(1, "a")])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wanted=st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=5))
def test_the_table_holds_exactly_the_last_committed_files(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[set[int]]
) -> None:
    data_dir = tmp_path_factory.mktemp("state")
    files = [state_of(data_dir, 1, [(i, str(i))], part=i) for i in range(5)]
    for version, numbers in enumerate(wanted):
        assert commit(data_dir, [files[i] for i in sorted(numbers)], version) == version
        assert files_of(data_dir) == {files[i].path for i in numbers}
    assert rows_of(data_dir) == bag([(i, str(i)) for i in wanted[-1]])


@pytest.mark.parametrize("name", ["with space", "100%", "ümläut", "a+b=c", "tables/u1"])
def test_a_data_directory_may_have_any_name(tmp_path: Path, name: str) -> None:
    data_dir = tmp_path / name
    commit(data_dir, [state_of(data_dir, 1, [(1, "a")])], 1)
    commit(data_dir, [state_of(data_dir, 2, [(2, "b")])], 2)
    assert rows_of(data_dir) == bag([(2, "b")])


def test_a_data_directory_may_be_relative_or_reached_by_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    for as_of, data_dir in enumerate([Path("real"), tmp_path / "link", Path("link"), tmp_path / "real"]):
        commit(data_dir, [state_of(data_dir, as_of, [(as_of, "x")])], as_of)
        assert rows_of(data_dir) == bag([(as_of, "x")])


def test_every_type_that_can_be_stored_has_a_column_in_delta(tmp_path: Path) -> None:
    kinds = sorted(set(FACTS) - {"array", "list", "map", "record", "void", "unknown"})
    fields = (("a", INT4), ("b", TEXT))
    types = [
        *(SqlType(kind) for kind in kinds),
        numeric(3),
        array_of(FLOAT8),
        map_of(INT4),
        SqlType("record", fields=fields),
    ]
    relation = Relation(tuple(Column(f"x{i}", type_) for i, type_ in enumerate(types)))
    file = write_state(tmp_path, state_file("u1", 1, 0, "1-1"), relation, [(None,) * len(types)])
    commit_state(LocalStore(tmp_path), "u1", relation, [file], 1, NOW_MS)
    assert opened(tmp_path).to_pyarrow_table().num_rows == 1


def test_a_log_that_cannot_be_written_is_an_error_that_names_the_table(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "u1").write_text("not a directory")
    with pytest.raises(TransientError, match=r'could not write the Delta log of ".*tables/u1"'):
        commit(tmp_path, [], 1)
