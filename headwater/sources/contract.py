"""What the engine asks of an upstream kind: a record of functions, not a class tree.

    CREATE SOURCE          references(options)             what could be ingested; asked once
    every tick             probe(options, now)             how far could be read right now
                           plan_read(...)                  a definite range, cut into parts
      in Spark tasks       read(part)                      the changes of that range, per export
    CREATE TABLE           plan_snapshot(...)              chunks of a reference at one frontier
      in Spark tasks       snapshot(chunk)                 the rows of a chunk
    after a commit         acknowledge(options, frontier)  upstream may forget before this

Definite: the same range read twice gives the same changes in the same order, so a
retried task or a restarted process cannot change history.  A snapshot at frontier
X shows exactly the changes before X; the engine cuts a tick at X, so the snapshot
is the table's state as of that tick's binding.

Parts and chunks are plain picklable values.  `read` and `snapshot` run in other
processes, possibly on other machines, and yield Arrow batches column-wise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.core.change import Discipline
from headwater.core.frontier import Frontier
from headwater.core.relation import Column, Relation

Options = Mapping[str, Any]
"""A source's own options: JSON values, kept in the catalog, the same in every process."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Something of an upstream that may be ingested."""

    namespace: tuple[str, ...]  # ("mz_load_generators", "auction")
    name: str
    relation: Relation
    discipline: Discipline

    def path(self) -> tuple[str, ...]:
        return (*self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Export:
    """The tie of one table to one reference: which columns it takes and how they are kept."""

    table_id: str
    reference: tuple[str, ...]  # Reference.path()
    relation: Relation  # the table's columns; names may differ from the reference's
    columns: tuple[str, ...]  # the reference's column for each of them
    discipline: Discipline
    options: tuple[tuple[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "table_id": self.table_id,
            "reference": list(self.reference),
            "relation": self.relation.to_json(),
            "columns": list(self.columns),
            "discipline": self.discipline,
            "options": [list(pair) for pair in self.options],
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Export:
        return Export(
            value["table_id"],
            tuple(value["reference"]),
            Relation.from_json(value["relation"]),
            tuple(value["columns"]),
            value["discipline"],
            tuple((name, option) for name, option in value["options"]),
        )


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One task's share of a tick: positions [start, end) for these exports."""

    source_type: str
    options: Options
    start: Any  # frontier in JSON form
    end: Any
    exports: tuple[Export, ...]
    index: int = 0  # order of the parts of one tick; the engine orders changes by (index, _sequence)
    details: Any = None  # the source type's own


@dataclass(frozen=True, slots=True)
class SnapshotChunk:
    """One task's share of a snapshot of one export at frontier `at`."""

    source_type: str
    options: Options
    at: Any  # frontier in JSON form
    export: Export
    index: int
    rows_estimate: int
    details: Any = None


@dataclass(frozen=True, slots=True)
class SourceType:
    """An upstream kind."""

    name: str  # as mz_sources.type has it: "load-generator"
    progress_columns: tuple[Column, ...]
    progress_rows: Callable[[Any], list[tuple[Any, ...]]]  # frontier in JSON form -> rows of the source
    frontier_from_json: Callable[[Any], Frontier]
    start: Callable[[Options], Frontier]  # where a new source begins
    references: Callable[[Options], tuple[Reference, ...]]
    probe: Callable[[Options, int], Frontier]  # (options, now in ms) -> how far could be read
    plan_read: Callable[
        [Options, Frontier, Frontier, tuple[Export, ...], int], tuple[Frontier, tuple[ReadPart, ...]]
    ]
    """(options, start, end, exports, rows_max) -> (the end after cutting at rows_max, parts)."""
    read: Callable[[ReadPart], Iterator[tuple[Export, pa.RecordBatch]]]  # batches in change_schema
    plan_snapshot: Callable[[Options, Export, Frontier, int], tuple[SnapshotChunk, ...]]
    """(options, export, at, rows per chunk) -> chunks."""
    snapshot: Callable[[SnapshotChunk], Iterator[pa.RecordBatch]]  # batches in state_schema
    offset: Callable[[Frontier], int | None]  # one number for lag statistics; None at the end
    acknowledge: Callable[[Options, Frontier], None] = lambda options, frontier: None
