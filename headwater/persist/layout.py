"""Where things lie: paths of data files in their store, and what a process has in its data directory.

In the store (store.py), which is the data directory as well:

    tables/<table id>/log/<ts>-….parquet  change files
    tables/<table id>/state/….parquet     snapshot and state files
                          <ts>-<part>-<process>-<claim>-<unique>.parquet, see retention.py
    tables/<table id>/_delta_log/         Delta's record of the state
    secrets/key, secrets/<secret id>      values of secrets, encrypted (secrets.py)
    sources/<source id>/answers/          what its upstream has said for ever (answers.py)
    scratch/results/<peek>.<attempt>/     rows of large results (results.py), and what VERIFY has fetched

In the data directory, on the machine itself:

    metadata.sqlite                       catalog and ledger (metadata/database.py)
    environment.lock                      the one environment (lock.py)
    cluster-<name>.sock, .lock, .log      a running cluster
    scratch/cluster-<name>/               what that cluster puts aside while it runs
    scratch/spilled/                      what the engines of a cluster's tasks cannot keep in memory
    scratch/                              what the environment puts aside
    diagnostics.log                       of the demo's server
    broker/                               the Kafka that a demo has started

A table's log lies inside the root of its Delta table so that an appended change
file can become part of the state without being copied: Delta names files relative
to its root.  The ledger names them as the store does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from headwater.core.clock import unique_name

TABLES_FOLDER: Final = "tables"
RESULTS_FOLDER: Final = "scratch/results"
SECRETS_FOLDER: Final = "secrets"
SOURCES_FOLDER: Final = "sources"
FILE_FOLDERS: Final = ("log", "state")
"""In a table's folder, those that have data files in them."""
UNFINISHED: Final = ".unfinished"
"""How names end under which a store keeps what is not whole yet, if it has to."""

# In the store


def table_root(collection_id: str) -> str:
    """A table's folder."""
    return f"{TABLES_FOLDER}/{collection_id}"


def source_root(source_id: str) -> str:
    """A source's folder."""
    return f"{SOURCES_FOLDER}/{source_id}"


def answer_file(source_id: str, name: str) -> str:
    """The path of something that a source's upstream has said."""
    return f"{source_root(source_id)}/answers/{name}"


def claim_name(incarnation: int, number: int) -> str:
    """What a piece of work puts into the names of its files: which process it is of, and which there."""
    return f"{incarnation}-{number}"


_CLAIMED = re.compile(
    r"\d+-(?:-?\d+)-(?P<incarnation>\d+)-(?P<number>\d+)-[0-9a-f]+\.parquet"
    rf"(?:\.[0-9a-f]+{re.escape(UNFINISHED)})?"
)


def claimed_by(file_name: str) -> tuple[int, int] | None:
    """(incarnation, number) of the work that made a file, or began to; None: its name says nothing."""
    found = _CLAIMED.fullmatch(file_name)
    return None if found is None else (int(found["incarnation"]), int(found["number"]))


def change_file(collection_id: str, ts: int, part: int, claim: str) -> str:
    """The path of a new change file; no other has it, also if a task is tried again."""
    return f"{table_root(collection_id)}/log/{ts}-{part}-{claim}-{unique_name()[:8]}.parquet"


def state_file(collection_id: str, as_of: int, part: int, claim: str) -> str:
    """The path of a new state or snapshot file; no other has it."""
    return f"{table_root(collection_id)}/state/{as_of}-{part}-{claim}-{unique_name()[:8]}.parquet"


def result_folder(peek_id: str, attempt: int) -> str:
    """Where the rows of a query lie."""
    return f"{RESULTS_FOLDER}/{peek_id}.{attempt}"


def result_file(folder: str) -> str:
    """The path of a new file with rows of a result."""
    return f"{folder}/{unique_name()[:12]}.arrow"


def fetched_file(folder: str) -> str:
    """The path of a new file with rows of the upstream, to be compared."""
    return f"{folder}/{unique_name()[:12]}.parquet"


# On the machine


def environment_lock(data_dir: Path) -> Path:
    """Locked by the one environment of a data directory; its process is written in it."""
    return data_dir / "environment.lock"


def cluster_socket(data_dir: Path, name: str) -> Path:
    """The Unix socket a local cluster listens on."""
    return data_dir / f"cluster-{name}.sock"


def cluster_lock(data_dir: Path, name: str) -> Path:
    """Locked by the one process that runs this cluster, from its first moment on."""
    return data_dir / f"cluster-{name}.lock"


def scratch_folder(data_dir: Path) -> Path:
    """Where processes put aside what need not outlive them."""
    return data_dir / "scratch"


def cluster_scratch(data_dir: Path, name: str) -> Path:
    """The same for a cluster alone."""
    return scratch_folder(data_dir) / f"cluster-{name}"


def spill_folder(data_dir: Path) -> Path:
    """Where engines of a cluster's tasks put what they cannot keep in memory."""
    return scratch_folder(data_dir) / "spilled"


def demo_log(data_dir: Path) -> Path:
    """What the server of the demo says."""
    return data_dir / "diagnostics.log"


def demo_broker(data_dir: Path) -> Path:
    """All that the broker of a demo has."""
    return data_dir / "broker"
