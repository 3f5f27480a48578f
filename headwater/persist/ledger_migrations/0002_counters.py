"""What was counted of requests, as of the newest append of a table that they write."""

from __future__ import annotations

STATEMENTS = ("CREATE TABLE ledger_counters (collection_id TEXT PRIMARY KEY, counters TEXT NOT NULL) STRICT",)
