"""What items are, sort by sort.

Goal: every sort is the same after it was written down, and the questions that are asked of items are
answered by the sort alone.
"""

from __future__ import annotations

import json
from typing import get_args

import pytest

from headwater.catalog.details import (
    Connection,
    Details,
    FedTable,
    Ingestion,
    LegacySource,
    ListedReference,
    PlainTable,
    Secret,
    ShownEncoding,
    View,
    WebhookTable,
    Widening,
    details_from_json,
)
from headwater.catalog.state import Item
from headwater.core.errors import InvariantViolation
from headwater.core.export import Export, Pinned
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4

RELATION = Relation((Column("id", INT4, False),), ((0,),))
EXPORT = Export("u7", ("db", "t"), RELATION, ("id",), "keyed", (("batch", "b"),), Pinned(({"n": 1},)))
ENCODING = ShownEncoding("upsert", "text", "json")
INGESTION = Ingestion("kind", {"a": [1]}, 1, 2, (ListedReference(("db",), "t", ("id",)),), 3)
PROGRESS = Ingestion("kind", {}, 1, 2, parent_id="u2")
FED = FedTable("u1", EXPORT, 2)
OWN = LegacySource("u1", 2, EXPORT, ENCODING)
SORTS: tuple[Details, ...] = (
    *(INGESTION, PROGRESS, FED, OWN),
    FedTable("u1", EXPORT, 2, ENCODING, Widening(EXPORT, ("a", "b"), ("b",))),
    LegacySource("u1", 2),
    PlainTable(2),
    WebhookTable(
        *("json", (("x-id", "id", True),), {"only": ["a"], "without": []}, "body = s"),
        (("body", "body", False, None), ("secret", "s", True, "u1")),
        2,
    ),
    View(),
    Secret(3),
    Connection("postgres", {"password": {"secret": "u1"}}),
)


def item(details: Details) -> Item:
    return Item("u5", 20_005, "u1", "i", "source", "", RELATION, details=details)


@pytest.mark.parametrize("details", SORTS, ids=lambda details: details.sort)
def test_every_sort_survives_json(details: Details) -> None:
    assert details_from_json(json.loads(json.dumps(details.to_json()))) == details


def test_all_sorts_are_tried() -> None:
    assert {type(details) for details in SORTS} == set(get_args(Details))


def test_a_sort_that_is_not_known_is_told_at_once() -> None:
    with pytest.raises(InvariantViolation, match="of no known sort: 'index'"):
        details_from_json({"sort": "index"})


@pytest.mark.parametrize(
    ("details", "ingests", "stores", "ids"),
    [
        (INGESTION, True, False, (None, None, None, "u5")),
        (PROGRESS, True, False, (None, None, "u2", "u5")),
        (LegacySource("u1", 2), False, False, (None, "u1", None, "u5")),
        (OWN, False, True, ("u1", "u1", None, "u7")),
        (FED, False, True, ("u1", None, None, "u7")),
        (PlainTable(2), False, True, (None, None, None, "u5")),
        (View(), False, False, (None, None, None, "u5")),
    ],
    ids=lambda value: getattr(value, "sort", None),
)
def test_the_sort_says_who_feeds_whom(
    details: Details, ingests: bool, stores: bool, ids: tuple[str | None, ...]
) -> None:
    found = item(details)
    assert (found.ingests, found.stores) == (ingests, stores)
    assert (found.source_id, found.progress_id, found.parent_id, found.collection_id) == ids


def test_what_an_item_is_not_cannot_be_asked_of_it() -> None:
    view = item(View())
    for question in ("ingestion", "connection", "fed_export", "retain_history_ms"):
        with pytest.raises(InvariantViolation, match=r"u5 .* view"):
            getattr(view, question)
