"""The migration from legacy sources, as values.

Method: catalogs with every legacy shape are grown by statements (load generators) or made by
hand (Kafka and MySQL, which cannot be created yet); the plan is applied, and what was there
under every name and id is compared.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.details import Connection, FedTable, Ingestion, LegacySource
from headwater.catalog.rights import READ
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import PUBLIC_ID, CatalogState, Comment, Grant, Item, Role
from headwater.catalog.updates import CreateItem
from headwater.coordinator.migration import Plan, plan
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, JSONB, TEXT, UINT8
from headwater.sources.contract import Export
from headwater.sql.parse import parse_statement
from tests.unit.coordinator.scopes import Catalog

AUCTION = "CREATE SOURCE a FROM LOAD GENERATOR AUCTION FOR ALL TABLES WITH (RETAIN HISTORY FOR '1h')"
COUNTER = "CREATE SOURCE c (n) FROM LOAD GENERATOR COUNTER EXPOSE PROGRESS AS other.cp"
KEY_VALUE = (
    "CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 16, SNAPSHOT ROUNDS 1, TRANSACTIONAL SNAPSHOT true,"
    " VALUE SIZE 8, SEED 42, PARTITIONS 4, BATCH SIZE 2) INCLUDE OFFSET AS o ENVELOPE NONE"
    " WITH (TIMESTAMP INTERVAL '2s', RETAIN HISTORY FOR '1d')"
)


@pytest.fixture
def catalog() -> Catalog:
    grown = Catalog().run(
        AUCTION,
        COUNTER,
        KEY_VALUE,
        "CREATE TABLE bids2 FROM SOURCE a (REFERENCE bids)",
        "CREATE TABLE c2 FROM SOURCE c",
        "CREATE VIEW vb AS SELECT count(*) AS n FROM bids",
        "CREATE VIEW vc AS SELECT sum(n) AS n FROM c",
        'CREATE VIEW vp AS SELECT p."offset", cp."offset" AS o FROM a_progress p, other.cp',
        "CREATE VIEW vv AS SELECT * FROM vp",
    )
    for kind, name, column in (
        ("source", "a", None),
        ("source", "a_progress", None),
        ("source", "a_progress", 1),
        ("source", "bids", None),
        ("source", "bids", 4),
        ("source", "c", None),
        ("source", "cp", None),
    ):
        comment = Comment(kind, item(grown.state, name).id, column, f"of {name} {column}")
        grown.state = apply(grown.state, updates.SetComment(comment))
    return grown


def item(state: CatalogState, name: str) -> Item:
    return next(item for item in state.items.values() if item.name == name)


def migrated(state: CatalogState) -> tuple[CatalogState, Plan]:
    planned = plan(state)
    after = state
    for update in planned.updates(state):
        after = apply(after, update)
    return replace(after, derived={}), planned


def shown(state: CatalogState) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By full name: kind and columns."""
    names = SessionNames(state)
    return {names.full_name(i): (i.kind, i.relation.column_names()) for i in state.items.values()}


def comments(state: CatalogState) -> dict[tuple[str, int | None], str]:
    return {(state.items[c.object_id].name, c.sub_id): c.text for c in state.comments.values()}


def test_names_keep_their_columns_and_ids_their_rows(catalog: Catalog) -> None:
    before = catalog.state
    after, planned = migrated(before)
    assert not planned.problems
    assert set(after.items) == set(before.items)
    old, new = shown(before), shown(after)
    assert old.keys() == new.keys()
    for name, (kind, columns) in old.items():
        if name != "materialize.public.a":  # had no rows of its own, and is its progress now
            assert new[name][1] == columns, name
        if kind in ("table", "view"):
            assert new[name][0] == kind, name
    for id_, was in before.items.items():
        if was.stores:
            assert after.items[id_].stores
            assert after.items[id_].export == was.export
        assert after.items[id_].ingests == was.ingests
        assert after.items[id_].owner_id == was.owner_id
    assert [e.id for p in ("u1", "u8") for e in after.exports_of(p)] == [
        e.id for p in ("u1", "u8") for e in before.exports_of(p)
    ]


