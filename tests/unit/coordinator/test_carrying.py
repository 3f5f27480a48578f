"""Swaps and replaced views carry along what reads by name, or are refused.

Method: a catalog with a table, a wider one, and views that read them in every way.  After each statement the
views' columns, their texts and what they depend on are looked at, and every view is planned.
"""

from __future__ import annotations

import pytest

from headwater.catalog import updates
from headwater.catalog.apply import apply
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import Item
from headwater.coordinator.carrying import switches
from headwater.core.errors import UserError
from headwater.core.names import SessionFacts
from headwater.sql.select import plan_query
from tests.unit.coordinator.scopes import Catalog


@pytest.fixture
def catalog() -> Catalog:
    return Catalog().run(
        "CREATE TABLE orders (id int, amount int, note text)",
        "CREATE TABLE wide (region text, id int, amount int, note text)",
        "CREATE TABLE customers (id int, region text)",
    )


def item(catalog: Catalog, name: str) -> Item:
    return next(item for item in catalog.state.items.values() if item.name == name)


def reads(catalog: Catalog, name: str) -> list[str]:
    """The names of what a view depends on."""
    return [catalog.state.items[id_].name for id_ in item(catalog, name).dependencies]


def check(catalog: Catalog) -> None:
    """Every view can be read, and has the columns that the catalog says."""
    for view in catalog.state.items.values():
        if view.kind == "view":
            query = plan_query(view.definition or "", SessionNames(catalog.state), SessionFacts())
            assert [c.type for c in query.columns()] == [c.type for c in view.relation.columns]
            assert query.relation_ids <= catalog.state.items.keys()
        for id_ in view.dependencies:
            assert view.id in catalog.state.dependents[id_]


def refusal(catalog: Catalog, text: str) -> UserError:
    with pytest.raises(UserError) as raised:
        catalog.plan(text)
    return raised.value


def test_views_read_what_has_the_name_now(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW priced AS SELECT id, amount FROM orders",
        "CREATE VIEW total AS SELECT sum(amount) AS s FROM priced",
        "CREATE VIEW new AS SELECT id FROM wide",
    )
    old, wide = item(catalog, "orders").id, item(catalog, "wide").id
    sql = catalog.sql_of("priced")
    catalog.run("ALTER TABLE orders SWAP WITH wide")
    assert (item(catalog, "orders").id, item(catalog, "wide").id) == (wide, old)
    assert reads(catalog, "priced") == ["orders"]
    assert item(catalog, "priced").dependencies == (wide,)
    assert item(catalog, "new").dependencies == (old,)
    assert catalog.sql_of("priced") == sql
    check(catalog)
    catalog.run("DROP VIEW new", "DROP TABLE wide")
    check(catalog)


def test_the_two_may_stand_in_one_view(catalog: Catalog) -> None:
    catalog.run("CREATE VIEW missing AS SELECT id FROM orders EXCEPT ALL SELECT id FROM wide")
    old, wide = item(catalog, "orders").id, item(catalog, "wide").id
    catalog.run("ALTER TABLE orders SWAP WITH wide")
    assert item(catalog, "missing").dependencies == (wide, old)
    check(catalog)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("SELECT * FROM orders", "(SELECT id, amount, note FROM materialize.public.orders) AS orders"),
        ("SELECT o.* FROM orders AS o", "(SELECT id, amount, note FROM materialize.public.orders) AS o"),
        ("SELECT y FROM orders AS o (x, y)", "(SELECT id, amount, note FROM materialize.public.orders) AS o"),
        # Which would find the column of orders, or two of them, or join by it.
        (
            "SELECT id FROM customers AS c WHERE EXISTS (SELECT 1 FROM orders WHERE region = 'n')",
            "(SELECT id, amount, note FROM materialize.public.orders) AS orders",
        ),
        ("SELECT region FROM customers JOIN orders USING (id)", "AS orders USING (id)"),
        ("SELECT note FROM customers NATURAL JOIN orders", "AS orders"),
    ],
)
def test_a_view_keeps_its_columns_and_what_it_means(catalog: Catalog, query: str, kept: str) -> None:
    catalog.run(f"CREATE VIEW v AS {query}")
    columns = item(catalog, "v").relation
    catalog.run("ALTER TABLE orders SWAP WITH wide")
    assert kept in catalog.sql_of("v")
    assert item(catalog, "v").relation == columns
    check(catalog)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, amount FROM orders",
        "SELECT count(*) AS n FROM orders",
        "SELECT count(*) AS n FROM (SELECT * FROM orders) AS o",
        "SELECT o.id FROM orders AS o JOIN customers AS c ON o.id = c.id WHERE c.region = 'n'",
    ],
)
def test_a_text_that_means_the_same_is_left_alone(catalog: Catalog, query: str) -> None:
    catalog.run(f"CREATE VIEW v AS {query}")
    sql = catalog.sql_of("v")
    catalog.run("ALTER TABLE orders SWAP WITH wide")
    assert catalog.sql_of("v") == sql


