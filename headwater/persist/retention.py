"""What may be forgotten: history before `since`, and files that nobody names.

`since` of a collection is raised only when no read, transaction or subscription
needs the time before it (the environment says so), so files that fall out of the
ledger can be removed at once.  A crash in between leaves files that the ledger
does not name; the sweeper finds those by listing.  But a file that is being made is not
named yet either, for hours if a widened table has to wait for its point.  So whoever makes files
says so in their names, and how old a file is, by whichever clock, says nothing:

    <ts>-<part>-<incarnation>-<claim>-<unique>.parquet

    incarnation   of the process that ordered it: a number that each process takes at its start, in the
                  ledger, in place of that of the process that had its name before
    claim         of a piece of work there (a tick, a backfill, a fold), kept in its memory until the
                  ledger names what came of it, or nobody will

A file that neither the ledger nor the newest Delta version names is rubbish if its process has been
replaced, or is this one and the claim has been given back.  Why nothing is taken that is needed:

    tick, chunk, copy, prune, widen, fold   Spark tasks of this process carry a claim that ends after the
                  transaction that names their files.  Claims are looked at after listing and before the
                  ledger: who had none by then had named the file already, or gave it up.
    tasks that outlive their driver         carry an incarnation that is not current; nobody waits for
                  them.  What they write later goes with the next sweep.
    plain tables  are written by the environment, whose incarnation is current as long as no other one
                  has begun: its files are left alone, and it removes what it could not append itself.
    a process that was replaced             is refused by the ledger, so that it names nothing any more.
    Delta versions that the ledger does not know (a crash between the two) keep their files until the
                  next one takes their place.
    forget        takes what no state and no tail has, in the thread that folds; tables that are copied,
                  widened or compared are pinned from the state on that a plan of theirs begins with.
    drop          waits for those who write there (`busy`), for pins, and for the environment's holds.
    results of queries, and what is put aside  lie under scratch/, which no sweep looks at.

A folder of no table is nobody's: the ledger knows a table before it has a folder, and no id is given twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from headwater.core.errors import TransientError
from headwater.observe.failpoints import failpoint
from headwater.persist.layout import SCRATCH, claimed_by, cluster_scratch, table_root
from headwater.persist.ledger import Ledger
from headwater.persist.state import delta_files


def remove_forgotten(data_dir: Path, paths: Iterable[str]) -> None:
    """Remove files that the ledger has forgotten."""
    failpoint("retention.before_unlink")
    remove_files(data_dir, paths)


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


def given_up(file_name: str, current: Collection[int], own: int, under_way: Collection[int]) -> bool:
    """Whether nobody will ever name a file that is not named.

    `current` are the incarnations of processes that may name files, `own` is this process's, and
    `under_way` are its claims.
    """
    claimed = claimed_by(file_name)
    if claimed is None:
        return True
    incarnation, claim = claimed
    return claim not in under_way if incarnation == own else incarnation not in current


def sweep(ledger: Ledger, data_dir: Path, under_way: Callable[[], Collection[int]]) -> list[str]:
    """Remove data files that nobody names or will name, and folders of no table; returns the files."""
    listed = {folder.name: _files(folder) for folder in _folders(data_dir)}
    claims, current, own = under_way(), ledger.incarnations(), ledger.incarnation
    suspects: dict[str, dict[str, Path]] = {}
    for id_, files in listed.items():
        named = ledger.named_paths(id_)
        found = {
            path: file
            for path, file in files.items()
            if path not in named and given_up(file.name, current, own, claims)
        }
        if found or ledger.collection(id_) is None:
            suspects[id_] = found
    if not suspects:
        return []
    ledger.settle()
    removed: list[str] = []
    for id_, found in suspects.items():
        if ledger.collection(id_) is None:
            shutil.rmtree(data_dir / table_root(id_), ignore_errors=True)
            removed += listed[id_]
            continue
        for path in _unnamed(ledger, data_dir, id_, found):
            found[path].unlink(missing_ok=True)
            removed.append(path)
    return removed


def _folders(data_dir: Path) -> list[Path]:
    root = data_dir / "tables"
    return list(root.iterdir()) if root.exists() else []


def _files(folder: Path) -> dict[str, Path]:
    files = [*folder.glob("log/*.parquet"), *folder.glob("state/*.parquet")]
    return {f"{table_root(folder.name)}/{file.parent.name}/{file.name}": file for file in files}


def _unnamed(ledger: Ledger, data_dir: Path, collection_id: str, paths: Iterable[str]) -> list[str]:
    """Those that neither the ledger nor Delta names."""
    try:
        named = ledger.named_paths(collection_id) | delta_files(data_dir, collection_id)
    except TransientError:
        return []  # a Delta log that cannot be read is told by whoever writes it
    return [path for path in paths if path not in named]
