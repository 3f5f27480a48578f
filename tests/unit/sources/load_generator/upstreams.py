"""Small sources of every generator, and the plainest possible reader of them.

Not a test: rows are Python tuples here, in text form, so that any two can be compared.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import pyarrow as pa

from headwater.core.frontier import OffsetFrontier
from headwater.sources.contract import Export, Options, ReadPart, Reference
from headwater.sources.load_generator import read, references, resolve_options

NOW_MS = 1_700_000_000_000
ROWS_MAX = 10**9

Row: TypeAlias = tuple[str, ...]
Change: TypeAlias = tuple[str, Row]

KEY_VALUE: dict[str, Any] = {
    "KEYS": 24,
    "SNAPSHOT ROUNDS": 2,
    "VALUE SIZE": 11,
    "SEED": 7,
    "PARTITIONS": 2,
    "BATCH SIZE": 3,
}

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "auction": ("AUCTION", {"AS OF": 40}),
    "clock": ("CLOCK", {}),
    "counter": ("COUNTER", {}),
    "counter of 5": ("COUNTER", {"MAX CARDINALITY": 5}),
    "datums": ("DATUMS", {}),
    "key value": ("KEY VALUE", KEY_VALUE | {"TICK INTERVAL": "1s"}),
    "key value in batches": (
        "KEY VALUE",
        KEY_VALUE | {"TICK INTERVAL": "1s", "TRANSACTIONAL SNAPSHOT": False},
    ),
    "marketing": ("MARKETING", {}),
    "tpch": ("TPCH", {"SCALE FACTOR": 0.0001, "TICK INTERVAL": "1s"}),
    "static tpch": ("TPCH", {"SCALE FACTOR": 0.0001}),
}
"""Generators small enough to be replayed from the beginning."""


def small(name: str) -> dict[str, Any]:
    generator, given = SMALL[name]
    return resolve_options(generator, given, NOW_MS)


def export_of(reference: Reference) -> Export:
    relation = reference.relation
    return Export(
        f"u_{reference.name}", reference.path(), relation, relation.column_names(), reference.discipline
    )


def exports_of(options: Options) -> tuple[Export, ...]:
    return tuple(export_of(reference) for reference in references(options))


def rows_of(batch: pa.RecordBatch, count: int) -> list[Row]:
    columns = [[repr(value) for value in column.to_pylist()] for column in batch.columns[:count]]
    return list(zip(*columns, strict=True))


def changes_of_parts(parts: tuple[ReadPart, ...]) -> dict[str, list[Change]]:
    """Changes by table, ordered by (part's index, _sequence)."""
    found: dict[str, list[tuple[int, int, Change]]] = {}
    for part in parts:
        for export, batch in read.read(part):
            batch.validate(full=True)
            rows = rows_of(batch, len(export.columns))
            ops, sequences = (batch.column(name).to_pylist() for name in ("_op", "_sequence"))
            found.setdefault(export.table_id, []).extend(
                (part.index, sequence, (op, row))
                for op, sequence, row in zip(ops, sequences, rows, strict=True)
            )
    return {table: [change for _, _, change in sorted(changes)] for table, changes in found.items()}


def read_between(options: Options, start: int | None, end: int | None) -> dict[str, list[Change]]:
    """The changes of [start, end) in one plan that is not cut."""
    at, parts = read.plan_read(
        options, OffsetFrontier(start), OffsetFrontier(end), exports_of(options), ROWS_MAX
    )
    assert at == OffsetFrontier(end)
    return changes_of_parts(parts)


def read_each(options: Options, start: int, end: int) -> dict[str, list[tuple[str, int, Row]]]:
    """The changes of each offset in [start, end): (op, offset, row)."""
    found: dict[str, list[tuple[str, int, Row]]] = {}
    for offset in range(start, end):
        for table, changes in read_between(options, offset, offset + 1).items():
            found.setdefault(table, []).extend((op, offset, row) for op, row in changes)
    return found


def snapshot_at(options: Options, export: Export, at: int | None, chunk_rows: int = ROWS_MAX) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for chunk in read.plan_snapshot(options, export, OffsetFrontier(at), chunk_rows):
        for batch in read.snapshot(chunk):
            batch.validate(full=True)
            rows.update(rows_of(batch, len(export.columns)))
    return rows


def applied(export: Export, rows: Counter[Row], changes: list[Change]) -> Counter[Row]:
    """The bag of rows after these changes, by the table's discipline."""
    keys = [export.relation.column_names().index(name) for name in export.relation.key_names()]
    if export.discipline == "keyed":
        by_key = {tuple(row[i] for i in keys): row for row in rows}
        for op, row in changes:
            key = tuple(row[i] for i in keys)
            if op == "+":
                by_key[key] = row
            else:
                del by_key[key]
        return Counter(by_key.values())
    after = Counter(rows)
    for op, row in changes:
        if op == "+":
            after[row] += 1
        else:
            assert export.discipline == "counted"
            assert after[row] > 0, f"{row} is taken away but is not there"
            after[row] -= 1
    return +after


def table_of(options: Options, name: str, at: int | None) -> pa.Table:
    """A whole output at a frontier, as Arrow."""
    export = next(export for export in exports_of(options) if export.reference[-1] == name)
    chunks = read.plan_snapshot(options, export, OffsetFrontier(at), ROWS_MAX)
    batches = [batch for chunk in chunks for batch in read.snapshot(chunk)]
    return pa.Table.from_batches(batches)
