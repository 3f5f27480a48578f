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

A folder of no table or source is nobody's: the ledger knows either before it has a folder, and no id is given
twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from headwater.core.errors import TransientError
from headwater.observe.failpoints import failpoint
from headwater.persist.layout import (
    FILE_FOLDERS,
    RESULTS_FOLDER,
    SOURCES_FOLDER,
    TABLES_FOLDER,
    UNFINISHED,
    claimed_by,
    cluster_scratch,
    scratch_folder,
    source_root,
    spill_folder,
    table_root,
)
from headwater.persist.ledger import Ledger
from headwater.persist.state import delta_files
from headwater.persist.store import DataStore


def remove_forgotten(store: DataStore, paths: Iterable[str]) -> None:
    """Remove files that the ledger has forgotten."""
    failpoint("retention.before_unlink")
    store.remove(*paths)


def empty_scratch(data_dir: Path, store: DataStore, cluster: str) -> None:
    """Remove what a killed environment had asked for or put aside; what a cluster has is the cluster's."""
    store.remove_folder(RESULTS_FOLDER)
    others = (cluster_scratch(data_dir, cluster), spill_folder(data_dir))
    for path in scratch_folder(data_dir).glob("*"):
        if path.is_dir() and path not in others:
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_file():
            path.unlink(missing_ok=True)


def drop_collection(ledger: Ledger, store: DataStore, collection_id: str) -> None:
    """Forget a collection and remove its folder, and what its upstream has said if it is a source."""
    ledger.drop(collection_id)
    failpoint("retention.before_unlink")
    store.remove_folder(table_root(collection_id))
    store.remove_folder(source_root(collection_id))


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


def sweep(ledger: Ledger, store: DataStore, under_way: Callable[[], Collection[int]]) -> list[str]:
    """Remove data files that nobody names or will name, and folders of nothing; returns the files."""
    sources = store.names(SOURCES_FOLDER)
    upstreams = ledger.upstreams() if sources else {}
    for id_ in sources:
        if id_ not in upstreams:
            store.remove_folder(source_root(id_))
    listed = {id_: _files(store, id_) for id_ in store.names(TABLES_FOLDER)}
    claims, current, own = under_way(), ledger.incarnations(), ledger.incarnation
    suspects: dict[str, list[str]] = {}
    for id_, files in listed.items():
        named = ledger.named_paths(id_)
        found = [
            path
            for path in files
            if path not in named and given_up(path.rpartition("/")[2], current, own, claims)
        ]
        if found or ledger.collection(id_) is None:
            suspects[id_] = found
    if not suspects:
        return []
    ledger.settle()
    removed: list[str] = []
    for id_, found in suspects.items():
        if ledger.collection(id_) is None:
            store.remove_folder(table_root(id_))
            removed += listed[id_]
            continue
        unnamed = _unnamed(ledger, store, id_, found)
        store.remove(*unnamed)
        removed += unnamed
    return removed


def _files(store: DataStore, collection_id: str) -> list[str]:
    folders = [f"{table_root(collection_id)}/{name}" for name in FILE_FOLDERS]
    return [
        f"{folder}/{name}"
        for folder in folders
        for name in store.names(folder)
        if name.endswith((".parquet", UNFINISHED))
    ]


def _unnamed(ledger: Ledger, store: DataStore, collection_id: str, paths: Iterable[str]) -> list[str]:
    """Those that neither the ledger nor Delta names."""
    try:
        named = ledger.named_paths(collection_id) | delta_files(store, collection_id)
    except TransientError:
        return []  # a Delta log that cannot be read is told by whoever writes it
    return [path for path in paths if path not in named]
