"""Which table of a topic has another one's rows.

Goal: only where every row and value would be the same; any doubt leads to the brokers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT, UINT8
from headwater.sources.contract import Export, Pinned
from headwater.sources.kafka.copies import places_in

KEY, VALUE, OFFSET, HEADER = ["key", 0], ["value", 0], ["offset"], ["header", "h", False]
TYPES = {"key": TEXT, "value": INT4, "offset": UINT8, "header": TEXT}


def export(*origins: list[Any], keyed: bool = False, **facts: Any) -> Export:
    """A table with columns from these places; their names do not matter."""
    columns = tuple(Column(f"c{place}", TYPES[origin[0]]) for place, origin in enumerate(origins))
    kept = {
        "topic": "t",
        "envelope": "upsert" if keyed else "none",
        "inline": False,
        "key": {"format": "text"} if keyed else None,
        "value": {"format": "json"},
    }
    names = tuple(column.name for column in columns)
    relation = Relation(columns, ((0,),) if keyed else ())
    known = Pinned(origins, {**kept, **facts})
    return Export("u1", ("t",), relation, names, "keyed" if keyed else "appended", pinned=known)


def test_columns_are_known_by_what_they_come_from() -> None:
    donor = export(VALUE, OFFSET)
    assert places_in(donor, export(OFFSET, VALUE), True) == (1, 0)
    assert places_in(donor, export(VALUE), True) == (0,)
    assert places_in(export(VALUE), donor, False) is None


def test_the_format_of_keys_matters_where_keys_do() -> None:
    other = {"format": "bytes"}
    assert places_in(export(KEY, VALUE, key=other), export(VALUE), False) == (1,)
    assert places_in(export(KEY, VALUE, key=other), export(KEY, key={"format": "text"}), False) is None
    assert places_in(export(KEY, VALUE, keyed=True, key=other), export(KEY, VALUE, keyed=True), False) is None


@pytest.mark.parametrize(
    "fact", [{"value": {"format": "text"}}, {"envelope": "debezium"}, {"inline": True}, {"topic": "u"}]
)
def test_other_formats_and_envelopes_have_other_rows(fact: dict[str, Any]) -> None:
    assert places_in(export(KEY, VALUE, keyed=True, **fact), export(KEY, VALUE, keyed=True), False) is None


def test_what_is_pinned_later_is_not_passed_over() -> None:
    assert places_in(export(VALUE, more=1), export(VALUE), False) is None


def test_another_type_is_another_column() -> None:
    donor = export(VALUE)
    changed = replace(donor, relation=Relation((Column("c0", TEXT),)))
    assert places_in(changed, donor, False) is None


def test_a_header_that_is_missing_is_the_error_of_one_table() -> None:
    donor, wanted = export(KEY, VALUE, HEADER, keyed=True), export(KEY, VALUE, keyed=True)
    assert places_in(donor, wanted, False) == (0, 1)
    assert places_in(donor, wanted, True) is None
    assert places_in(donor, donor, True) == (0, 1, 2)
