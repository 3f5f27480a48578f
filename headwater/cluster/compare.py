"""Tasks of a verification: read a chunk of the upstream, compare all of them with the table.

Rows are compared as whole rows, by a hash of 64 bits first, so that a large table costs
little memory; rows whose hashes differ in number are then shown.  Rows in doubt, those that
changed between the two moments that are compared, are left out by a hash of their key.

    round 1    judges every row but those of window 1
    round 2    judges the rows of window 1 but those of window 2
    round 3    judges the rows of both windows but those of window 3, and so on

Where chunks are changes, the upstream's rows are what all of them come to.  Two sorts of rows differ and may
be right all the same; they are counted, and not shown:

    gone       the upstream has forgotten something, and a row may be of that: nothing there speaks of it
    crossing   changes of its key came in several lanes, of which nobody knows any more which was the last

Not here: which moments, and when to stop (verify.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headwater.cluster.tasks import in_state, stamp, task_database
from headwater.core.change import FLAWS, KEY, TICK, FileEntry, ReadPlan, Received
from headwater.core.errors import TransientError
from headwater.core.quoting import quoted
from headwater.formats.arrow import change_schema, state_schema
from headwater.formats.text import to_text
from headwater.persist.answers import StoredAnswers
from headwater.persist.combine import flaw_values, relation_sql, scan_files, spelled_apart
from headwater.persist.files import write_file
from headwater.persist.keys import same_key
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
    source_id: str
    chunk: SnapshotChunk

    def run(self) -> FileEntry:
        chunk, path = self.chunk, fetched_file(self.folder)
        kind, export = SOURCE_TYPES[chunk.source_type], chunk.export
        answers = StoredAnswers(self.store, self.source_id)
        with kind.reading(SecretStore(self.store).get, answers) as read:
            batches = (found for found in read(chunk) if not isinstance(found, Received))
            if not kind.snapshots_are_changes(export):
                rows = in_state(batches, export, 0)
                return write_file(self.store, path, rows, state_schema(export.stored))
            # By lane in place of a timestamp: the order is that of the chunks.
            changes = (stamp(batch, export, chunk.lane, chunk.index) for batch in batches)
            return write_file(self.store, path, changes, change_schema(export.stored))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows that differ: (missing or unexpected here, key, row), as many as may be shown; and what is left."""

    differing: tuple[tuple[str, str, str], ...]
    doubtful_count: int  # keys that no round has judged yet
    gone_count: int = 0
    crossing_count: int = 0


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
    bucket: int = 0  # of this many the one whose rows are compared
    buckets: int = 1
    changes: bool = False  # whether that is what the upstream's files hold
    forgotten: bool = False  # whether the upstream has forgotten something that rows may be of

    def run(self) -> Comparison:
        relation = self.plan.relation
        columns = ", ".join(map(quoted, relation.column_names()))
        keys = ", ".join(map(quoted, self._key()))
        store = self.store
        theirs = [file for file in self.upstream if file.rows]
        rows = f"SELECT {columns}, -1 AS {_COUNT} FROM {self._alike(relation_sql(self.plan, store))}"
        if theirs:
            rows += f" UNION ALL SELECT {columns}, 1 FROM {self._alike(self._of_upstream(theirs))}"
        windows = [self._alike(scan_files(store, files)) for files in self.before]
        touched = [f"SELECT hash({keys}) FROM {window}" for window in windows]
        conditions = [f"hash({keys}) IN ({files})" for files in touched]
        doubtful = "SELECT 0"
        if self.window:
            now = f"SELECT hash({keys}) FROM {self._alike(scan_files(store, self.window))}"
            conditions.append(f"hash({keys}) NOT IN ({now})")
            doubtful = f"SELECT count(*) FROM ({' INTERSECT '.join([*touched, now])})"
        if self.buckets > 1:
            conditions.append(f"hash({keys}) % {self.buckets} = {self.bucket}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        apart = spelled_apart((quoted(column.name), column.type) for column in relation.columns)
        whole = ", ".join((columns, *apart))
        judged = f"SELECT *, hash({whole}) AS {_HASH} FROM ({rows}){where}"
        sql = (
            f"CREATE TEMP TABLE found AS WITH judged AS ({judged}),"
            f" differing AS (SELECT {_HASH} FROM judged GROUP BY {_HASH} HAVING sum({_COUNT}) <> 0)"
            f" SELECT CASE WHEN sum({_COUNT}) > 0 THEN '{MISSING}' ELSE '{UNEXPECTED}' END AS {_RESULT},"
            f" {columns}"
            f" FROM judged SEMI JOIN differing USING ({_HASH}) GROUP BY {whole} HAVING sum({_COUNT}) <> 0"
        )
        crossing = self._crossing(theirs)
        gone = f"NOT ({crossing}) AND {self._gone(theirs)}"
        shown = (
            f"SELECT * FROM found AS f WHERE NOT ({crossing}) AND NOT ({gone})"
            f" ORDER BY {keys}, {_RESULT} LIMIT {self.rows_max}"
        )
        asked = [doubtful, *(f"SELECT count(*) FROM found AS f WHERE {which}" for which in (gone, crossing))]
        with task_database(store, self.memory_bytes) as connection:
            try:
                connection.execute(sql)
                found = connection.sql(shown).to_arrow_table()
                counts = [connection.execute(query).fetchone() or (0,) for query in asked]
                return Comparison(self._shown(found), *(int(count) for (count,) in counts))
            except duckdb.Error as error:
                raise TransientError(f"could not compare: {str(error).splitlines()[0]}") from error

    def _of_upstream(self, theirs: list[FileEntry]) -> str:
        if not self.changes:
            return scan_files(self.store, theirs)
        tail = tuple(replace(file, deletes=file.rows) for file in theirs)
        plan = replace(self.plan, state=(), tail=tail)
        share = (self.bucket, self.buckets) if self.buckets > 1 else None
        return relation_sql(plan, self.store, share=share)

    def _crossing(self, theirs: list[FileEntry]) -> str:
        """Of a row that differs: whether several lanes have changes of its key."""
        if not self.changes or not theirs:
            return "false"
        keys = [quoted(name) for name in self._key()]
        listed = ", ".join(keys)
        lanes = (
            f"SELECT {listed} FROM {scan_files(self.store, theirs)} GROUP BY {listed}"
            f" HAVING count(DISTINCT {TICK}) > 1"
        )
        return f"EXISTS (SELECT 1 FROM ({lanes}) AS l WHERE {same_key('f', 'l', keys)})"

    def _gone(self, theirs: list[FileEntry]) -> str:
        """Of a row that differs: whether the upstream may have had it, and says nothing of its key by now."""
        if not self.forgotten:
            return "false"
        only_here = f"f.{_RESULT} = '{UNEXPECTED}'"
        if self.plan.discipline != "keyed" or not theirs:
            return only_here
        same = same_key("f", "o", [quoted(name) for name in self._key()])
        return (
            f"{only_here} AND NOT EXISTS (SELECT 1 FROM {scan_files(self.store, theirs)} AS o WHERE {same})"
        )

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
            if column.name not in (FLAWS, KEY)
        }
        listed = [
            [f"({', '.join(row)})" for row in zip(*(texts[n] for n in names if n in texts), strict=True)]
            for names in (self._key(), self.plan.relation.column_names())
        ]
        return tuple(zip(rows.column(_RESULT).to_pylist(), *listed, strict=True))

    def _key(self) -> tuple[str, ...]:
        relation = self.plan.relation
        return relation.key_names() if self.plan.discipline == "keyed" else relation.column_names()
