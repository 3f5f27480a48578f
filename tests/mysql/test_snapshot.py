"""Snapshots show one moment, in ranges that have each row once.

Method: points and readings as the cluster uses them, against real servers, without a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import DefiniteError, TransientError
from headwater.core.points import Point, Read
from headwater.sources.contract import Export
from headwater.sources.mysql import KIND
from headwater.sources.mysql.connection import connect
from headwater.sources.mysql.ranges import Bounds, bounds_of, condition
from headwater.sources.mysql.snapshot import MysqlPoint, Reading
from tests.mysql.database import PASSWORD, Database

ROWS = 700
STEP = 90
FILL = (
    "INSERT INTO {} WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 700)"
    " SELECT {} FROM g"
)
KEYED = {
    "a int PRIMARY KEY, b int": "n * 3 - 1000, n",
    "a bigint unsigned PRIMARY KEY, b int": "n + 18446744073709550000, n",
    "a varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY, b int": "CONCAT(CHAR(64 + n % 60), n, 'ä'), n",
    "a varchar(20) CHARACTER SET latin1 PRIMARY KEY, b int": "CONCAT(n % 7, '''\\\\', 'é', n), n",
    "a varbinary(9) PRIMARY KEY, b int": "UNHEX(LPAD(HEX(n * 7919), 8, '0')), n",
    "a date, b int, PRIMARY KEY (a, b)": "'2024-01-01' + INTERVAL (n % 9) DAY, n",
    "a datetime(3), b varchar(9), c decimal(9, 2), PRIMARY KEY (b, a, c)": (
        "'2024-01-01 10:00:00.125' + INTERVAL (n % 3) SECOND, n % 5, n / 4"
    ),
    "a double PRIMARY KEY, b int": "n / 7, n",
    "a enum('x', 'y'), b int, PRIMARY KEY (a, b)": "IF(n % 2, 'x', 'y'), n",
    "a int, b int": "n % 3, 1",
}


def options_of(database: Database) -> dict[str, Any]:
    place = {"host": "127.0.0.1", "port": database.server.port, "user": database.user}
    return {"connection": {**place, "password": {"text": PASSWORD}}, "flavour": database.server.flavour}


def no_secrets(name: str) -> bytes:
    raise AssertionError(name)


def export_of(database: Database, table: str, text: tuple[str, ...] = ()) -> Export:
    found = KIND.references(options_of(database), no_secrets, table)
    reference = next(one for one in found if one.path() == (database.name, table))
    assert KIND.pin is not None
    pinned = KIND.pin(reference, text, ())
    relation, how = pinned.relation, pinned.discipline
    return Export(
        table, reference.path(), relation, relation.column_names(), how, pinned.export_options, pinned.pinned
    )


@contextmanager
def taken(database: Database, *exports: Export) -> Iterator[tuple[MysqlPoint, dict[str, Point]]]:
    frontier = KIND.position(options_of(database), no_secrets, 0)
    with closing(MysqlPoint(options_of(database), no_secrets, exports)) as point:
        yield point, dict(point.take(frontier, {}, STEP).points)


def rows_of(point: MysqlPoint, export: Export, at: Point) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    with Reading(no_secrets) as read:
        for chunk in point.chunks(export, at, frozenset()):
            for batch in read(chunk):
                if isinstance(batch, pa.RecordBatch):
                    found.update(tuple(row.values()) for row in batch.to_pylist())
    return found


@pytest.mark.parametrize("columns", KEYED)
def test_ranges_have_each_row_once(database: Database, columns: str) -> None:
    text = ("t.a",) if "enum" in columns else ()
    database.run(f"CREATE TABLE t ({columns})", FILL.format("t", KEYED[columns]), "ANALYZE TABLE t")
    export = export_of(database, "t", tuple(name.removeprefix("t.") for name in text))
    with closing(connect(options_of(database)["connection"], no_secrets)) as session:
        bounds = bounds_of(session, export, STEP)
    cut = "double" not in columns and "enum" not in columns and "KEY" in columns
    assert len(bounds.keys) == ((ROWS - 1) // STEP if cut else 0)
    again = Bounds.from_json(bounds.to_json())
    counts = [
        database.run(f"SELECT COUNT(*) FROM t{condition(again, index)}")[0][0]
        for index in range(len(again.keys) + 1)
    ]
    assert sum(counts) == ROWS
    assert not cut or set(counts[:-1]) == {STEP}


def test_a_snapshot_shows_one_moment_of_all_tables(database: Database) -> None:
    database.run("CREATE TABLE a (k int PRIMARY KEY)", "CREATE TABLE b (k int)", "INSERT INTO a VALUES (1)")
    exports = (export_of(database, "a"), export_of(database, "b"))
    with taken(database, *exports) as (point, points):
        database.run("INSERT INTO a VALUES (2)", "INSERT INTO b VALUES (3)", "DELETE FROM a WHERE k = 1")
        found = [rows_of(point, export, points[export.table_id]) for export in exports]
        point.held()
    assert found == [Counter({(1,): 1}), Counter()]


def test_a_table_that_is_dropped_meanwhile_ends_alone(database: Database) -> None:
    database.run("CREATE TABLE a (k int PRIMARY KEY)", "CREATE TABLE b (k int)", "INSERT INTO b VALUES (3)")
    exports = a, b = export_of(database, "a"), export_of(database, "b")
    with taken(database, *exports) as (point, points):
        database.run("DROP TABLE a")
        with pytest.raises(DefiniteError, match="table was dropped"):
            rows_of(point, a, points["a"])
        assert rows_of(point, b, points["b"]) == Counter({(3,): 1})
        point.held()


def test_an_open_transaction_is_not_waited_for_long(database: Database) -> None:
    database.run("CREATE TABLE a (k int PRIMARY KEY)", "BEGIN", "INSERT INTO a VALUES (1)")
    export = export_of(database, "a")
    with pytest.raises(TransientError, match="Lock wait timeout") as caught, taken(database, export):
        pass
    assert "still open" in str(caught.value.hint)
    database.run("COMMIT")
    with taken(database, export) as (point, points):
        assert rows_of(point, export, points["a"]) == Counter({(1,): 1})


def test_a_table_with_a_key_goes_on_after_a_death(database: Database) -> None:
    database.run("CREATE TABLE a (k int PRIMARY KEY)", "CREATE TABLE b (k int)", "INSERT INTO a VALUES (1)")
    exports = (export_of(database, "a"), export_of(database, "b"))
    with taken(database, *exports) as (_, points):
        before = {id_: point for id_, point in points.items() if isinstance(point, Read)}
    database.run("INSERT INTO a VALUES (2)")
    frontier = KIND.position(options_of(database), no_secrets, 0)
    with closing(MysqlPoint(options_of(database), no_secrets, exports)) as point:
        again = point.take(frontier, before, STEP)
        assert again.kept == {"a"}
        assert again.points["a"].at["gtids"] == before["a"].at["gtids"]
        assert KIND.covers(KIND.frontier_from_json(frontier.to_json()), again.points["a"].at) is not None
        assert again.points["b"].at["gtids"] != before["b"].at["gtids"]
        assert rows_of(point, exports[0], again.points["a"]) == Counter({(1,): 1, (2,): 1})


def test_a_session_that_is_lost_is_noticed(database: Database) -> None:
    database.run("CREATE TABLE a (k int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    export = export_of(database, "a")
    with taken(database, export) as (point, points):
        [*ids] = database.run(
            "SELECT id FROM information_schema.processlist"
            f" WHERE user = '{database.user}' AND command = 'Sleep'"
        )
        for (id_,) in ids:
            database.run(f"KILL {id_}")
        with pytest.raises(TransientError, match="session of the snapshot was lost"):
            rows_of(point, export, points["a"])
        with pytest.raises(TransientError):
            point.held()
