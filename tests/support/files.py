"""Checks of a data directory against its ledger; for a server that has stopped."""

from __future__ import annotations

from pathlib import Path

from headwater.options import CLUSTER_NAME
from headwater.persist.layout import UNFINISHED
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.persist.retention import sweep
from headwater.persist.state import delta_files
from tests.support.metadata import metadata_rows


def data_files(data_dir: Path) -> set[str]:
    """Every data file of every table, relative to the data directory."""
    found = [*data_dir.glob("tables/*/*/*.parquet"), *data_dir.glob(f"tables/*/*/*{UNFINISHED}")]
    return {file.relative_to(data_dir).as_posix() for file in found if file.parent.name != "_delta_log"}


def check_files(data_dir: Path) -> int:
    """The ledger names only files that exist, and the sweeper takes only others; returns how many it took."""
    open_ledger(data_dir, "environment").close()  # the one before names nothing any more
    ledger = open_ledger(data_dir, f"cluster-{CLUSTER_NAME}")
    try:
        named = {path for id_ in ledger.collections() for path in ledger.named_paths(id_)}
        present = data_files(data_dir)
        assert not named - present, f"the ledger names files that are not there: {sorted(named - present)}"
        # A process that died between a Delta version and the ledger leaves files to outside readers.
        shown = {path for id_ in ledger.collections() for path in delta_files(LocalStore(data_dir), id_)}
        removed = set(sweep(ledger, LocalStore(data_dir), frozenset))
        assert removed == present - named - shown
        assert data_files(data_dir) == (named | shown) & present
        known = {f"tables/{id_}" for id_ in ledger.collections()}
        folders = {folder.relative_to(data_dir).as_posix() for folder in data_dir.glob("tables/*")}
        assert folders <= known, f"folders of no table: {folders - known}"
    finally:
        ledger.close()
    return len(removed)


def states_of(data_dir: Path, collection_id: str) -> list[int]:
    """The timestamps of the states that the ledger has of a table, oldest first."""
    sql = "SELECT as_of FROM ledger_state WHERE collection_id = ? ORDER BY as_of"
    return [row[0] for row in metadata_rows(data_dir, sql, collection_id)]


def rows_about(data_dir: Path, collection_id: str) -> int:
    """How many rows of the ledger are about this table or source."""
    columns = dict.fromkeys(("collection", "change_file", "state", "state_file"), "collection_id")
    columns |= {
        "chunk": "collection_id",
        "error": "collection_id",
        "writer": "writer_id",
        "binding": "writer_id",
    }
    counts = (f"(SELECT count(*) FROM ledger_{name} WHERE {column} = ?1)" for name, column in columns.items())
    return int(metadata_rows(data_dir, f"SELECT {' + '.join(counts)}", collection_id)[0][0])
