"""The changes that make a table what was read of it again.

    keyed      rows that are other than ours come; of those that are not there any more the key goes
    counted    all rows come, after a reset: what was taken out more often than it came shows nowhere,
               so that what is there now says nothing about what is lacking

They are changes of the binding at which the table joined, which has no others of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.cluster.tasks import write_query
from headwater.core.change import DELETE, INSERT, OP, SEQUENCE, TICK, FileEntry, ReadPlan
from headwater.core.quoting import quoted
from headwater.formats.arrow import change_schema
from headwater.formats.engine_types import duckdb_stored
from headwater.persist.combine import relation_sql, scan_files, spelled_apart
from headwater.persist.keys import same_key
from headwater.persist.layout import change_file
from headwater.persist.store import DataStore


@dataclass(frozen=True, slots=True)
class DifferenceTask:
    """Write the changes that make one bucket of a table what these files hold."""

    store: DataStore
    claim: str
    plan: ReadPlan
    found: tuple[FileEntry, ...]
    bucket: int
    buckets: int
    memory_bytes: int

    def run(self) -> FileEntry:
        store, plan = self.store, self.plan
        path = change_file(plan.collection_id, plan.as_of, self.bucket, self.claim)
        keyed = plan.discipline == "keyed"
        theirs = self._bucket(scan_files(store, self.found) if self.found else _nothing(plan))
        changes = (
            self._differing(self._bucket(relation_sql(plan, store)), theirs)
            if keyed
            else f"SELECT *, '{INSERT}' FROM {theirs}"
        )
        names = ", ".join(map(quoted, (*plan.relation.column_names(), OP)))
        hidden = f"0::BIGINT AS {SEQUENCE}, {plan.as_of}::BIGINT AS {TICK}"
        query = f"SELECT f.*, {hidden} FROM ({changes}) AS f({names})"
        inputs = (*plan.state, *plan.tail, *self.found)
        schema = change_schema(plan.relation)
        written = write_query(store, query, inputs, path, plan.collection_id, schema, self.memory_bytes)
        return replace(written, resets=not keyed)

    def _bucket(self, rows: str) -> str:
        """With columns c0, c1, ..., whatever they are called."""
        relation = self.plan.relation
        names = relation.key_names() if self.plan.discipline == "keyed" else relation.column_names()
        hashed = f"hash({', '.join(map(quoted, names))})"
        where = f" WHERE {hashed} % {self.buckets} = {self.bucket}" if self.buckets > 1 else ""
        listed = ", ".join(f"{quoted(name)} AS c{i}" for i, name in enumerate(relation.column_names()))
        return f"(SELECT {listed} FROM {rows}{where})"

    def _differing(self, ours: str, theirs: str) -> str:
        columns = self.plan.relation.columns
        keys = self.plan.relation.keys[0]
        sides = [
            [f"{side}.c{i}" for i in range(len(columns))]
            + spelled_apart((f"{side}.c{i}", column.type) for i, column in enumerate(columns))
            for side in "to"
        ]
        same_row = " AND ".join(f"{t} IS NOT DISTINCT FROM {o}" for t, o in zip(*sides, strict=True))
        same = same_key("o", "t", (f"c{i}" for i in keys))
        gone = ", ".join(f"c{i}" if i in keys else f"NULL AS c{i}" for i in range(len(columns)))
        return (
            f"SELECT *, '{INSERT}' AS {OP} FROM {theirs} AS t ANTI JOIN {ours} AS o ON {same_row}"
            f" UNION ALL SELECT {gone}, '{DELETE}' FROM {ours} AS o ANTI JOIN {theirs} AS t ON {same}"
        )


def _nothing(plan: ReadPlan) -> str:
    typed = (
        f"NULL::{duckdb_stored(column.type)} AS {quoted(column.name)}" for column in plan.relation.columns
    )
    return f"(SELECT {', '.join(typed)} WHERE false)"