def test_the_source_takes_the_name_and_its_progress_becomes_a_view(catalog: Catalog) -> None:
    after, _ = migrated(catalog.state)
    source, view = item(after, "a"), item(after, "a_progress")
    assert (source.id, source.kind, view.id, view.kind) == ("u1", "source", "u2", "view")
    assert source.create_sql == (
        "CREATE SOURCE materialize.public.a\nIN CLUSTER quickstart\nFROM LOAD GENERATOR AUCTION;"
    )
    assert view.create_sql.endswith('AS SELECT "offset" FROM materialize.public.a;')
    assert view.dependencies == ("u1",)
    assert after.source_type(source) == "load-generator"
    assert item(after, "bids").create_sql == (
        "CREATE TABLE materialize.public.bids\nFROM SOURCE materialize.public.a"
        " (REFERENCE = mz_load_generators.auction.bids)\nWITH (RETAIN HISTORY = FOR '1h');"
    )
    assert item(after, "bids").dependencies == ("u1",)
    assert item(after, "bids2").dependencies == ("u1",)


def test_rows_under_a_sources_own_name_become_a_table(catalog: Catalog) -> None:
    after, _ = migrated(catalog.state)
    table, source = item(after, "c"), item(after, "cp")
    assert (table.kind, source.kind) == ("table", "source")
    assert source.create_sql == (
        "CREATE SOURCE materialize.other.cp\nIN CLUSTER quickstart\nFROM LOAD GENERATOR COUNTER;"
    )
    assert table.create_sql == (
        "CREATE TABLE materialize.public.c (n)\nFROM SOURCE materialize.other.cp"
        " (REFERENCE = mz_load_generators.counter.counter);"
    )
    assert "FROM SOURCE materialize.other.cp" in item(after, "c2").create_sql
    values = item(after, "kv")
    assert "INCLUDE OFFSET AS o\nENVELOPE NONE\nWITH (RETAIN HISTORY = FOR '1d')" in values.create_sql
    assert "WITH (TIMESTAMP INTERVAL = '2s')" in item(after, "kv_progress").create_sql


def test_dependents_and_comments_stay_with_names(catalog: Catalog) -> None:
    before = catalog.state
    after, _ = migrated(before)
    assert comments(after) == comments(before)
    for comment in after.comments.values():
        assert after.items[comment.object_id].kind == comment.object_kind
    for name in ("vb", "vc", "vp", "vv"):
        assert item(after, name).create_sql == item(before, name).create_sql
    assert item(after, "vp").dependencies == (item(after, "a_progress").id, item(after, "cp").id)


def test_owners_and_grants_stay_with_names(catalog: Catalog) -> None:
    before = catalog.state
    for number, name in enumerate(("ann", "bob"), 2):
        before = apply(before, updates.CreateRole(Role(f"u{number}", 20_300 + number, name)))
    for owner_id, name in zip(("u2", "u3") * 3, ("a", "a_progress", "bids", "c", "cp", "kv"), strict=True):
        key = ("item", item(before, name).id)
        before = apply(before, updates.SetOwner(key, owner_id))
        grants = (Grant(owner_id, owner_id, READ), Grant(PUBLIC_ID, owner_id, READ))
        before = apply(before, updates.SetGrants(key, grants if name != "cp" else None))
    after, _ = migrated(before)

    def held(state: CatalogState) -> dict[str, tuple[str, tuple[Grant, ...] | None]]:
        return {i.name: (i.owner_id, state.grants.get(("item", i.id))) for i in state.items.values()}

    assert held(after) == held(before)


def test_it_is_done_once(catalog: Catalog) -> None:
    after, _ = migrated(catalog.state)
    assert plan(after).steps == ()
    assert plan(after).updates(after) == ()


