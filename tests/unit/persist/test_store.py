"""What every store of data files promises (persist/store.py), whichever it is.

Method: the same tests for each, written against the interface alone.  A further store is a line in `STORES`.
A crash is a process that ends in the middle, without a chance to clean up.  At the end, what the package does
with files is done on each.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from headwater.core.change import FileEntry
from headwater.core.errors import TransientError
from headwater.core.points import Read
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4
from headwater.persist.combine import scan_files
from headwater.persist.files import damage, weigh, write_file
from headwater.persist.layout import UNFINISHED, change_file, result_folder, state_file
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.persist.results import read_result, remove_result, write_result
from headwater.persist.retention import drop_collection, empty_scratch, sweep
from headwater.persist.secrets import SecretStore
from headwater.persist.store import DataStore
from tests.unit.persist.flat_store import FlatStore

STORES: dict[str, Callable[[Path], DataStore]] = {"local": LocalStore, "flat": FlatStore}

PATH = "tables/u1/log/1.parquet"
FOLDER, _, NAME = PATH.rpartition("/")

DIES = """
import os, pickle, sys
store = pickle.load(sys.stdin.buffer)
with store.create({path!r}) as file:
    file.write(b"half")
    file.flush()
    os._exit(7)
"""


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DataStore:
    root = tmp_path / "a root"
    root.mkdir()
    return STORES[request.param](root)


def put(store: DataStore, path: str, data: bytes = b"data", *, replace: bool = True) -> None:
    with store.create(path, replace=replace) as file:
        file.write(data)


def get(store: DataStore, path: str) -> bytes:
    with store.open(path) as file:
        return bytes(file.read())


def test_a_file_is_what_was_written_to_us_and_to_an_engine(store: DataStore) -> None:
    put(store, PATH, b"all of it")
    assert get(store, PATH) == b"all of it"
    assert store.size(PATH) == 9
    found = duckdb.execute("SELECT content FROM read_text(?)", [store.url(PATH)]).fetchall()
    assert found == [("all of it",)]


def test_a_file_can_be_read_from_anywhere_in_it(store: DataStore) -> None:
    put(store, PATH, b"0123456789")
    with store.open(PATH) as file:
        file.seek(7)
        assert (bytes(file.read(2)), file.size()) == (b"78", 10)


def test_what_need_not_be_durable_is_there_all_the_same(store: DataStore) -> None:
    with store.create(PATH, durable=False) as file:
        file.write(b"data")
    assert get(store, PATH) == b"data"


@pytest.mark.parametrize("replace", [True, False])
def test_a_file_has_its_path_only_when_it_is_whole(store: DataStore, replace: bool) -> None:
    with store.create(PATH, replace=replace) as file:
        file.write(b"half")
        file.flush()
        with pytest.raises(FileNotFoundError):
            store.open(PATH)
        with pytest.raises(FileNotFoundError):
            store.size(PATH)
        assert NAME not in store.names(FOLDER)
        file.write(b" and half")
    assert get(store, PATH) == b"half and half"
    assert store.names(FOLDER) == [NAME]


def test_the_file_before_is_there_whole_until_another_takes_its_path(store: DataStore) -> None:
    put(store, PATH, b"old")
    with store.create(PATH) as file:
        file.write(b"new")
        file.flush()
        assert get(store, PATH) == b"old"
    assert get(store, PATH) == b"new"
    assert store.names(FOLDER) == [NAME]


@pytest.mark.parametrize("before", [None, b"old"])
def test_an_error_on_the_way_changes_nothing(store: DataStore, before: bytes | None) -> None:
    if before is not None:
        put(store, PATH, before)

    def fail() -> None:
        with store.create(PATH) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert store.names(FOLDER) == ([] if before is None else [NAME])
    if before is not None:
        assert get(store, PATH) == before


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_process_that_dies_leaves_nothing_that_counts(store: DataStore, before: bytes | None) -> None:
    if before is not None:
        put(store, PATH, before)
    code = DIES.format(path=PATH)
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(store), timeout=60)
    assert done.returncode == 7
    if before is None:
        with pytest.raises(FileNotFoundError):
            store.open(PATH)
    else:
        assert get(store, PATH) == before
    left = [name for name in store.names(FOLDER) if name != NAME]
    assert all(name.startswith(NAME) and name.endswith(UNFINISHED) for name in left)
    store.remove(*(f"{FOLDER}/{name}" for name in left))
    assert store.names(FOLDER) == ([] if before is None else [NAME])


def test_a_file_that_is_not_to_be_replaced_stays(store: DataStore) -> None:
    put(store, PATH, b"first", replace=False)
    with pytest.raises(FileExistsError):
        put(store, PATH, b"second", replace=False)
    assert get(store, PATH) == b"first"
    assert store.names(FOLDER) == [NAME]


def test_of_several_that_make_a_file_at_once_one_does(store: DataStore) -> None:
    def attempt(number: int) -> int | None:
        try:
            put(store, PATH, bytes([number]), replace=False)
        except FileExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        made = [number for number in pool.map(attempt, range(32)) if number is not None]
    assert [bytes([number]) for number in made] == [get(store, PATH)]
    assert store.names(FOLDER) == [NAME]


def test_names_are_those_of_one_folder(store: DataStore) -> None:
    for path in ("t/a/1", "t/a/b/2", "t/a/b/3", "t/ab/4", "t/5"):
        put(store, path)
    assert sorted(store.names("t")) == ["5", "a", "ab"]
    assert sorted(store.names("t/a")) == ["1", "b"]
    assert sorted(store.names("t/a/b")) == ["2", "3"]


def test_where_nothing_is_there_are_no_names_and_nothing_is_made(store: DataStore) -> None:
    assert store.names("tables") == []
    assert store.names("tables/u1") == []
    put(store, "tables/5")
    assert store.names("tables/5") == []  # a file has nothing in it
    assert store.names("tables") == ["5"]


def test_what_is_not_there_can_be_removed_and_not_read(store: DataStore) -> None:
    put(store, "tables/u2/1")
    store.remove()
    store.remove("tables/u1/1", "tables/u2/1", "tables/u2/1")
    store.remove_folder("tables/u1")
    for look in (store.open, store.size):
        with pytest.raises(FileNotFoundError):
            look("tables/u2/1")


def test_a_folder_goes_with_all_that_is_in_it_and_nothing_beside(store: DataStore) -> None:
    for path in ("t/u1/log/1", "t/u1/2", "t/u10/1", "t/u"):
        put(store, path)
    store.remove_folder("t/u1")
    assert sorted(store.names("t")) == ["u", "u10"]
    assert store.names("t/u1") == []
    put(store, "t/u1/log/1", b"again")
    assert get(store, "t/u1/log/1") == b"again"


def test_what_spills_has_a_folder_of_its_own_while_it_does(store: DataStore) -> None:
    with store.spill() as one, store.spill() as other:
        assert one != other
        (Path(one) / "spilled").write_bytes(b"rows")
        assert not list(Path(other).iterdir())
    assert not Path(one).exists()
    assert not Path(other).exists()


def test_a_store_travels(store: DataStore) -> None:
    put(store, PATH)
    there: DataStore = pickle.loads(pickle.dumps(store))
    assert there == store
    put(there, f"{FOLDER}/2")
    assert sorted(store.names(FOLDER)) == [NAME, "2"]


# What is done with files, on each store

RELATION = Relation((Column("k", INT4),))
BATCH = pa.RecordBatch.from_pydict({"k": pa.array([1, 2], pa.int32())})


def write(store: DataStore, path: str) -> FileEntry:
    return write_file(store, path, iter([BATCH]), BATCH.schema)


def test_rows_are_written_weighed_and_scanned(store: DataStore) -> None:
    entry = write(store, state_file("u1", 1, 0, "1-1"))
    assert entry.bytes == store.size(entry.path)
    assert weigh(store, [entry]).bytes > 0
    assert duckdb.execute(f"SELECT k FROM {scan_files(store, [entry])}").fetchall() == [(1,), (2,)]
    assert damage(store, [entry]) is None
    store.remove(entry.path)
    assert store.url(entry.path) in (damage(store, [entry]) or "")


def test_secrets_are_kept(store: DataStore) -> None:
    SecretStore(store).put("u1", b"value")
    SecretStore(store).put("u2", b"other")
    assert SecretStore(store).sweep(["u1"]) == ("u2",)
    assert SecretStore(store).get("u1") == b"value"
    with pytest.raises(TransientError):
        SecretStore(store).get("u2")


def test_results_are_read_and_taken_away(store: DataStore, tmp_path: Path) -> None:
    written = [write_result(store, result_folder(id_, 1), [BATCH], BATCH.schema) for id_ in ("p1", "p10")]
    remove_result(store, "p1")
    assert list(read_result(store, *written[1])) == [BATCH]
    empty_scratch(tmp_path, store, "quickstart")
    assert store.names("scratch/results") == []


def test_what_nobody_names_is_swept_and_what_is_dropped_goes(store: DataStore, tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path, "cluster")
    ledger.open_writer("s1")
    ledger.join([("u1", "appended", RELATION, "", Read(1))], "s1", 0, False)
    claims = {name: f"{ledger.incarnation}-{number}" for number, name in enumerate(("held", "done", "left"))}
    entries = {name: write(store, change_file("u1", 1, 0, claim)) for name, claim in claims.items()}
    ledger.add_chunks([("u1", Read(1), 0, entries["done"])])
    nobodys = write(store, change_file("u2", 1, 0, "1-1"))
    assert sorted(sweep(ledger, store, lambda: {0})) == sorted([entries["left"].path, nobodys.path])
    assert store.names("tables") == ["u1"]
    assert len(store.names("tables/u1/log")) == 2
    drop_collection(ledger, store, "u1")
    assert store.names("tables") == []
    ledger.close()
