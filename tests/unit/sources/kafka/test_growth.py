"""Which newer schemas a table can go on with.

Goal: what the table has stays what it is, and earlier messages can be read; all else is refused by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT, UINT8
from headwater.sources.contract import Export, Pinned, Reference
from headwater.sources.kafka.growth import grown
from headwater.sources.kafka.schemas import PinnedFormat
from tests.support.mirror import record

FIRST = record("v", id="int", name=["null", "string"])
SECOND = record("v", mood={"type": "string", "default": ""}, id="int", name=["null", "string"])
KEY = PinnedFormat("text").to_json()


def reference(schema: str, key: dict[str, Any] = KEY, offset: bool = False) -> Reference:
    """A key and the fields of a schema, as shape.py makes them."""
    value = PinnedFormat("avro", {"schema": schema, "wire": "confluent"}, "u9")
    columns = [Column("key", TEXT, False), *value.columns]
    origins: list[Any] = [["key", 0], *(["value", place] for place in range(len(value.columns)))]
    if offset:
        columns, origins = [*columns, Column("offset", UINT8, False)], [*origins, ["offset"]]
    kept = {"topic": "t", "envelope": "upsert", "inline": False, "key": key, "value": value.to_json()}
    relation = Relation(tuple(columns), ((0,),))
    return Reference((), "t", relation, "keyed", Pinned(tuple(origins), kept))


def table(made: Reference) -> Export:
    names = made.relation.column_names()
    return Export("u1", ("t",), made.relation, names, made.discipline, pinned=made.pinned)


def test_places_of_fields_may_move() -> None:
    taken = grown(table(reference(FIRST)), reference(SECOND), ("mood",))
    assert taken.pinned.columns == (["key", 0], ["value", 0], ["value", 1], ["value", 2])
    assert taken.relation.column_names() == ("key", "mood", "id", "name")
    assert taken.pinned.reference["value"]["details"]["schema"] == SECOND


def test_keys_are_read_as_before() -> None:
    newer = {**KEY, "schema_id": 7}
    taken = grown(table(reference(FIRST)), reference(SECOND, newer), ("mood",))
    assert taken.pinned.reference["key"] == KEY


def test_metadata_needs_no_newer_schema() -> None:
    taken = grown(table(reference(FIRST)), reference(FIRST, offset=True), ("offset",))
    assert taken.pinned.columns[-1] == ["offset"]


@pytest.mark.parametrize(
    ("schema", "added", "why"),
    [
        (record("v", id="int", name=["null", "string"], mood="string"), "mood", "the schema"),
        (record("v", id="int", mood={"type": "string", "default": ""}), "mood", '"name"'),
        (
            record("w", id="int", name=["null", "string"], mood={"type": "int", "default": 1}),
            "mood",
            "schema",
        ),
        (
            record("v", id=["null", "int"], name=["null", "string"], mood={"type": "int", "default": 1}),
            "mood",
            '"id"',
        ),
        (SECOND, "nope", "does not exist in the newest schema"),
    ],
)
def test_other_schemas_are_refused(schema: str, added: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        grown(table(reference(FIRST)), reference(schema), (added,))


def test_a_column_that_was_renamed_is_there_already() -> None:
    export = table(reference(FIRST))
    renamed = replace(
        export,
        relation=Relation(
            (export.relation.columns[0], Column("n", INT4, False), export.relation.columns[2]), ((0,),)
        ),
    )
    with pytest.raises(UserError, match='the table has "id" already, as "n"'):
        grown(renamed, reference(SECOND), ("id",))


def test_a_place_in_every_message_is_no_field_of_that_name() -> None:
    """A table that has INCLUDE OFFSET does not take a field of the same name for it."""
    export = table(reference(FIRST, offset=True))
    newer = record("v", id="int", name=["null", "string"], offset={"type": "long", "default": 0})
    with pytest.raises(UserError, match='"offset"'):
        grown(export, reference(newer), ())
