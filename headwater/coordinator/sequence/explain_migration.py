"""EXPLAIN MIGRATION: the plan of the migration, shown and not carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from headwater.catalog.snapshot import SessionNames
from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.migration import plan
from headwater.coordinator.queries import batches_of
from headwater.core.relation import Column
from headwater.core.types import TEXT, SqlType

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_COLUMNS: Final = ("id", "name", "type", "new_name", "new_type", "new_create_sql", "problem")


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Its columns."""
    return Prepared(parsed, (), tuple(Column(name, TEXT) for name in _COLUMNS))


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """One row for each object that would change."""
    state = session.coordinator.catalog.state
    names = SessionNames(state)
    rows = []
    for step in plan(state).steps:
        before, after = step.before, step.after
        type_ = state.source_type(before) if before.kind == "source" else before.kind
        new = (None, None, None) if after is None else (names.full_name(after), after.kind, after.create_sql)
        rows.append((before.id, names.full_name(before), type_, *new, step.problem))
    arrays = [pa.array([row[place] for row in rows], pa.string()) for place in range(len(_COLUMNS))]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(_COLUMNS))
    return Result(lambda _: "EXPLAIN", prepared.columns, batches_of(batch))