def test_every_statement_can_be_read_again(catalog: Catalog) -> None:
    after, _ = migrated(catalog.state)
    for one in after.items.values():
        assert parse_statement(one.create_sql).render() == one.create_sql


def test_all_can_be_dropped_afterwards(catalog: Catalog) -> None:
    catalog.state, _ = migrated(catalog.state)
    catalog.run("DROP SOURCE a CASCADE", "DROP SOURCE other.cp CASCADE", "DROP SOURCE kv_progress CASCADE")
    assert not catalog.state.items


def test_if_one_cannot_be_moved_nothing_is(catalog: Catalog) -> None:
    odd = item(catalog.state, "c")
    catalog.state = apply(catalog.state, updates.UpdateItem(odd.id, create_sql="CREATE TABLE c (n int);"))
    planned = plan(catalog.state)
    assert [(step.before.name, step.after) for step in planned.problems] == [("c", None)]
    assert "not a CREATE SOURCE" in str(planned.problems[0].problem)
    assert [step.before.name for step in planned.steps if step.after is not None][:2] == ["a_progress", "a"]


# Upstreams that cannot be created yet


def source_items(sql: str, progress: Relation, name: str, own: Export | None = None) -> tuple[Item, Item]:
    """The progress relation u101 and the source u102."""
    ingestion = Item(
        "u101",
        30_101,
        "u1",
        f"{name}_progress",
        "source",
        f"CREATE SUBSOURCE materialize.public.{name}_progress (x pg_catalog.text) WITH (PROGRESS = TRUE);",
        progress,
        cluster_id="u1",
        details=Ingestion(name, {"connection_id": "u100"}, 1000, 1000, parent_id="u102"),
    )
    details = LegacySource("u101", 1000, own)
    relation = Relation(()) if own is None else own.relation
    source = Item(
        "u102", 30_102, "u1", name, "source", sql, relation, ("u100", "u101"), "u1", details=details
    )
    return ingestion, source


def connection(id_: str, name: str) -> Item:
    sql = f"CREATE CONNECTION materialize.public.{name} TO POSTGRES (HOST = 'h');"
    return Item(
        id_,
        30_000 + int(id_[1:]),
        "u1",
        name,
        "connection",
        sql,
        Relation(()),
        details=Connection("postgres", {"host": "h"}),
    )


def with_items(*items: Item) -> CatalogState:
    state = Catalog().state
    for one in items:
        state = apply(state, CreateItem(one))
    return state


def test_a_kafka_source_becomes_a_table_with_its_format() -> None:
    relation = Relation((Column("key", TEXT, False), Column("data", JSONB, False)), ((0,),))
    export = Export("u102", ("orders",), relation, ("key", "data"), "keyed")
    sql = (
        "CREATE SOURCE materialize.public.kafka (key, data)\nIN CLUSTER quickstart\nFROM KAFKA CONNECTION"
        " materialize.public.kc (TOPIC = 'orders', START OFFSET = (0, 10))\n"
        "KEY FORMAT TEXT\nVALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION"
        " materialize.public.csr SEED VALUE SCHEMA '{}'\nINCLUDE KEY, HEADER 'h' AS h\nENVELOPE UPSERT\n"
        "EXPOSE PROGRESS AS materialize.public.kafka_progress\n"
        "WITH (TIMESTAMP INTERVAL = '2s', RETAIN HISTORY = FOR '1d');"
    )
    assert parse_statement(sql).render() == sql
    progress = Relation((Column("partition", TEXT), Column("offset", UINT8)))
    state = with_items(
        connection("u100", "kc"),
        replace(connection("u99", "csr"), id="u99"),
        *source_items(sql, progress, "kafka", export),
    )
    after, planned = migrated(state)
    assert not planned.problems
    assert item(after, "kafka_progress").create_sql == (
        "CREATE SOURCE materialize.public.kafka_progress\nIN CLUSTER quickstart\nFROM KAFKA CONNECTION"
        " materialize.public.kc (TOPIC = 'orders', START OFFSET = (0, 10))\n"
        "WITH (TIMESTAMP INTERVAL = '2s');"
    )
    assert item(after, "kafka_progress").dependencies == ("u100",)
    table = item(after, "kafka")
    assert table.kind == "table"
    assert table.create_sql == (
        "CREATE TABLE materialize.public.kafka (key, data)\nFROM SOURCE materialize.public.kafka_progress"
        " (REFERENCE = orders)\nKEY FORMAT TEXT\nVALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION"
        " materialize.public.csr SEED VALUE SCHEMA '{}'\nINCLUDE KEY, HEADER 'h' AS h\nENVELOPE UPSERT\n"
        "WITH (RETAIN HISTORY = FOR '1d');"
    )
    assert table.dependencies == ("u101", "u99")
    assert parse_statement(table.create_sql).render() == table.create_sql
    assert plan(after).steps == ()


