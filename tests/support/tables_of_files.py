"""Tables as files: writes real change files and states, reads them back as Python rows.

Used by tests that compare what DuckDB makes of files with a model of plain Python values.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from headwater.core.change import FileEntry, ReadPlan
from headwater.core.relation import Relation
from headwater.formats.arrow import change_schema, state_schema
from headwater.persist.combine import relation_sql
from headwater.persist.files import write_file
from headwater.persist.local import LocalStore

Row = tuple[Any, ...]
Change = tuple[str, int, int, Row]
"""(operation, tick, sequence, row)"""


def new_directory() -> Path:
    """For state machines, which write much: in memory where the machine has a place for that."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))


def write_changes(data_dir: Path, path: str, relation: Relation, changes: Sequence[Change]) -> FileEntry:
    rows = [(*row, operation, sequence, tick) for operation, tick, sequence, row in changes]
    return _write(data_dir, path, rows, change_schema(relation))


def write_state(data_dir: Path, path: str, relation: Relation, rows: Sequence[Row]) -> FileEntry:
    return _write(data_dir, path, rows, state_schema(relation))


def _write(data_dir: Path, path: str, rows: Sequence[Row], schema: pa.Schema) -> FileEntry:
    arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return write_file(
        LocalStore(data_dir), path, iter([pa.RecordBatch.from_arrays(arrays, schema=schema)]), schema
    )


def comparable(value: Any) -> Any:
    """The value as something hashable that equals itself alone: -0 is not 0."""
    if isinstance(value, float):
        return str(value)
    if isinstance(value, list):
        return tuple(comparable(part) for part in value)
    return value


def bag(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(tuple(comparable(value) for value in row) for row in rows)


class Reader:
    """DuckDB, as the product's engine sets it up."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")

    def table(self, plan: ReadPlan) -> pa.Table:
        return self._connection.sql(
            f"SELECT * FROM {relation_sql(plan, LocalStore(self._data_dir))}"
        ).to_arrow_table()

    def rows(self, plan: ReadPlan) -> Counter[Row]:
        columns = [column.to_pylist() for column in self.table(plan).columns]
        return bag(zip(*columns, strict=True))

    def query(self, text: str) -> pa.Table:
        return self._connection.sql(text).to_arrow_table()

    def close(self) -> None:
        self._connection.close()
