"""The tie between a table and a reference.

Goal: it is the same after it was written down, and what is pinned of columns goes where they go.
"""

from __future__ import annotations

import json

from headwater.core.export import Export, OnValueError, Pinned
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT

PINNED = Pinned(({"n": 1}, {"n": 2}, {"n": 3}), {"oid": 7}, ({"columns": [1]},))


def test_an_export_survives_json() -> None:
    relation = Relation((Column("id", INT4, False), Column("a", TEXT)), ((0,),))
    options = (("batch", "u1"), *OnValueError(False, "errors").options())
    for pinned in (Pinned(), PINNED.at([0, 2])):
        export = Export("u1", ("db", "t"), relation, ("id", "c"), "keyed", options, pinned)
        assert Export.from_json(json.loads(json.dumps(export.to_json()))) == export


def test_what_is_pinned_of_columns_follows_them() -> None:
    moved = PINNED.at([2, 0])
    assert [moved.of_column(place) for place in range(2)] == [{"n": 3}, {"n": 1}]
    assert (moved.reference, moved.constraints) == (PINNED.reference, PINNED.constraints)


def test_where_nothing_is_pinned_of_columns_all_are_alike() -> None:
    assert Pinned().at([1, 0]) == Pinned()
    assert Pinned().of_column(1) is None
