"""Tables are found again by name: with the numbers of now where they are what was pinned, and no others.

Method: what is pinned of one table, tied to facts made by hand, is held against the check that every table
passes before it is read.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.sources.postgres.facts import ColumnFacts, KeyFacts, TableFacts, changed
from headwater.sources.postgres.resync import tied
from tests.unit.sources.postgres.pinning import ENUM, INT, TABLE, TEXT, facts_of, pinned

ID, MOOD, NOTE, CODE = (
    ColumnFacts("id", 7, INT, not_null=True),
    ColumnFacts("mood", 3, ENUM + 5),
    ColumnFacts("note", 1, TEXT),
    ColumnFacts("code", 4, INT, not_null=True),
)
KEYS = (KeyFacts((7,), 30_000, primary=True), KeyFacts((4,), 30_001))
RESTORED = TableFacts(20_400, "public", "t", (NOTE, MOOD, CODE, ID), KEYS)


def why(now: TableFacts) -> str | None:
    """Why the table ends, once it is tied to another."""
    doubt = changed(tied(pinned(TABLE).pinned, now), facts_of(now))
    return None if doubt is None else doubt.message.partition("altered: ")[2]


def test_the_same_columns_and_keys_with_other_numbers_are_what_was_pinned() -> None:
    assert why(RESTORED) is None
    again = tied(pinned(TABLE).pinned, RESTORED)
    assert [(c["name"], c["attnum"], c["type_oid"]) for c in again.columns] == [
        ("id", 7, INT),
        ("mood", 3, ENUM + 5),
        ("note", 1, TEXT),
        ("code", 4, INT),
    ]
    assert [(key["oid"], key["columns"]) for key in again.constraints] == [(30_000, [7]), (30_001, [4])]
    assert tied(again, TABLE) == tied(pinned(TABLE).pinned, TABLE)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (replace(RESTORED, columns=(MOOD, CODE, ID)), "column note was dropped"),
        (
            replace(RESTORED, columns=(replace(NOTE, type_oid=INT), MOOD, CODE, ID)),
            "column note has type integer instead of text",
        ),
        (
            replace(RESTORED, columns=(NOTE, MOOD, replace(CODE, not_null=False), ID)),
            "column code may be NULL now",
        ),
        (replace(RESTORED, keys=KEYS[:1]), "its key (code) was dropped"),
        (replace(RESTORED, row_filter="id > 5"), "the publication has the row filter id > 5 for it now"),
    ],
)
def test_what_is_not_as_it_was_pinned_ends_the_table(now: TableFacts, expected: str) -> None:
    assert why(now) == expected


def test_a_column_of_the_same_table_that_is_called_otherwise_is_not_taken_for_dropped() -> None:
    called = tuple(
        replace(column, name="remark") if column.name == "note" else column for column in TABLE.columns
    )
    assert why(replace(TABLE, columns=called)) == "column note is called remark now"
    assert why(TABLE) is None
