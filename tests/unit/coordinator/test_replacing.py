"""What to type for a table that has ended is said for each kind of it."""

from __future__ import annotations

import pytest

from headwater.catalog.details import PlainTable
from headwater.catalog.state import Item
from headwater.coordinator.replacing import how_to_replace
from headwater.core.relation import Relation
from headwater.sql.parse import parse_statement

TABLE = (
    'CREATE TABLE db.public."T" (a)\nFROM SOURCE db.public.s (REFERENCE = up.public.t)'
    "\nWITH (TEXT COLUMNS = (a));"
)
SUBSOURCE = (
    "CREATE SUBSOURCE db.public.t (id integer NOT NULL)\nOF SOURCE db.public.s"
    "\nWITH (EXTERNAL REFERENCE = up.public.t);"
)


@pytest.mark.parametrize(
    ("create_sql", "expected"),
    [
        (
            TABLE,
            'CREATE TABLE db.public."T_new" (a) FROM SOURCE db.public.s (REFERENCE = up.public.t)'
            ' WITH (TEXT COLUMNS = (a)); ALTER TABLE db.public."T" SWAP WITH "T_new";'
            ' DROP TABLE db.public."T_new";'
            " It names columns as they were: leave out those that the upstream no longer has, and use its new"
            " names for the others.",
        ),
        (
            TABLE.replace(" (a)", "", 1).partition("\nWITH")[0] + ";",
            'CREATE TABLE db.public."T_new" FROM SOURCE db.public.s (REFERENCE = up.public.t);'
            ' ALTER TABLE db.public."T" SWAP WITH "T_new"; DROP TABLE db.public."T_new";',
        ),
        (
            SUBSOURCE,
            "DROP SOURCE db.public.t; ALTER SOURCE db.public.s ADD SUBSOURCE up.public.t AS db.public.t;",
        ),
    ],
)
def test_the_statements_are_whole_and_can_be_parsed(create_sql: str, expected: str) -> None:
    item = Item("u1", 1, "u0", "t", "table", create_sql, Relation(()), details=PlainTable(1_000))
    assert how_to_replace(item) == expected
    for statement in expected.split(";")[:-1]:
        parse_statement(f"{statement.strip()};")
