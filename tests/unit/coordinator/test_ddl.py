"""DDL as values: a statement and a catalog give updates, and nothing else happens.

Method: a catalog in memory is grown by planning statements and applying what they
return; each test looks at the updates themselves or at the state they make.
"""

from __future__ import annotations

import pytest

from headwater.catalog import updates
from headwater.core.errors import UserError
from tests.unit.coordinator.scopes import Catalog


@pytest.fixture
def catalog() -> Catalog:
    return Catalog().run(
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION",
        "CREATE TABLE bids FROM SOURCE s (REFERENCE bids)",
        "CREATE TABLE t (a int, b text DEFAULT 'x')",
        "CREATE VIEW v AS SELECT t.a FROM t JOIN bids ON bids.id = t.a",
    )


def test_a_source_records_its_references_and_has_the_columns_of_its_progress(catalog: Catalog) -> None:
    source = catalog.state.items["u1"]
    assert [r.name for r in source.ingestion.references] == [
        "accounts",
        "auctions",
        "bids",
        "organizations",
        "users",
    ]
    assert source.relation.column_names() == ("offset",)
    assert source.create_sql.startswith("CREATE SOURCE materialize.public.s\nIN CLUSTER quickstart\nFROM")


def test_a_table_from_a_source_freezes_columns_and_full_reference(catalog: Catalog) -> None:
    table = catalog.state.items["u2"]
    assert table.source_id == "u1"
    assert table.fed_export.reference == ("mz_load_generators", "auction", "bids")
    assert table.fed_export.options == (("batch", "b1"),)
    assert "REFERENCE = mz_load_generators.auction.bids" in table.create_sql


