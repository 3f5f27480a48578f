"""Avro schemas that refer to others get their definitions where they are used first."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pytest

from headwater.core.errors import UserError
from headwater.sources.kafka.registry import Reference, Registry, Schema
from headwater.sources.kafka.schemas import avro_text, pin_format
from headwater.sql import formats as written
from headwater.sql.cursor import Name

MONEY = {
    "type": "record",
    "name": "Money",
    "namespace": "a.b",
    "fields": [{"name": "amount", "type": "long"}, {"name": "currency", "type": "Currency"}],
}
CURRENCY = {"type": "enum", "name": "a.b.Currency", "symbols": ["EUR", "USD"]}


class Kept(Registry):
    """What a registry has, without one."""

    def __init__(self, latest: dict[str, Schema], used: dict[str, Schema] | None = None) -> None:
        self.url = "http://registry"
        self._latest, self._used = latest, used or {}

    def latest(self, subject: str) -> Schema | None:
        return self._latest.get(subject)

    def by_id(self, id_: int) -> Schema:
        return next(schema for schema in self._latest.values() if schema.id == id_)

    def referred(self, schema: Schema) -> dict[str, Schema]:
        return self._used


def schema(text: Any, *uses: str, id_: int = 1, type_: str = "AVRO") -> Schema:
    return Schema(id_, type_, json.dumps(text), tuple(Reference(name, name, 1) for name in uses))


def test_a_name_is_replaced_by_its_definition_once() -> None:
    order = {
        "type": "record",
        "name": "Order",
        "namespace": "c",
        "fields": [
            {"name": "net", "type": "a.b.Money"},
            {"name": "tax", "type": ["null", "a.b.Money"]},
            {"name": "others", "type": {"type": "array", "items": "a.b.Money"}},
            {"name": "by", "type": {"type": "map", "values": "a.b.Currency"}},
        ],
    }
    uses = {"a.b.Currency": schema(CURRENCY), "a.b.Money": schema(MONEY, "a.b.Currency")}
    made = json.loads(avro_text(Kept({}, uses), schema(order, "a.b.Currency", "a.b.Money")))
    assert json.dumps(made).count('"symbols"') == 1
    assert json.dumps(made).count('"amount"') == 1
    assert fastavro.parse_schema(made)
    assert [field["name"] for field in made["fields"]] == ["net", "tax", "others", "by"]


def test_a_schema_that_uses_no_other_stays_as_it_is() -> None:
    assert avro_text(Kept({}), schema(CURRENCY)) == json.dumps(CURRENCY)


def test_a_recursive_schema_does_not_come_to_an_end_of_its_own() -> None:
    node = {
        "type": "record",
        "name": "n.Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "at", "type": "n.Leaf"}],
    }
    leaf = {"type": "record", "name": "Leaf", "namespace": "n", "fields": []}
    made = json.loads(avro_text(Kept({}, {"n.Leaf": schema(leaf)}), schema(node, "n.Leaf")))
    assert made["fields"][0]["type"] == ["null", "Node"]
    assert made["fields"][1]["type"]["name"] == "Leaf"


def pin(format_: written.Format, kept: Kept, part: str = "value") -> Any:
    pinned = pin_format(format_, "t", part, {"c": ("u1", kept)})
    assert pinned is not None
    return pinned.to_json()


def avro(text: str = "") -> written.AvroRegistry:
    return written.AvroRegistry(
        written.Registry(Name(("c",))), value_strategy=written.Strategy(schema=text) if text else None
    )


def test_the_newest_schema_of_the_subject_is_pinned() -> None:
    kept = Kept({"t-value": schema("int", id_=7), "t-key": schema("long", id_=8)})
    assert pin(avro(), kept) == {
        "format": "avro",
        "details": {"schema": '"int"', "wire": "confluent"},
        "registry": "u1",
        "schema_id": 7,
    }
    assert pin(avro(), kept, "key")["details"]["schema"] == '"long"'


def test_a_schema_may_be_chosen() -> None:
    kept = Kept({"t-value": schema("int", id_=7), "old": schema("string", id_=3)})
    by_id = written.AvroRegistry(written.Registry(Name(("c",))), value_strategy=written.Strategy(id=3))
    assert pin(by_id, kept)["details"]["schema"] == '"string"'
    assert pin(avro('"bytes"'), kept)["details"]["schema"] == '"bytes"'
    seeded = written.AvroRegistry(written.Registry(Name(("c",))), written.AvroSeed('"long"', '"int"'))
    assert pin(seeded, kept)["details"]["schema"] == '"long"'
    assert pin(seeded, kept, "key")["details"]["schema"] == '"int"'


@pytest.mark.parametrize(
    ("kept", "part", "text"),
    [
        (Kept({}), "value", "No value schema found"),
        (Kept({}), "key", "No key schema found"),
        (Kept({"t-value": schema("int", type_="JSON")}), "value", "has a schema of the type JSON, not AVRO"),
    ],
)
def test_what_is_not_there_is_said(kept: Kept, part: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        pin(avro(), kept, part)
