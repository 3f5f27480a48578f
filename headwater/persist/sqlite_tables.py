"""Rows of the ledger's tables in SQLite, and the longer questions.  The tables are in ledger_migrations."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from headwater.core.change import FileEntry
from headwater.core.points import point_from
from headwater.core.relation import Relation
from headwater.persist.ledger import CollectionState

FILE_BYTES = """
SELECT collection_id, sum(bytes) FROM (
    SELECT collection_id, path, bytes FROM ledger_change_file
    UNION SELECT collection_id, path, bytes FROM ledger_state_file
    UNION SELECT collection_id, path, bytes FROM ledger_chunk
) GROUP BY collection_id
"""
"""A file may be in several states; UNION takes it once."""


FLAWED = """
WITH s AS (SELECT collection_id, max(as_of) AS as_of FROM ledger_state GROUP BY collection_id)
SELECT collection_id FROM s JOIN ledger_change_file f USING (collection_id) WHERE f.flawed AND f.ts > s.as_of
UNION SELECT collection_id FROM s JOIN ledger_state_file USING (collection_id, as_of) WHERE flawed
"""

PUT_STATE_FILE = "INSERT INTO ledger_state_file VALUES (?, ?, ?, ?, ?, ?)"


def state_rows(collection_id: str, as_of: int, files: Iterable[FileEntry]) -> list[tuple[object, ...]]:
    """Rows of ledger_state_file."""
    return [(collection_id, as_of, file.path, file.rows, file.bytes, file.flawed) for file in files]


def collection_of(row: tuple[Any, ...]) -> CollectionState:
    """A row of ledger_collection."""
    return CollectionState(
        row[0],
        row[1],
        row[2],
        Relation.from_json(json.loads(row[3])),
        row[4],
        row[5],
        point_from(row[6]),
        row[7],
        bool(row[8]),
        bool(row[9]),
    )