def test_a_column_that_nobody_uses_need_not_be_there(catalog: Catalog) -> None:
    catalog.run(
        "CREATE TABLE narrow (amount int, id int)",
        "CREATE VIEW v AS SELECT id, amount FROM orders",
        "CREATE VIEW placed AS SELECT y FROM orders AS o (x, y, z)",
        "ALTER TABLE orders SWAP WITH narrow",
    )
    assert "SELECT id, amount, NULL::pg_catalog.text AS note FROM" in catalog.sql_of("placed")
    check(catalog)


@pytest.mark.parametrize(
    ("view", "other", "message", "detail"),
    [
        (
            "SELECT note FROM orders",
            "id int, amount int",
            'view "materialize.public.v" uses column "note" of "materialize.public.orders",'
            " which would not have it",
            "It has id, amount.",
        ),
        (
            "SELECT count(amount) AS n FROM orders",
            "id int, amount bigint, note text",
            'view "materialize.public.v" uses column "amount" of "materialize.public.orders",'
            " which would have it with another type",
            "It is integer now and would be bigint.",
        ),
        (
            "SELECT count(*) AS n FROM (SELECT note FROM orders) AS o",
            "id int, amount int",
            None,
            None,
        ),
    ],
)
def test_what_a_view_uses_must_be_there(
    catalog: Catalog, view: str, other: str, message: str | None, detail: str | None
) -> None:
    catalog.run(f"CREATE TABLE other_orders ({other})", f"CREATE VIEW v AS {view}")
    if message is None:  # a column that is named and not needed is there in name
        catalog.run("ALTER TABLE orders SWAP WITH other_orders")
        check(catalog)
        return
    error = refusal(catalog, "ALTER TABLE orders SWAP WITH other_orders")
    assert error.message == f'cannot swap table "orders" with "other_orders": {message}'
    assert error.detail == detail


def test_views_change_places_too(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW priced AS SELECT id, amount FROM orders",
        "CREATE VIEW total AS SELECT sum(amount) AS s FROM priced",
        # It reads the one whose place it takes, and goes on with that.
        "CREATE VIEW more AS SELECT 0 AS extra, amount * 2 AS amount, id FROM priced",
    )
    first, second = item(catalog, "priced").id, item(catalog, "more").id
    catalog.run("ALTER VIEW priced SWAP WITH more")
    assert item(catalog, "priced").id == second
    assert item(catalog, "total").dependencies == (second,)
    assert item(catalog, "priced").dependencies == (first,)
    assert "FROM materialize.public.more" in catalog.sql_of("priced")
    check(catalog)


def test_nothing_comes_to_depend_on_itself(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW priced AS SELECT id, amount FROM orders",
        "CREATE VIEW halfway AS SELECT id, amount FROM priced",
        "CREATE VIEW more AS SELECT id, amount FROM halfway",
    )
    error = refusal(catalog, "ALTER VIEW priced SWAP WITH more")
    assert "would depend on itself" in error.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ALTER TABLE orders SWAP WITH orders", 'cannot swap table "orders" with itself'),
        ("ALTER SCHEMA public SWAP WITH public", 'cannot swap schema "public" with itself'),
        ("ALTER CLUSTER quickstart SWAP WITH quickstart", 'cannot swap cluster "quickstart" with itself'),
    ],
)
def test_nothing_is_swapped_with_itself(catalog: Catalog, text: str, message: str) -> None:
    error = refusal(catalog, text)
    assert (error.message, error.sqlstate) == (message, "22023")


def test_a_swap_back_leaves_everything_as_it_was(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW priced AS SELECT id, amount FROM orders", "CREATE VIEW star AS SELECT * FROM orders"
    )
    before = {i.id: (i.name, i.dependencies, i.relation) for i in catalog.state.items.values()}
    catalog.run("ALTER TABLE orders SWAP WITH wide", "ALTER TABLE wide SWAP WITH orders")
    assert {i.id: (i.name, i.dependencies, i.relation) for i in catalog.state.items.values()} == before
    check(catalog)


# Schemas


@pytest.fixture
def colours() -> Catalog:
    return Catalog().run(
        "CREATE TABLE public.t (a int)",
        "CREATE TABLE other.t (b text, a int)",
        "CREATE VIEW public.v AS SELECT * FROM public.t",
        "CREATE VIEW other.v AS SELECT a FROM other.t",
    )


def outside(colours: Catalog, *texts: str) -> Catalog:
    colours.run("CREATE SCHEMA third")
    return colours.run(*texts)


def test_what_is_outside_of_swapped_schemas_reads_by_name(colours: Catalog) -> None:
    outside(
        colours,
        "CREATE VIEW third.x AS SELECT * FROM public.t",
        "CREATE VIEW third.y AS SELECT a FROM public.v",
    )
    mine = {name: item(colours, name) for name in ("x", "y")}
    colours.run("ALTER SCHEMA public SWAP WITH other")
    names = SessionNames(colours.state)
    after = [names.full_name(colours.state.items[id_]) for n in mine for id_ in item(colours, n).dependencies]
    assert after == ["materialize.public.t", "materialize.public.v"]
    assert item(colours, "x").dependencies != mine["x"].dependencies
    assert item(colours, "x").relation == mine["x"].relation
    check(colours)


