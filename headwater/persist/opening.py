"""The stores of a data directory: the one place that knows which implementation keeps them.

Whoever opens one closes it; the rest of the product has it as what it promises (ledger.py, store.py).
"""

from __future__ import annotations

from pathlib import Path

from headwater.metadata.database import metadata_path
from headwater.persist.ledger import Ledger
from headwater.persist.local import LocalStore
from headwater.persist.sqlite_ledger import SqliteLedger
from headwater.persist.store import DataStore


def open_ledger(data_dir: Path, process: str | None = None) -> Ledger:
    """The ledger; `process` is the name under which files are written, and whoever only looks needs none."""
    return SqliteLedger(metadata_path(data_dir), process)


def open_store(data_dir: Path) -> DataStore:
    """The data files."""
    return LocalStore(data_dir)
