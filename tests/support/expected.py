"""What a table fed by a load generator must hold: computed here, not asked of the server.

A generator is arithmetic, so the rows of a table at the frontier that its source
shows are known without the engine: `sources.load_generator` makes them in this
process from what the catalog says of the source and of the table's export.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

from headwater.sources.contract import Export
from headwater.sources.load_generator import KIND, read
from tests.support.metadata import metadata_rows

_CHUNK_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Fed:
    """A table, the source that feeds it, and what the catalog says of both."""

    table: str
    source: str
    options: dict[str, Any]
    export: Export

    def rows_at(self, offset: int | None) -> Counter[tuple[Any, ...]]:
        """The rows once the source has progressed to `offset`; None is its end."""
        at = KIND.frontier_from_json(offset)
        found: Counter[tuple[Any, ...]] = Counter()
        for chunk in read.plan_snapshot(self.options, self.export, at, _CHUNK_ROWS):
            for batch in read.snapshot(chunk):
                columns = [column.to_pylist() for column in batch.columns]
                found.update(plain(row) for row in zip(*columns, strict=True))
        return found


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values in one form, whether they came over the wire (uint8 as text) or from Arrow (as decimal)."""
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def fed(data_dir: Path, table: str) -> Fed:
    """What the catalog says of a table that is fed by a load generator."""
    rows = metadata_rows(data_dir, "SELECT id, name, kind, details, dependencies FROM item")
    by_id = {row[0]: row for row in rows}
    found = next(row for row in rows if row[1] == table and row[2] == "table")
    source = next(by_id[id_] for id_ in json.loads(found[4]) if by_id[id_][2] == "source")
    return Fed(
        table,
        source[1],
        json.loads(source[3])["options"],
        Export.from_json(json.loads(found[3])["export"]),
    )


def check_equals_upstream(connection: psycopg.Connection[Any], tables: list[Fed]) -> dict[str, int]:
    """Read every table and its source's progress at one timestamp; the table must be the upstream there.

    Returns the offset of each source, so that the caller can see them advance.
    """
    offsets: dict[str, int] = {}
    with connection.transaction():
        for table in tables:
            rows = connection.execute(f"SELECT * FROM {table.table}".encode()).fetchall()
            progress = connection.execute(f"SELECT * FROM {table.source}".encode()).fetchall()
            offset = None if progress[0][0] is None else int(progress[0][0])
            got = Counter(plain(row) for row in rows)
            wanted = table.rows_at(offset)
            if got != wanted:
                missing, extra = list((wanted - got).items())[:3], list((got - wanted).items())[:3]
                raise AssertionError(
                    f"{table.table} at offset {offset}: {got.total()} rows, {wanted.total()} expected;"
                    f" missing {missing}, too many {extra}"
                )
            offsets[table.source] = -1 if offset is None else offset
    return offsets
