"""What may be forgotten: history before `since`, and files that nobody names.

`since` of a collection is raised only when no read, transaction or subscription
needs the time before it (the environment says so), so files that fall out of the
ledger can be removed at once.  A crash in between leaves files that the ledger
does not name; the sweeper finds those by listing and removes them: at once when their
table is gone, otherwise once they are older than any task that might still be writing them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from headwater.core.limits import ORPHAN_FILE_AGE_S_MIN
from headwater.observe.failpoints import failpoint
from headwater.persist.layout import SCRATCH, cluster_scratch, table_root
from headwater.persist.ledger import Ledger


def forget(ledger: Ledger, data_dir: Path, collection_id: str, since: int) -> int:
    """Raise a collection's `since` and remove the files that fall out; returns how many."""
    paths = ledger.forget(collection_id, since)
    failpoint("retention.before_unlink")
    remove_files(data_dir, paths)
    return len(paths)


def remove_files(data_dir: Path, paths: Iterable[str]) -> None:
    """Remove files; one that is gone already is fine."""
    for path in paths:
        (data_dir / path).unlink(missing_ok=True)


def empty_scratch(data_dir: Path, cluster: str) -> None:
    """Remove what an environment that was killed had put aside; what a cluster has is the cluster's."""
    for path in (data_dir / SCRATCH).glob("*"):
        if path.is_dir() and path != cluster_scratch(data_dir, cluster):
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_file():
            path.unlink(missing_ok=True)


def drop_collection(ledger: Ledger, data_dir: Path, collection_id: str) -> None:
    """Forget a collection and remove its folder."""
    ledger.drop(collection_id)
    failpoint("retention.before_unlink")
    shutil.rmtree(data_dir / table_root(collection_id), ignore_errors=True)


def sweep(ledger: Ledger, data_dir: Path, now_ms: int, age_s: float = ORPHAN_FILE_AGE_S_MIN) -> list[str]:
    """Remove Parquet files that the ledger does not name and that are old enough; returns them.

    Listed first, then compared: the ledger knows a table before the table has a folder, and
    no id is given twice.  So a folder of no table, which a crash in the middle of a drop or
    a task that outlived its driver leaves, is nobody's however young it is, and goes as a whole.
    """
    removed: list[str] = []
    root = data_dir / "tables"
    for folder in list(root.iterdir()) if root.exists() else ():
        files = [*folder.glob("log/*.parquet"), *folder.glob("state/*.parquet")]
        paths = {f"{table_root(folder.name)}/{file.parent.name}/{file.name}": file for file in files}
        named = ledger.named_paths(folder.name)
        if ledger.collection(folder.name) is None:
            shutil.rmtree(folder, ignore_errors=True)
            removed += paths
            continue
        for path, file in paths.items():
            if path not in named and _older(file, now_ms, age_s):
                file.unlink(missing_ok=True)
                removed.append(path)
    return removed


def _older(file: Path, now_ms: int, age_s: float) -> bool:
    try:
        return now_ms / 1000 - file.stat().st_mtime >= age_s
    except FileNotFoundError:
        return False
