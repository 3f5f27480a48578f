"""Tasks of a verification: read a chunk of the upstream, compare all of them with the table.

Rows are compared as whole rows, by a hash of 64 bits first, so that a large table costs
little memory; rows whose hashes differ in number are then shown.  Rows in doubt, those that
changed between the two moments that are compared, are left out by a hash of their key.

    round 1    judges every row but those of window 1
    round 2    judges the rows of window 1 but those of window 2
    round 3    judges the rows of both windows but those of window 3, and so on

Not here: which moments, and when to stop (verify.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from headwater.core.change import FileEntry, ReadPlan
from headwater.core.errors import TransientError
from headwater.formats.arrow import state_schema
from headwater.persist.combine import quote, relation_sql, scan_files, spelled_apart
from headwater.persist.files import write_file
from headwater.persist.secrets import SecretStore
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import SnapshotChunk

MISSING, UNEXPECTED = "missing", "unexpected"
_COUNT, _HASH = "_diff", "_position"  # names that no column of a table can have


@dataclass(frozen=True, slots=True)
class FetchTask:
    """Read a chunk of a snapshot into a file of the verification's own."""

    data_dir: str
    folder: str  # relative to the data directory
    chunk: SnapshotChunk

    def run(self) -> FileEntry:
        data_dir = Path(self.data_dir)
        path = f"{self.folder}/{self.chunk.index}.parquet"
        with SOURCE_TYPES[self.chunk.source_type].reading(SecretStore(data_dir).get) as read:
            return write_file(data_dir, path, read(self.chunk), state_schema(self.chunk.export.relation))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows that differ: (missing or unexpected here, key, row), as many as may be shown; and what is left."""

    differing: tuple[tuple[str, str, str], ...]
    doubtful_count: int  # keys that no round has judged yet


@dataclass(frozen=True, slots=True)
class CompareTask:
    """What the table and the upstream's rows do not have in common."""

    data_dir: str
    plan: ReadPlan
    upstream: tuple[FileEntry, ...]
    window: tuple[FileEntry, ...]  # change files whose rows are in doubt now
    before: tuple[tuple[FileEntry, ...], ...]  # the windows of earlier rounds: rows of all of them are judged
    rows_max: int
    memory_bytes: int

    def run(self) -> Comparison:
        relation = self.plan.relation
        columns = ", ".join(map(quote, relation.column_names()))
        keys = ", ".join(map(quote, self._key()))
        data_dir = Path(self.data_dir)
        theirs = [file for file in self.upstream if file.rows]
        rows = f"SELECT {columns}, -1 AS {_COUNT} FROM {relation_sql(self.plan, data_dir)}"
        if theirs:
            rows += f" UNION ALL SELECT {columns}, 1 FROM {scan_files(data_dir, theirs)}"
        touched = [f"SELECT hash({keys}) FROM {scan_files(data_dir, files)}" for files in self.before]
        conditions = [f"hash({keys}) IN ({files})" for files in touched]
        doubtful = "SELECT 0"
        if self.window:
            now = f"SELECT hash({keys}) FROM {scan_files(data_dir, self.window)}"
            conditions.append(f"hash({keys}) NOT IN ({now})")
            doubtful = f"SELECT count(*) FROM ({' INTERSECT '.join([*touched, now])})"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        apart = spelled_apart((quote(column.name), column.type) for column in relation.columns)
        whole = ", ".join((columns, *apart))
        judged = f"SELECT *, hash({whole}) AS {_HASH} FROM ({rows}){where}"
        sql = (
            f"WITH judged AS ({judged}),"
            f" differing AS (SELECT {_HASH} FROM judged GROUP BY {_HASH} HAVING sum({_COUNT}) <> 0)"
            f" SELECT CASE WHEN sum({_COUNT}) > 0 THEN '{MISSING}' ELSE '{UNEXPECTED}' END,"
            f" {_shown(self._key())}, {_shown(relation.column_names())}"
            f" FROM judged SEMI JOIN differing USING ({_HASH}) GROUP BY {whole} HAVING sum({_COUNT}) <> 0"
            f" ORDER BY 2, 1 LIMIT {self.rows_max}"
        )
        with duckdb.connect() as connection:
            settings = f"SET memory_limit = '{self.memory_bytes}B'; SET threads = 1; SET TimeZone = 'UTC'"
            try:
                connection.execute(settings)
                found = tuple((str(r), str(k), str(v)) for r, k, v in connection.execute(sql).fetchall())
                (count,) = connection.execute(doubtful).fetchone() or (0,)
                return Comparison(found, int(count))
            except duckdb.Error as error:
                raise TransientError(f"could not compare: {str(error).splitlines()[0]}") from error

    def _key(self) -> tuple[str, ...]:
        relation = self.plan.relation
        return relation.key_names() if self.plan.discipline == "keyed" else relation.column_names()


def _shown(columns: Sequence[str]) -> str:
    """Values of a row for people, as `(1, x, NULL)`."""
    values = " || ', ' || ".join(f"coalesce(CAST({quote(column)} AS VARCHAR), 'NULL')" for column in columns)
    return f"'(' || {values} || ')'"