def test_many_tables_may_use_one_reference(catalog: Catalog) -> None:
    catalog.run("CREATE TABLE bids_v2 FROM SOURCE s (REFERENCE auction.bids)")
    assert len(catalog.state.exports_of("u1")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE x FROM SOURCE s (REFERENCE bidz)", "reference to bidz not found in source"),
        ("CREATE TABLE x FROM SOURCE s", "reference  is ambiguous"),
        ("CREATE TABLE x FROM SOURCE t (REFERENCE bids)", "t is a table not a source"),
        ("CREATE TABLE x FROM SOURCE nope (REFERENCE bids)", "unknown catalog item 'nope'"),
        ('CREATE TABLE x (a int, "A" int)', 'columns "a" and "A" differ only by case'),
        ("CREATE TABLE x (_op int)", 'column name "_op" is reserved'),
        ("CREATE TABLE x (a int DEFAULT 'q' || 'r')", "is of type integer but expression is of type text"),
        ("CREATE VIEW x AS SELECT 1 AS a, 2 AS a", 'column "a" specified more than once'),
        ("DROP TABLE t", 'cannot drop table "t": still depended upon by view "v"'),
        ("DROP SOURCE s", 'cannot drop source "s": still depended upon by table "bids"'),
        ("DROP SCHEMA public", "schema 'materialize.public' cannot be dropped without CASCADE"),
        ("DROP CLUSTER quickstart", 'cannot drop cluster "quickstart"'),
        ("DROP VIEW t", "t is a table not a view"),
        ("CREATE SCHEMA mz_x", "unacceptable schema name 'mz_x'"),
        ("CREATE SOURCE s FROM LOAD GENERATOR COUNTER", 'source "materialize.public.s" already exists'),
        (
            "CREATE SOURCE q FROM LOAD GENERATOR COUNTER WITH (TIMESTAMP INTERVAL '1ms')",
            "invalid timestamp interval of 1ms",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(catalog: Catalog, text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        catalog.run(text)
    assert message in raised.value.message


def test_a_near_reference_is_suggested(catalog: Catalog) -> None:
    with pytest.raises(UserError) as raised:
        catalog.plan("CREATE TABLE x FROM SOURCE s (REFERENCE bidz)")
    assert raised.value.hint is not None
    assert '"bids"' in raised.value.hint


def test_cascade_drops_dependents_first(catalog: Catalog) -> None:
    outcome = catalog.plan("DROP SOURCE s CASCADE")
    assert outcome.updates == (updates.DropItem("u4"), updates.DropItem("u2"), updates.DropItem("u1"))


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("DROP VIEW v CASCADE", []),
        ("DROP TABLE t CASCADE", ["view v"]),
        ("DROP SOURCE s CASCADE", ["table bids", "view v"]),
        ("DROP SCHEMA public CASCADE", ["table t", "source s", "table bids", "view v"]),
        ("DROP CLUSTER quickstart CASCADE", ["source s", "table bids", "view v"]),
    ],
)
def test_cascade_tells_what_else_was_dropped(catalog: Catalog, text: str, listed: list[str]) -> None:
    outcome = catalog.plan(text)
    full = [text.replace(" ", " materialize.public.") for text in listed]
    lines = [line for notice in outcome.notices for line in (notice.detail or notice.message).split("\n")]
    assert lines == [f"drop cascades to {name}" for name in full]
    assert [n.message for n in outcome.notices if n.detail] == (
        [f"drop cascades to {len(listed)} other objects"] if len(listed) > 1 else []
    )


def test_a_database_tells_of_its_schemas_and_what_was_in_them(catalog: Catalog) -> None:
    (notice,) = catalog.plan("DROP DATABASE materialize CASCADE").notices
    assert notice.message == "drop cascades to 6 other objects"
    assert "schema materialize.other" in (notice.detail or "")


def test_if_exists_and_if_not_exists_only_tell(catalog: Catalog) -> None:
    dropped = catalog.plan("DROP TABLE IF EXISTS nope")
    made = catalog.plan("CREATE TABLE IF NOT EXISTS t (a int)")
    assert dropped.updates == made.updates == ()
    assert [n.message for n in (*dropped.notices, *made.notices)] == [
        'table "nope" does not exist, skipping',
        'table "t" already exists, skipping',
    ]


def test_dependents_follow_a_rename(catalog: Catalog) -> None:
    catalog.run(
        "ALTER TABLE t RENAME TO u", "ALTER SOURCE s RENAME TO src", "ALTER SCHEMA public RENAME TO p"
    )
    assert "materialize.p.u" in catalog.sql_of("v")
    assert "FROM SOURCE materialize.p.src" in catalog.sql_of("bids")
    assert catalog.state.item_named("u1", "u") is not None


def test_a_schema_swap_moves_everything_inside(catalog: Catalog) -> None:
    catalog.run("ALTER SCHEMA public SWAP WITH other")
    assert catalog.state.schemas["u1"].name == "other"
    assert "materialize.other.t" in catalog.sql_of("v")


def test_a_view_on_itself_cannot_replace_itself(catalog: Catalog) -> None:
    with pytest.raises(UserError, match="the new query depends on it"):
        catalog.plan("CREATE OR REPLACE VIEW v AS SELECT * FROM v")


def test_temporary_objects_belong_to_their_session(catalog: Catalog) -> None:
    catalog.run("CREATE TEMPORARY VIEW tv AS SELECT 1 AS a")
    (item,) = catalog.state.temporary_items_of(7)
    assert item.create_sql.startswith("CREATE TEMPORARY VIEW mz_temp.tv")


def test_altering_a_source_keeps_its_statement_true(catalog: Catalog) -> None:
    catalog.run(
        "ALTER SOURCE s SET (TIMESTAMP INTERVAL '2s')", "ALTER SOURCE s SET (RETAIN HISTORY FOR '1h')"
    )
    source = catalog.state.items["u1"]
    assert source.ingestion.timestamp_interval_ms == 2_000
    assert source.retain_history_ms == 3_600_000
    assert "TIMESTAMP INTERVAL = '2s', RETAIN HISTORY = FOR '1h'" in source.create_sql


def test_what_depends_on_two_schemas_that_are_dropped_goes_once(catalog: Catalog) -> None:
    catalog.run(
        "CREATE TABLE other.o (a int)",
        "CREATE VIEW other.both AS SELECT public.t.a FROM public.t, other.o",
        "DROP SCHEMA public, other, public CASCADE",
    )
    assert not catalog.state.items
    assert not catalog.state.schemas
