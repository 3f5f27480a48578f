"""What a verification shows of rows that differ: their values as PostgreSQL prints them.

Method: files of rows here and there, of types whose stored form is not their text.  What VERIFY finds is
tested with a real upstream in tests/postgres/test_verify.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.cluster.compare import CompareTask
from headwater.core.change import DELETE, INSERT, OP, SEQUENCE, TICK, Discipline, FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import BOOL, BYTEA, FLOAT8, INT4, INTERVAL, TEXT, TIMESTAMPTZ, array_of, numeric
from headwater.formats.arrow import change_schema, state_schema
from headwater.formats.text import from_text
from headwater.persist.files import write_file
from headwater.persist.local import LocalStore

COLUMNS = (
    Column("k", INT4),
    Column("a", array_of(INT4)),
    Column("i", INTERVAL),
    Column("z", TIMESTAMPTZ),
    Column("f", FLOAT8),
    Column("b", BYTEA),
    Column("n", numeric()),
    Column("d", numeric(2)),
    Column("t", TEXT),
    Column("o", BOOL),
)
SAME = ("1", "{1,2}", "1 mon", "2020-01-01 00:00:00+00", "1.5", "\\x00ff", "1.50", "2.50", "x", "t")
HERE = (
    "2",
    "{{1,2},{3,4}}",
    "1 year 2 mons",
    "infinity",
    "-0",
    "\\x",
    "1e2",
    "NaN",
    "(a, b)",
    "f",
)
THERE = ("10", "[0:1]={NULL,5}", "-3 days", "0044-03-15 12:00:00+00 BC", "NaN", None, None, None, None, None)


def _write(folder: Path, name: str, rows: list[tuple[str | None, ...]]) -> FileEntry:
    schema = state_schema(Relation(COLUMNS))
    arrays = [
        from_text(pa.array(list(texts), pa.string()), column.type)
        for texts, column in zip(zip(*rows, strict=True), COLUMNS, strict=True)
    ]
    table = pa.table(arrays, schema=schema)
    return write_file(LocalStore(folder), f"{name}.parquet", iter(table.to_batches()), schema)


@pytest.mark.parametrize("discipline", ["keyed", "counted"])
def test_rows_that_differ_are_shown_as_postgresql_prints_them(discipline: Discipline, tmp_path: Path) -> None:
    relation = Relation(COLUMNS, ((0,),) if discipline == "keyed" else ())
    here = _write(tmp_path, "here", [SAME, HERE])
    there = _write(tmp_path, "there", [THERE, SAME])
    plan = ReadPlan("u1", relation, discipline, 5, 5, (here,), ())
    found = CompareTask(LocalStore(tmp_path), plan, (there,), (), (), 10, 2**28).run()
    ours = "(2, {{1,2},{3,4}}, 1 year 2 mons, infinity, -0, \\x, 100, NaN, (a, b), f)"
    theirs = "(10, [0:1]={NULL,5}, -3 days, 0044-03-15 12:00:00+00 BC, NaN, NULL, NULL, NULL, NULL, NULL)"
    keys = ("(2)", "(10)") if discipline == "keyed" else (ours, theirs)
    assert found.differing == (("unexpected", keys[0], ours), ("missing", keys[1], theirs))
    assert found.doubtful_count == 0


def test_a_row_that_the_upstream_has_deleted_is_none_that_it_has_forgotten(tmp_path: Path) -> None:
    relation = Relation((Column("k", INT4), Column("t", TEXT)), ((0,),))

    def written(name: str, schema: pa.Schema, **columns: Any) -> FileEntry:
        batch = pa.RecordBatch.from_pydict(columns, schema=schema)
        return write_file(LocalStore(tmp_path), f"{name}.parquet", iter([batch]), schema)

    here = written("here", state_schema(relation), k=[1, 2, 3], t=["forgotten", "deleted", "other"])
    hidden = {OP: [DELETE, INSERT], SEQUENCE: [0, 1], TICK: [0, 0]}
    there = written("there", change_schema(relation), k=[2, 3], t=[None, "newest"], **hidden)
    plan = ReadPlan("u1", relation, "keyed", 5, 5, (here,), ())
    task = CompareTask(LocalStore(tmp_path), plan, (there,), (), (), 10, 2**28, changes=True, forgotten=True)
    found = task.run()
    assert [(what, row) for what, _, row in found.differing] == [
        ("unexpected", "(2, deleted)"),
        ("missing", "(3, newest)"),
        ("unexpected", "(3, other)"),
    ]
    assert found.gone_count == 1
