"""What a table here can follow of what happens to the one upstream, and what is said where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.sources.contract import Pinned
from headwater.sources.mysql import table_map as kinds
from headwater.sources.mysql.altered import changed, said
from headwater.sources.mysql.facts import ColumnFacts, KeyFacts, ServerFacts, TableFacts
from headwater.sources.mysql.grants import Grants
from headwater.sources.mysql.pin import Rights, pin, reference_of
from headwater.sources.mysql.table_map import MapColumn, TableMap

ID = ColumnFacts("id", "int", "int unsigned", nullable=False, precision=10, scale=0, place=0)
NAME = ColumnFacts("name", "varchar", "varchar(10)", length=10, charset="utf8mb4", place=1)
AT = ColumnFacts("at", "datetime", "datetime(3)", fraction=3, place=2)
KIND = ColumnFacts("kind", "enum", "enum('a','b')", length=1, charset="utf8mb4", place=3)
TWICE = ColumnFacts("twice", "int", "int", generated=True, expression="(`id` * 2)", precision=10, place=4)
EXTRA = ColumnFacts("extra", "json", "json", place=5)
TABLE = TableFacts("s", "t", (ID, NAME, AT, KIND, TWICE, EXTRA), (KeyFacts("PRIMARY", ("id",), True),))

ALLOWED = Rights(Grants.parse(["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`"]))
MAP = (
    MapColumn(kinds.LONG, 0, False, "id", True),
    MapColumn(kinds.VARCHAR, 40, True, "name"),
    MapColumn(kinds.DATETIME, 3, True, "at"),
    MapColumn(kinds.ENUM, 1, True, "kind"),
    MapColumn(kinds.LONG, 0, True, "twice", False),
    MapColumn(kinds.JSON, 4, True, "extra"),
)


def pinned(metadata: str = "FULL") -> Pinned:
    server = ServerFacts("mysql", (9, 7, 0), 1, {"binlog_row_metadata": metadata})
    return pin(reference_of(server, ALLOWED, TABLE), ("kind",), ("extra",)).pinned


def with_column(name: str, **other: object) -> TableFacts:
    columns = tuple(replace(c, **other) if c.name == name else c for c in TABLE.columns)  # type: ignore[arg-type]
    return replace(TABLE, columns=columns)


def test_a_table_that_is_as_it_was_goes_on() -> None:
    assert changed(pinned(), TABLE) is None
    assert changed(pinned("MINIMAL"), TABLE) is None


@pytest.mark.parametrize(
    "now",
    [
        replace(TABLE, columns=TABLE.columns[:-1]),
        with_column("extra", data_type="text", column_type="text"),
        replace(TABLE, columns=(ColumnFacts("new", "int", "int"), *TABLE.columns)),
        replace(TABLE, columns=TABLE.columns[::-1]),
        replace(TABLE, keys=(*TABLE.keys, KeyFacts("also", ("name",)))),
        with_column("kind", column_type="enum('a','b','c')"),
        with_column("id", column_type="int(10) unsigned zerofill"),
        with_column("name", collation="utf8mb4_bin", nullable=False),
        with_column("at", invisible=True),
    ],
)
def test_what_does_not_matter_may_change(now: TableFacts) -> None:
    assert changed(pinned(), now) is None


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (None, "table was dropped: `s`.`t`"),
        (
            replace(TABLE, columns=(ID, *TABLE.columns[2:])),
            "incompatible schema change: column name no longer present in table t",
        ),
        (
            with_column("id", column_type="int"),
            "incompatible schema change: column id in table t has been altered:"
            " it is int now instead of int unsigned",
        ),
        (
            with_column("name", column_type="varchar(20)", length=20),
            "incompatible schema change: column name in table t has been altered: it is varchar(20)"
            " CHARACTER SET utf8mb4 now instead of varchar(10) CHARACTER SET utf8mb4",
        ),
        (
            with_column("at", column_type="datetime", fraction=0),
            "incompatible schema change: column at in table t has been altered:"
            " it is datetime now instead of datetime(3)",
        ),
        (
            with_column("id", nullable=True),
            "incompatible schema change: column id in table t has been altered: it may be NULL now",
        ),
        (
            with_column("twice", expression="(`id` * 3)"),
            "incompatible schema change: column twice in table t has been altered:"
            " it is generated as (`id` * 3) now",
        ),
        (
            replace(TABLE, keys=()),
            "incompatible schema change: keys in table t have been altered:"
            " PRIMARY (id) is not there any more",
        ),
    ],
)
def test_what_matters_is_told(now: TableFacts | None, text: str) -> None:
    assert changed(pinned(), now) == text


def test_without_names_in_the_log_columns_stay_where_they_are() -> None:
    moved = replace(TABLE, columns=tuple(replace(c, place=c.place + 1) for c in TABLE.columns))
    assert changed(pinned(), moved) is None
    assert "it is column 2 now" in str(changed(pinned("MINIMAL"), moved))


def test_columns_are_found_in_a_table_map_by_their_names() -> None:
    table = TableMap(7, "s", "t", MAP, full=True)
    assert said(pinned(), table) == [0, 1, 2, 3, 4]
    assert said(pinned(), replace(table, columns=MAP[::-1])) == [5, 4, 3, 2, 1]


def test_columns_are_found_by_their_places_without_names() -> None:
    nameless = tuple(replace(column, name=None, unsigned=None) for column in MAP)
    table = TableMap(7, "s", "t", nameless)
    assert said(pinned("MINIMAL"), table) == [0, 1, 2, 3, 4]
    assert "has been altered" in str(said(pinned("MINIMAL"), replace(table, columns=nameless[::-1])))
    assert "no longer present" in str(said(pinned("MINIMAL"), replace(table, columns=nameless[:2])))


@pytest.mark.parametrize(
    ("columns", "full", "text"),
    [
        (MAP, False, "Table t was created with binlog_row_metadata=FULL but binlog_row_metadata has since"),
        (MAP[1:], True, "column id no longer present in table t"),
        ((replace(MAP[0], unsigned=False), *MAP[1:]), True, "column id in table t has been altered"),
        ((replace(MAP[0], kind=kinds.LONGLONG), *MAP[1:]), True, "column id in table t has been altered"),
        ((*MAP[:2], replace(MAP[2], detail=0), *MAP[3:]), True, "column at in table t has been altered"),
    ],
)
def test_a_table_map_of_another_table_is_told(columns: tuple[MapColumn, ...], full: bool, text: str) -> None:
    assert text in str(said(pinned(), TableMap(7, "s", "t", columns, full=full)))
