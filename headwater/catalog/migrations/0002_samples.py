"""Histories of numbers: how far objects were behind the clock, how much their files took."""

from __future__ import annotations

STATEMENTS = (
    """CREATE TABLE sample (
        kind TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        object_id TEXT NOT NULL,
        replica_id TEXT,
        value INTEGER,
        PRIMARY KEY (kind, at_ms, object_id)
    ) STRICT, WITHOUT ROWID""",
)
