"""Where things lie under the data directory.

    metadata.sqlite                       catalog and ledger
    tables/<table id>/log/<ts>-….parquet  change files
    tables/<table id>/state/….parquet     snapshot and state files
                          <ts>-<part>-<process>-<claim>-<unique>.parquet, see retention.py
    tables/<table id>/_delta_log/         Delta's record of the state
    secrets/key, secrets/<secret id>      values of secrets, encrypted; private (secrets.py)
    cluster-<name>.sock, .lock, .log      a running cluster
    scratch/cluster-<name>/               what that cluster puts aside while it runs
    scratch/                              what the environment does, results.py and aside.py for it

A table's log lies inside the root of its Delta table so that an appended change
file can become part of the state without being copied: Delta names files relative
to its root.  The ledger names them relative to the data directory.
"""

from __future__ import annotations

import re
from pathlib import Path

METADATA = "metadata.sqlite"
SCRATCH = "scratch"


def table_root(collection_id: str) -> str:
    """A table's folder, relative to the data directory."""
    return f"tables/{collection_id}"


def claim_name(incarnation: int, number: int) -> str:
    """What a piece of work puts into the names of its files: which process it is of, and which there."""
    return f"{incarnation}-{number}"


_CLAIMED = re.compile(r"\d+-(?:-?\d+)-(?P<incarnation>\d+)-(?P<number>\d+)-[0-9a-f]+\.parquet")


def claimed_by(file_name: str) -> tuple[int, int] | None:
    """(incarnation, number) of the work that made a file; None: made before names said so."""
    found = _CLAIMED.fullmatch(file_name)
    return None if found is None else (int(found["incarnation"]), int(found["number"]))


def change_file(collection_id: str, ts: int, part: int, claim: str, unique: str) -> str:
    """The path of a change file; `unique` keeps a retried task's file apart."""
    return f"{table_root(collection_id)}/log/{ts}-{part}-{claim}-{unique}.parquet"


def state_file(collection_id: str, as_of: int, part: int, claim: str, unique: str) -> str:
    """The path of a state or snapshot file."""
    return f"{table_root(collection_id)}/state/{as_of}-{part}-{claim}-{unique}.parquet"


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
