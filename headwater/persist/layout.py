"""Where things lie under the data directory.

    metadata.sqlite                       catalog and ledger
    tables/<table id>/log/<ts>-….parquet  change files
    tables/<table id>/state/….parquet     snapshot and state files
    tables/<table id>/_delta_log/         Delta's record of the state
    secrets/key, secrets/<secret id>      values of secrets, encrypted; private (secrets.py)
    cluster-<name>.sock, .lock, .log      a running cluster
    scratch/cluster-<name>/               what that cluster puts aside while it runs
    scratch/                              what the environment does, and results.py for it

A table's log lies inside the root of its Delta table so that an appended change
file can become part of the state without being copied: Delta names files relative
to its root.  The ledger names them relative to the data directory.
"""

from __future__ import annotations

from pathlib import Path

METADATA = "metadata.sqlite"
SCRATCH = "scratch"


def table_root(collection_id: str) -> str:
    """A table's folder, relative to the data directory."""
    return f"tables/{collection_id}"


def change_file(collection_id: str, ts: int, part: int, unique: str) -> str:
    """The path of a change file; `unique` keeps a retried task's file apart."""
    return f"{table_root(collection_id)}/log/{ts}-{part}-{unique}.parquet"


def state_file(collection_id: str, as_of: int, part: int, unique: str) -> str:
    """The path of a state or snapshot file."""
    return f"{table_root(collection_id)}/state/{as_of}-{part}-{unique}.parquet"


def cluster_scratch(data_dir: Path, name: str) -> Path:
    """Where a cluster puts aside what need not outlive it."""
    return data_dir / SCRATCH / f"cluster-{name}"


def metadata_path(data_dir: Path) -> Path:
    """The database of catalog and ledger."""
    return data_dir / METADATA


def cluster_socket(data_dir: Path, name: str) -> Path:
    """The Unix socket a local cluster listens on."""
    return data_dir / f"cluster-{name}.sock"


def cluster_lock(data_dir: Path, name: str) -> Path:
    """Locked by the one process that runs this cluster, from its first moment on."""
    return data_dir / f"cluster-{name}.lock"
