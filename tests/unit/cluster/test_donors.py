"""Who can give a new table its rows.

Goal: a table is copied from another only if every value of it would be the same; any doubt leads upstream.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.cluster.donors import donor_of, places_in
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Pinned

POSTGRES = SOURCE_TYPES["postgres"]


def pinned(name: str, text: bool = False) -> dict[str, Any]:
    return {"name": name, "attnum": 1, "type_oid": 23, "typmod": -1, "not_null": False, "text": text}


def export(table_id: str, names: str, **facts: Any) -> Export:
    """A keyed table of `r` with these columns; the first is the key."""
    columns = tuple(Column(f"{table_id}_{name}", INT4) for name in names)
    known = Pinned(
        tuple(pinned(name) for name in names), {"oid": 1, "row_filter": None} | facts, tuple(names)
    )
    return Export(table_id, ("db", "r"), Relation(columns, ((0,),)), tuple(names), "keyed", pinned=known)


def test_a_table_with_all_columns_and_the_same_key_gives_its_rows() -> None:
    member = export("u1", "abc")
    assert donor_of(POSTGRES, export("u2", "ac"), [export("u0", "ab"), member], ()) == member
    assert donor_of(POSTGRES, export("u2", "acb"), [member], ()) == member
    assert places_in(POSTGRES, member, export("u2", "acb"), False) == (0, 2, 1)


def test_a_table_with_flaws_does_not() -> None:
    """They are those of its own columns."""
    assert donor_of(POSTGRES, export("u2", "ac"), [export("u1", "abc")], {"u1"}) is None


@pytest.mark.parametrize(
    "member",
    [
        export("u1", "ab"),
        export("u1", "bac"),  # another key
        export("u1", "abc", oid=2),
        export("u1", "abc", row_filter="a > 1"),
        replace(
            export("u1", "abc"),
            pinned=replace(
                export("u1", "abc").pinned, columns=(pinned("a"), pinned("b"), pinned("c", text=True))
            ),
        ),
        replace(export("u1", "abc"), discipline="counted"),
        replace(export("u1", "abc"), reference=("db", "other")),
        replace(
            export("u1", "abc"),
            relation=Relation((Column("a", INT4), Column("b", INT4), Column("c", TEXT)), ((0,),)),
        ),
    ],
)
def test_anything_else_does_not(member: Export) -> None:
    assert donor_of(POSTGRES, export("u2", "abc"), [member], ()) is None