def test_what_is_inside_goes_along(colours: Catalog) -> None:
    colours.run("CREATE VIEW public.both AS SELECT x.a, y.b FROM public.t AS x, other.t AS y")
    before = item(colours, "both").dependencies
    colours.run("ALTER SCHEMA public SWAP WITH other")
    assert item(colours, "both").dependencies == before
    assert "FROM materialize.other.t AS x, materialize.public.t AS y" in colours.sql_of("both")
    check(colours)


def test_a_name_that_only_one_of_the_schemas_has_is_missed(colours: Catalog) -> None:
    outside(
        colours, "CREATE TABLE public.single (a int)", "CREATE VIEW third.x AS SELECT a FROM public.single"
    )
    error = refusal(colours, "ALTER SCHEMA public SWAP WITH other")
    assert error.message == (
        'cannot swap schema "public" with "other": view "materialize.third.x" reads table'
        ' "materialize.public.single", and nothing would have that name'
    )


# CREATE OR REPLACE VIEW


def test_a_view_with_dependents_is_replaced_by_one_with_more_columns(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW shared AS SELECT id, amount FROM orders",
        "CREATE VIEW view1 AS SELECT id FROM shared",
        "CREATE VIEW view2 AS SELECT * FROM shared",
        "COMMENT ON VIEW shared IS 'both'",
        "COMMENT ON COLUMN shared.amount IS 'in cents'",
    )
    id_ = item(catalog, "shared").id
    catalog.run(
        "CREATE OR REPLACE VIEW shared AS SELECT note, id, amount FROM orders",
        "CREATE VIEW view3 AS SELECT note FROM shared",
    )
    assert item(catalog, "shared").id == id_
    assert item(catalog, "view2").relation.column_names() == ("id", "amount")
    assert catalog.state.comment_on("view", id_) == "both"
    assert catalog.state.comment_on("view", id_, 3) == "in cents"
    assert catalog.state.comment_on("view", id_, 2) is None
    check(catalog)


def test_a_replaced_view_keeps_what_is_used_of_it(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW shared AS SELECT id, amount FROM orders",
        "CREATE VIEW view1 AS SELECT amount FROM shared",
    )
    error = refusal(catalog, "CREATE OR REPLACE VIEW shared AS SELECT id FROM orders")
    assert error.message.startswith(
        'cannot replace view "shared": view "materialize.public.view1" uses column'
    )
    error = refusal(catalog, "CREATE OR REPLACE VIEW shared AS SELECT id, amount::text AS amount FROM orders")
    assert error.sqlstate == "42804"
    assert "depends on it" in refusal(catalog, "CREATE OR REPLACE VIEW shared AS SELECT * FROM view1").message
    catalog.run("CREATE OR REPLACE VIEW shared AS SELECT amount, 1 AS one FROM wide")
    assert reads(catalog, "shared") == ["wide"]
    check(catalog)


def test_the_same_view_again_is_no_change(catalog: Catalog) -> None:
    catalog.run("CREATE VIEW shared AS SELECT id, amount FROM orders")
    assert catalog.plan("CREATE OR REPLACE VIEW shared AS SELECT id, amount FROM orders").updates == ()


def test_other_names_for_the_same_query_are_a_change(catalog: Catalog) -> None:
    catalog.run("CREATE VIEW shared AS SELECT id, amount FROM orders")
    catalog.run("CREATE OR REPLACE VIEW shared (x) AS SELECT id, amount FROM orders")
    assert item(catalog, "shared").relation.column_names() == ("x", "amount")


# What changes its meaning


def test_all_that_gives_something_else_is_told(catalog: Catalog) -> None:
    catalog.run(
        "CREATE VIEW priced AS SELECT id, amount FROM orders",
        "CREATE VIEW total AS SELECT sum(amount) AS s FROM priced",
        "CREATE VIEW aside AS SELECT id FROM customers",
    )
    (said,) = [
        u
        for u in catalog.plan("ALTER TABLE orders SWAP WITH wide").updates
        if isinstance(u, updates.Redefine)
    ]
    names = {catalog.state.items[id_].name for id_ in said.ids}
    assert names == {"orders", "wide", "priced", "total"}
    marked = apply(catalog.state, updates.Redefine(said.ids, 17))
    assert {i.name for i in marked.items.values() if i.redefined_at == 17} == names


def test_swaps_of_one_block_follow_one_another(catalog: Catalog) -> None:
    a, b, c = (item(catalog, name).id for name in ("orders", "wide", "customers"))
    swap = updates.SwapItems
    assert switches(catalog.state, [swap(a, b)]) == {a: b, b: a}
    assert switches(catalog.state, [swap(a, b), swap(a, b)]) == {}
    assert switches(catalog.state, [swap(a, b), swap(b, c)]) == {a: c, b: a, c: b}
    assert switches(catalog.state, [updates.RenameItem(a, "z")]) == {}
