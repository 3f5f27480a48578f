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

from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headwater.cluster.tasks import in_state, task_database
from headwater.core.change import FLAWS, FileEntry, ReadPlan
from headwater.core.errors import TransientError
from headwater.core.quoting import quoted
from headwater.formats.arrow import state_schema
from headwater.formats.text import to_text
from headwater.persist.combine import flaw_values, relation_sql, scan_files, spelled_apart
from headwater.persist.files import write_file
from headwater.persist.layout import fetched_file
from headwater.persist.secrets import SecretStore
from headwater.persist.store import DataStore
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import SnapshotChunk

MISSING, UNEXPECTED = "missing", "unexpected"
_COUNT, _HASH, _RESULT = "_diff", "_tick", "_op"  # names that no column of a table can have


@dataclass(frozen=True, slots=True)
class FetchTask:
    """Read a chunk of a snapshot into a file of the verification's own."""

    store: DataStore
    folder: str  # of the store
    chunk: SnapshotChunk

    def run(self) -> FileEntry:
        with SOURCE_TYPES[self.chunk.source_type].reading(SecretStore(self.store).get) as read:
            rows = in_state(read(self.chunk), self.chunk.export, 0)
            path = fetched_file(self.folder)
            return write_file(self.store, path, rows, state_schema(self.chunk.export.stored))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows that differ: (missing or unexpected here, key, row), as many as may be shown; and what is left."""

    differing: tuple[tuple[str, str, str], ...]
    doubtful_count: int  # keys that no round has judged yet


@dataclass(frozen=True, slots=True)
class CompareTask:
    """What the table and the upstream's rows do not have in common."""

    store: DataStore
    plan: ReadPlan
    upstream: tuple[FileEntry, ...]
    window: tuple[FileEntry, ...]  # change files whose rows are in doubt now
    before: tuple[tuple[FileEntry, ...], ...]  # the windows of earlier rounds: rows of all of them are judged
    rows_max: int
    memory_bytes: int

    def run(self) -> Comparison:
        relation = self.plan.relation
        columns = ", ".join(map(quoted, relation.column_names()))
        keys = ", ".join(map(quoted, self._key()))
        store = self.store
        theirs = [file for file in self.upstream if file.rows]
        rows = f"SELECT {columns}, -1 AS {_COUNT} FROM {self._alike(relation_sql(self.plan, store))}"
        if theirs:
            rows += f" UNION ALL SELECT {columns}, 1 FROM {self._alike(scan_files(store, theirs))}"
        windows = [self._alike(scan_files(store, files)) for files in self.before]
        touched = [f"SELECT hash({keys}) FROM {window}" for window in windows]
        conditions = [f"hash({keys}) IN ({files})" for files in touched]
        doubtful = "SELECT 0"
        if self.window:
            now = f"SELECT hash({keys}) FROM {self._alike(scan_files(store, self.window))}"
            conditions.append(f"hash({keys}) NOT IN ({now})")
            doubtful = f"SELECT count(*) FROM ({' INTERSECT '.join([*touched, now])})"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        apart = spelled_apart((quoted(column.name), column.type) for column in relation.columns)
        whole = ", ".join((columns, *apart))
        judged = f"SELECT *, hash({whole}) AS {_HASH} FROM ({rows}){where}"
        sql = (
            f"WITH judged AS ({judged}),"
            f" differing AS (SELECT {_HASH} FROM judged GROUP BY {_HASH} HAVING sum({_COUNT}) <> 0)"
            f" SELECT CASE WHEN sum({_COUNT}) > 0 THEN '{MISSING}' ELSE '{UNEXPECTED}' END AS {_RESULT},"
            f" {columns}"
            f" FROM judged SEMI JOIN differing USING ({_HASH}) GROUP BY {whole} HAVING sum({_COUNT}) <> 0"
            f" ORDER BY {keys}, {_RESULT} LIMIT {self.rows_max}"
        )
        with task_database(store, self.memory_bytes) as connection:
            try:
                found = connection.sql(sql).to_arrow_table()
                (count,) = connection.execute(doubtful).fetchone() or (0,)
                return Comparison(self._shown(found), int(count))
            except duckdb.Error as error:
                raise TransientError(f"could not compare: {str(error).splitlines()[0]}") from error

    def _alike(self, rows: str) -> str:
        """The rows, with flaws that are the same whenever they came."""
        flaws = self.plan.relation.flaws
        if flaws is None:
            return rows
        return f"(SELECT * REPLACE ({flaw_values(quoted(flaws))} AS {quoted(flaws)}) FROM {rows})"

    def _shown(self, rows: pa.Table) -> tuple[tuple[str, str, str], ...]:
        """Rows for people, as `(1, x, NULL)`: what is the matter with each, its key, all that readers see."""
        texts = {
            column.name: pc.fill_null(to_text(rows.column(column.name), column.type), "NULL").to_pylist()
            for column in self.plan.relation.columns
            if column.name != FLAWS
        }
        listed = [
            [f"({', '.join(row)})" for row in zip(*(texts[n] for n in names if n in texts), strict=True)]
            for names in (self._key(), self.plan.relation.column_names())
        ]
        return tuple(zip(rows.column(_RESULT).to_pylist(), *listed, strict=True))

    def _key(self) -> tuple[str, ...]:
        relation = self.plan.relation
        return relation.key_names() if self.plan.discipline == "keyed" else relation.column_names()