def test_a_key_that_is_only_claimed_is_not_moved() -> None:
    relation = Relation((Column("id", INT4), Column("v", TEXT)))
    export = Export("u102", ("orders",), relation, ("id", "v"), "appended")
    sql = (
        "CREATE SOURCE materialize.public.kafka (id, v, PRIMARY KEY (id) NOT ENFORCED)\n"
        "IN CLUSTER quickstart\nFROM KAFKA CONNECTION materialize.public.kc (TOPIC = 'orders')\n"
        "FORMAT CSV WITH 2 COLUMNS\nEXPOSE PROGRESS AS materialize.public.kafka_progress;"
    )
    progress = Relation((Column("partition", TEXT), Column("offset", UINT8)))
    state = with_items(connection("u100", "kc"), *source_items(sql, progress, "kafka", export))
    planned = plan(state)
    assert "NOT ENFORCED" in str(planned.problems[0].problem)


def test_a_mysql_source_gives_its_columns_to_its_tables() -> None:
    sql = (
        "CREATE SOURCE materialize.public.mysql\nIN CLUSTER quickstart\n"
        "FROM MYSQL CONNECTION materialize.public.my\nEXPOSE PROGRESS AS materialize.public.mysql_progress;"
    )
    relation = Relation((Column("id", INT4, False), Column("y", TEXT)), ((0,),))
    export = Export("u103", ("shop", "orders"), relation, ("id", "y"), "keyed")
    subsource = Item(
        "u103",
        30_103,
        "u2",
        "orders",
        "source",
        "CREATE SUBSOURCE materialize.other.orders (id pg_catalog.int4 NOT NULL, y pg_catalog.text,"
        " PRIMARY KEY (id))\nOF SOURCE materialize.public.mysql\nWITH (EXTERNAL REFERENCE = shop.orders,"
        " TEXT COLUMNS = (y), EXCLUDE COLUMNS = (z));",
        relation,
        ("u102",),
        "u1",
        details=FedTable("u101", export, 1000),
    )
    progress = Relation((Column("source_id_lower", TEXT), Column("transaction_id", UINT8)))
    state = with_items(connection("u100", "my"), *source_items(sql, progress, "mysql"), subsource)
    after, planned = migrated(state)
    assert not planned.problems
    assert item(after, "mysql").create_sql == (
        "CREATE SOURCE materialize.public.mysql\nIN CLUSTER quickstart\n"
        "FROM MYSQL CONNECTION materialize.public.my;"
    )
    assert item(after, "mysql").id == "u101"
    assert item(after, "mysql_progress").create_sql == (
        "CREATE VIEW materialize.public.mysql_progress\n"
        "AS SELECT source_id_lower, transaction_id FROM materialize.public.mysql;"
    )
    orders = item(after, "orders")
    assert (orders.kind, orders.dependencies) == ("table", ("u101",))
    assert orders.create_sql == (
        "CREATE TABLE materialize.other.orders\nFROM SOURCE materialize.public.mysql"
        " (REFERENCE = shop.orders)\nWITH (TEXT COLUMNS = (y), EXCLUDE COLUMNS = (z));"
    )
