"""The kernel that follows carried values leads where DuckDB's recursion leads.

Method: the same tails of random changes as in persist/test_carried.py; DuckDB computes `found` and `origins`,
the kernel gets the former.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.cluster.origins import follow, origins
from headwater.core.change import SEQUENCE, TICK
from headwater.persist.carried import ASKED, DUCKDB, MOVE, carried_tables, origin_tables
from tests.support.carrying import TABLE, Upstream
from tests.support.tables_of_files import Reader, write_changes

KEYS = ("k", "l")


@pytest.mark.parametrize("seed", range(20, 24))
def test_the_kernel_leads_where_the_recursion_leads(tmp_path: Path, seed: int) -> None:
    upstream = Upstream(seed)
    changes = [change for n in range(150) for change in upstream.change(1 + n // 10, 2 * n)]
    file = write_changes(tmp_path, "t.parquet", TABLE, changes)
    reader = Reader(tmp_path)
    rank = f"{TICK}::HUGEINT * {2**63}::HUGEINT + {SEQUENCE} AS _rank"
    tables = (
        f"WITH RECURSIVE tail AS (SELECT *, {rank} FROM '{tmp_path / file.path}'),"
        " last AS (SELECT * FROM tail QUALIFY row_number() OVER (PARTITION BY k, l ORDER BY _rank DESC) = 1),"
        f" {carried_tables(KEYS, DUCKDB)}, {origin_tables()}"
    )
    text = "CAST({} AS VARCHAR) AS {}"
    rank, leads_to = text.format("_rank", "_rank"), text.format("_from", "_from")
    found = reader.query(f"{tables} SELECT {rank}, _kind, _column, {leads_to} FROM found")
    names = ("_id", "_column", "_via", "_from")
    expected = reader.query(f"{tables} SELECT {', '.join(text.format(n, n) for n in names)} FROM origins")
    assert expected.num_rows
    by_id = [(name, "ascending") for name in names[:2]]
    assert origins(found).sort_by(by_id).to_pylist() == expected.sort_by(by_id).to_pylist()
    reader.close()


def test_nothing_leads_nowhere() -> None:
    assert list(follow([])) == []
    columns = [
        pa.array(["5", "3"]),
        pa.array([ASKED, MOVE]),
        pa.array(["1", "1"]),
        pa.array([None, None], pa.string()),
    ]
    table = pa.table(columns, names=["_rank", "_kind", "_column", "_from"])
    assert origins(table).num_rows == 0
