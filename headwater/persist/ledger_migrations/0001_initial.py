"""The first shape: writers and their bindings, collections, their files, and what reads must fail with."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE ledger_writer (
        writer_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, ts INTEGER NOT NULL, frontier TEXT NOT NULL,
        upstream TEXT NOT NULL, failure TEXT, failure_hint TEXT
    ) STRICT""",
    """CREATE TABLE ledger_binding (
        writer_id TEXT NOT NULL, ts INTEGER NOT NULL, frontier TEXT NOT NULL, PRIMARY KEY (writer_id, ts)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_collection (
        collection_id TEXT PRIMARY KEY, writer_id TEXT NOT NULL, discipline TEXT NOT NULL,
        relation TEXT NOT NULL,
        since INTEGER NOT NULL, joined_ts INTEGER NOT NULL, point TEXT NOT NULL,
        batch TEXT NOT NULL, hydrated INTEGER NOT NULL, refilling INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    """CREATE TABLE ledger_change_file (
        collection_id TEXT NOT NULL, ts INTEGER NOT NULL, path TEXT NOT NULL,
        rows INTEGER NOT NULL, bytes INTEGER NOT NULL, deletes INTEGER NOT NULL, resets INTEGER NOT NULL,
        partials INTEGER NOT NULL, carriers INTEGER NOT NULL, flawed INTEGER NOT NULL,
        PRIMARY KEY (collection_id, ts, path)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_state (
        collection_id TEXT NOT NULL, as_of INTEGER NOT NULL, delta_version INTEGER NOT NULL,
        PRIMARY KEY (collection_id, as_of)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_state_file (
        collection_id TEXT NOT NULL, as_of INTEGER NOT NULL, path TEXT NOT NULL,
        rows INTEGER NOT NULL, bytes INTEGER NOT NULL, flawed INTEGER NOT NULL,
        PRIMARY KEY (collection_id, as_of, path)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_chunk (
        collection_id TEXT NOT NULL, chunk INTEGER NOT NULL, path TEXT NOT NULL,
        rows INTEGER NOT NULL, bytes INTEGER NOT NULL, flawed INTEGER NOT NULL,
        PRIMARY KEY (collection_id, chunk)
    ) STRICT, WITHOUT ROWID""",
    "CREATE TABLE ledger_seen (collection_id TEXT PRIMARY KEY, seen TEXT NOT NULL) STRICT",
    """CREATE TABLE ledger_taken (
        collection_id TEXT NOT NULL, ts INTEGER NOT NULL, key BLOB NOT NULL, content BLOB NOT NULL,
        PRIMARY KEY (collection_id, key)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_error (
        collection_id TEXT NOT NULL, ts INTEGER NOT NULL, position TEXT NOT NULL, message TEXT NOT NULL,
        hint TEXT, until INTEGER,
        PRIMARY KEY (collection_id, ts)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE ledger_process (
        name TEXT PRIMARY KEY, incarnation INTEGER NOT NULL, sweeps INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
)
