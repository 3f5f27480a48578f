"""Columns that are added to a table from a source, as values: what is planned, what is cut over.

Method: a source of a made-up upstream kind with two references, whose tables take fewer columns than
there are; statements are planned against a catalog in memory.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.catalog.apply import apply
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.widening import Widenings, cut_over, withdrawn
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.sources import SOURCE_TYPES
from headwater.sources.column_options import taken_as_text
from headwater.sources.contract import Options, Pinned, Reference, Secrets
from headwater.sources.load_generator import KIND
from headwater.sql.select import narrow
from tests.unit.coordinator.scopes import Catalog

COLUMNS = (Column("id", INT4, False), Column("a", TEXT), Column("b", TEXT), Column("c", INT4))
WHOLE = Relation(COLUMNS, ((0,),))


def _pin(reference: Reference, text: tuple[str, ...], excluded: tuple[str, ...]) -> Reference:
    kept = [column for column in COLUMNS if column.name not in excluded]
    typed = tuple(replace(c, type=TEXT) if c.name in text else c for c in kept)
    pinned = Pinned(tuple({"name": c.name, "text": c.name in text} for c in kept))
    return replace(reference, relation=Relation(typed, ((0,),)), pinned=pinned)


def _references(options: Options, secrets: Secrets, name: str | None) -> tuple[Reference, ...]:
    whole = Pinned(tuple({"name": column.name, "text": False} for column in COLUMNS))
    return tuple(Reference(("db",), table, WHOLE, "keyed", whole) for table in ("t", "u"))


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    made_up = replace(
        KIND,
        references=_references,
        pin=_pin,
        taken_as_text=taken_as_text,
        single_output=lambda options: False,
    )
    monkeypatch.setitem(SOURCE_TYPES, KIND.name, made_up)
    return Catalog().run(
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION",
        "CREATE TABLE t FROM SOURCE s (REFERENCE t) WITH (EXCLUDE COLUMNS (b, c))",
        "CREATE VIEW star AS SELECT * FROM t",
        "CREATE VIEW aliased AS SELECT x.*, 1 AS one FROM t AS x JOIN t USING (id)",
        "CREATE VIEW named AS SELECT upper(a) AS a FROM t",
    )


def table(state: CatalogState) -> Item:
    return next(item for item in state.items.values() if item.name == "t")


def finish(catalog: Catalog) -> None:
    for update in cut_over(catalog.state, table(catalog.state)):
        catalog.state = replace(apply(catalog.state, update), derived={})


def test_a_wider_collection_is_wanted_beside_the_table(catalog: Catalog) -> None:
    before = table(catalog.state)
    catalog.run("ALTER TABLE t ADD COLUMN c, ADD COLUMN b WITH (TEXT COLUMNS (c))")
    item = table(catalog.state)
    assert item.relation == before.relation
    assert item.collection_id == item.id
    assert item.widening is not None
    wide = item.widening.export
    assert wide.columns == ("id", "a", "c", "b")
    assert [column.type for column in wide.relation.columns] == [INT4, TEXT, TEXT, TEXT]
    assert [column["name"] for column in wide.pinned.columns] == ["id", "a", "c", "b"]
    assert dict(wide.options)["widens"] == item.id
    assert set(catalog.state.collections()) >= {item.id, wide.table_id}


def test_the_cut_over_keeps_the_item_and_the_shapes_of_views(catalog: Catalog) -> None:
    catalog.run("ALTER TABLE t ADD COLUMN c")
    before = catalog.state
    shapes = {item.name: item.relation for item in before.items.values() if item.kind == "view"}
    finish(catalog)
    item = table(catalog.state)
    assert item.id == table(before).id
    assert item.collection_id != item.id
    assert item.widening is None
    assert item.relation.column_names() == ("id", "a", "c")
    assert item.create_sql.endswith("WITH (EXCLUDE COLUMNS = (b));")
    assert {i.name: i.relation for i in catalog.state.items.values() if i.kind == "view"} == shapes
    assert "(SELECT id, a FROM materialize.public.t) AS t" in catalog.sql_of("star")
    assert "(SELECT id, a FROM materialize.public.t) AS x JOIN" in catalog.sql_of("aliased")
    assert catalog.sql_of("named").endswith("AS SELECT upper(a) AS a FROM materialize.public.t;")
    # And once more.
    catalog.run("ALTER TABLE t ADD COLUMN b")
    finish(catalog)
    assert table(catalog.state).relation.column_names() == ("id", "a", "c", "b")


def test_what_was_given_up_leaves_the_table_as_it_was(catalog: Catalog) -> None:
    before = table(catalog.state)
    catalog.run("ALTER TABLE t ADD COLUMN c")
    catalog.state = apply(catalog.state, withdrawn(table(catalog.state)))
    assert table(catalog.state) == before


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE t ADD COLUMN a", 'column "a" of relation "t" already exists'),
        ("ALTER TABLE t ADD COLUMN nope", 'column "nope" does not exist in db.t'),
        ("ALTER TABLE t ADD COLUMN c, ADD COLUMN c", 'column "c" specified more than once'),
        ("ALTER TABLE t ADD COLUMN c WITH (TEXT COLUMNS (b))", 'TEXT COLUMNS names "b", which is not added'),
        ("ALTER TABLE star ADD COLUMN c", "star is a view not a table"),
    ],
)
def test_what_cannot_be_added_is_refused(catalog: Catalog, statement: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        catalog.run(statement)
    assert raised.value.message == message


def test_one_addition_at_a_time(catalog: Catalog) -> None:
    catalog.run("ALTER TABLE t ADD COLUMN c")
    with pytest.raises(UserError, match="already") as raised:
        catalog.run("ALTER TABLE t ADD COLUMN b")
    assert raised.value.sqlstate == "55006"


def test_a_view_that_cannot_keep_its_shape_is_named(catalog: Catalog) -> None:
    catalog.run("CREATE VIEW odd AS SELECT t.*, t.tableoid AS kept FROM t")
    with pytest.raises(UserError) as raised:
        catalog.run("ALTER TABLE t ADD COLUMN c")
    assert raised.value.message == 'view "materialize.public.odd" would change its columns'


def test_only_the_relation_that_is_meant_is_narrowed() -> None:
    text = "WITH t AS (SELECT * FROM d.s.t) SELECT * FROM t, d.s.u JOIN d.s.t AS x ON true"
    assert narrow(text, ("d", "s", "t"), ("a", "B")) == (
        'WITH t AS (SELECT * FROM (SELECT a, "B" FROM d.s.t) AS t)'
        ' SELECT * FROM t, d.s.u JOIN (SELECT a, "B" FROM d.s.t) AS x ON true'
    )


def test_a_table_that_cannot_be_cut_over_stays_as_it_was(catalog: Catalog) -> None:
    """Also for a reason that nobody foresaw: here its statement has become another one."""
    catalog.run("ALTER TABLE t ADD COLUMN b")
    item = table(catalog.state)
    assert item.widening is not None
    wide = item.widening.export.table_id
    damaged = replace(item, create_sql="CREATE VIEW t AS SELECT 1")
    state = replace(catalog.state, items={**catalog.state.items, item.id: damaged}, derived={})
    made: list[Any] = []

    async def change_catalog(changes: list[Any]) -> None:
        made.extend(changes)
        raise asyncio.CancelledError  # once is enough

    async def wait_for(ready: Any) -> None:
        assert ready()

    coordinator: Any = SimpleNamespace(
        catalog=SimpleNamespace(state=state),
        controller=SimpleNamespace(hydrated={wide}, wait_for=wait_for),
        ledger=SimpleNamespace(stopped=lambda id_: None),
        change_catalog=change_catalog,
    )
    with suppress(asyncio.CancelledError):
        asyncio.run(Widenings(coordinator).run())
    assert made == [withdrawn(damaged)]
