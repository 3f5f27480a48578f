"""The ledger's tables, and what their rows are as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headwater.core.change import Discipline
from headwater.core.relation import Relation

SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger_writer (
    writer_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, ts INTEGER NOT NULL, frontier TEXT NOT NULL,
    upstream TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS ledger_binding (
    writer_id TEXT NOT NULL, ts INTEGER NOT NULL, frontier TEXT NOT NULL, PRIMARY KEY (writer_id, ts)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_collection (
    collection_id TEXT PRIMARY KEY, writer_id TEXT NOT NULL, discipline TEXT NOT NULL, relation TEXT NOT NULL,
    since INTEGER NOT NULL, joined_ts INTEGER NOT NULL, point TEXT NOT NULL,
    batch TEXT NOT NULL, hydrated INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS ledger_change_file (
    collection_id TEXT NOT NULL, ts INTEGER NOT NULL, path TEXT NOT NULL,
    rows INTEGER NOT NULL, bytes INTEGER NOT NULL, deletes INTEGER NOT NULL, resets INTEGER NOT NULL,
    partials INTEGER NOT NULL,
    PRIMARY KEY (collection_id, ts, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_state (
    collection_id TEXT NOT NULL, as_of INTEGER NOT NULL, delta_version INTEGER NOT NULL,
    PRIMARY KEY (collection_id, as_of)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_state_file (
    collection_id TEXT NOT NULL, as_of INTEGER NOT NULL, path TEXT NOT NULL,
    rows INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (collection_id, as_of, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_chunk (
    collection_id TEXT NOT NULL, chunk INTEGER NOT NULL, path TEXT NOT NULL,
    rows INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (collection_id, chunk)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_seen (collection_id TEXT PRIMARY KEY, seen TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS ledger_error (
    collection_id TEXT NOT NULL, ts INTEGER NOT NULL, position TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (collection_id, ts)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger_process (
    name TEXT PRIMARY KEY, incarnation INTEGER NOT NULL, sweeps INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class WriterState:
    """Where a writer stands: its epoch, the newest binding's timestamp (0: none) and frontier."""

    epoch: int
    ts: int
    frontier: Any


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What the ledger knows of a collection, without its files."""

    collection_id: str
    writer_id: str
    discipline: Discipline
    relation: Relation
    since: int
    joined_ts: int
    point: Any  # the moment of the upstream at which its snapshot is taken
    batch: str
    hydrated: bool


@dataclass(frozen=True, slots=True)
class TailSize:
    """How long a collection's tail is, against its newest state."""

    collection_id: str
    files: int
    bytes: int
    rows: int
    last_ts: int
    state_as_of: int
    state_rows: int


def collection_of(row: tuple[Any, ...]) -> CollectionState:
    """A row of ledger_collection."""
    return CollectionState(
        row[0],
        row[1],
        row[2],
        Relation.from_json(json.loads(row[3])),
        row[4],
        row[5],
        json.loads(row[6]),
        row[7],
        bool(row[8]),
    )
