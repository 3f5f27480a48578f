"""Views mean what they meant, whatever the names of what they read become.

Method: a catalog with two schemas that have tables of the same name; views that name columns in every
way and in every clause; every rename and swap that touches their tables, one after another.  After each
step the view's plan is compared with the one before, column for column and relation by id, and the
statement that is shown is run again: it must make the same view.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.catalog.snapshot import SessionNames
from headwater.coordinator.carrying import Change, carried_views, stays
from headwater.core.names import SessionFacts
from headwater.core.relation import Column
from headwater.core.types import INT4
from headwater.sql.cursor import Name
from headwater.sql.parse import parse_statement
from headwater.sql.select import plan_query
from headwater.sql.select.plan.nodes import Expression, Node, Query, Scan
from headwater.sql.select.plan.walk import rebuild_expression, rebuild_node
from headwater.sql.statements.create_view import CreateView
from tests.unit.coordinator.scopes import Catalog

VIEWS = (
    "SELECT a FROM public.t",
    "SELECT t.a FROM t",
    "SELECT public.t.a FROM public.t",
    "SELECT public.t.a FROM t",
    "SELECT materialize.public.t.a, t.b FROM public.t",
    'SELECT "public" . /* ! */ "t" . a FROM public.t',
    "SELECT public.t.* FROM public.t",
    "SELECT t.*, other.w.c FROM public.t, other.w",
    "SELECT public.t.a AS x, other.t.a AS y FROM public.t, other.t",
    "SELECT other.t.a AS x, public.t.b FROM other.t JOIN public.t ON public.t.a = other.t.a",
    "SELECT public.t.a AS x, other.t.a AS y FROM other.t JOIN public.t USING (a)",
    "SELECT public.t.a AS x FROM other.t NATURAL JOIN public.t",
    "SELECT x.a FROM public.t AS x WHERE x.b > 0",
    "SELECT public.t.a FROM public.t AS t",
    "SELECT public.t.p FROM public.t AS t (p, q) WHERE t.q > (SELECT count(*) FROM other.t)",
    "SELECT t.a FROM public.t WHERE EXISTS (SELECT 1 FROM other.t WHERE other.t.a = public.t.a)",
    "SELECT (SELECT other.t.a FROM other.t WHERE other.t.b = public.t.b) AS z FROM public.t",
    "SELECT (SELECT public.t.a FROM other.w AS t LIMIT 1) AS z FROM public.t",
    "SELECT (SELECT t.c FROM other.w AS t LIMIT 1) AS z, public.t.b FROM public.t",
    "SELECT t.a FROM public.t WHERE a IN (SELECT t.a FROM public.t WHERE public.t.b = 1)",
    "SELECT u.a, public.t.b FROM public.t, other.w AS u (a, d)",
    "SELECT t.a, u.a AS ua FROM public.t, other.t AS u",
    "SELECT public.t.a, count(*) AS n FROM public.t GROUP BY public.t.a HAVING max(public.t.b) > 1"
    " ORDER BY public.t.a",
    "SELECT public.t.a, row_number() OVER w AS n FROM public.t"
    " WINDOW w AS (PARTITION BY public.t.a ORDER BY public.t.b)",
    "SELECT sum(public.t.a) FILTER (WHERE public.t.b > 0) AS s FROM public.t WHERE public.t.a > 0",
    "SELECT array_agg(public.t.a ORDER BY public.t.b) AS s FROM public.t",
    "SELECT DISTINCT ON (public.t.a) public.t.b FROM public.t ORDER BY public.t.a",
    "SELECT CASE WHEN public.t.a > 0 THEN public.t.b END AS c, public.t.a::text AS d FROM public.t",
    "SELECT l.s FROM public.t, LATERAL (SELECT public.t.a + other.w.c AS s FROM other.w) l",
    "SELECT g FROM public.t, generate_series(1, public.t.a) AS g",
    "SELECT t.a FROM (SELECT public.t.a FROM public.t) AS t",
    "SELECT j.a FROM (public.t CROSS JOIN other.w) AS j",
    "SELECT j.c FROM (public.t JOIN other.w ON public.t.a = other.w.c) AS j",
    "WITH t AS (SELECT public.t.a FROM public.t) SELECT t.a FROM t",
    "WITH t AS (SELECT 1 AS a) SELECT t.a, public.t.b FROM t AS q, public.t, t AS r WHERE q.a = r.a",
    "WITH c AS (SELECT public.t.a FROM public.t) SELECT c.a, t.b FROM c, public.t WHERE public.t.a = c.a",
    "WITH RECURSIVE r AS (SELECT public.t.a FROM public.t UNION ALL"
    " SELECT public.t.a + 1 FROM public.t, r WHERE public.t.a = r.a) SELECT a FROM r",
    "SELECT public.t.a FROM public.t UNION ALL SELECT other.t.a FROM other.t ORDER BY a",
    "SELECT a FROM public.t INTERSECT (SELECT public.t.b FROM public.t ORDER BY public.t.a LIMIT 1)",
    "TABLE public.t",
    "TABLE public.t ORDER BY public.t.b, t.a LIMIT 2",
    "(TABLE t) EXCEPT TABLE other.t",
    "SELECT public.t.a FROM ONLY public.t",
    "SELECT t.a FROM public.t *",
    "SELECT public.t.a FROM public.t * ORDER BY t.b",
    "VALUES ((SELECT max(public.t.a) FROM public.t))",
    "SELECT public.t.tableoid > 0 AS ok FROM public.t",
    "SELECT t_1.c, public.t.a, other.t.a AS z FROM other.w AS t_1, public.t, other.t",
    "SELECT pg_catalog.pg_class.relname, public.t.a FROM pg_catalog.pg_class, public.t",
)

STEPS = (
    "ALTER TABLE public.t RENAME TO u",
    "ALTER SCHEMA public SWAP WITH other",
    "ALTER TABLE other.u RENAME TO w",
    "ALTER TABLE public.t RENAME TO u",
    "ALTER SCHEMA other RENAME TO third",
    "ALTER TABLE third.w RENAME TO t",
    "ALTER TABLE public.u RENAME TO t",
    "ALTER TABLE third.t SWAP WITH s",
    'ALTER TABLE third.t RENAME TO "A b.c"',
    'ALTER SCHEMA third RENAME TO "select"',
    'ALTER SCHEMA public SWAP WITH "select"',
)


def prepared() -> Catalog:
    return Catalog().run(
        "CREATE TABLE public.t (a int, b int)",
        "CREATE TABLE other.t (a int, b int)",
        "CREATE TABLE other.w (c int, d int)",
        "CREATE TABLE public.s (a int, b int)",
    )


def _nameless(node: Node) -> Node:
    """The plan with relations by their ids alone, and none of the names they have."""
    if isinstance(node, Scan):
        return replace(node, name="")
    return rebuild_node(node, _nameless, _nameless_expression)


def _nameless_expression(value: Expression) -> Expression:
    return rebuild_expression(value, _nameless_expression, _nameless)


def meaning(catalog: Catalog, text: str) -> Query:
    query = plan_query(text, SessionNames(catalog.state), SessionFacts())
    return replace(query, root=_nameless(query.root))


def definition(catalog: Catalog, name: str = "v") -> str:
    found = next(item for item in catalog.state.items.values() if item.name == name)
    assert found.definition is not None
    return found.definition


def shown_again(catalog: Catalog) -> str:
    """What the shown statement makes when it is run in another session, under another name."""
    shown = parse_statement(catalog.sql_of("v"))
    assert isinstance(shown, CreateView)
    catalog.run(replace(shown, name=Name(("materialize", _schema(catalog), "again"))).render())
    again = definition(catalog, "again")
    catalog.run(f'DROP VIEW "{_schema(catalog)}".again')
    return again


def _schema(catalog: Catalog) -> str:
    return catalog.state.schemas["u1"].name


@pytest.mark.parametrize("text", VIEWS)
def test_a_view_means_the_same_after_every_rename(text: str) -> None:
    """And after a swap of tables, of which it is not a part, what has the name then."""
    catalog = prepared()
    before = meaning(catalog, text)
    catalog.run(f"CREATE VIEW v AS {text}")
    assert meaning(catalog, definition(catalog)) == before
    for step in STEPS:
        if "SCHEMA" not in step and _missing(catalog, step):
            continue
        before = _after_swap(catalog, step, before)
        catalog.run(step)
        now = meaning(catalog, definition(catalog))
        assert now == before, f"{step}: {definition(catalog)}"
        assert shown_again(catalog) == definition(catalog)


def _after_swap(catalog: Catalog, step: str, query: Query) -> Query:
    """What the query is to mean after this step."""
    words = step.split()
    if words[1] != "TABLE" or words[3] != "SWAP":
        return query
    parts = tuple(words[2].split("."))
    pair = [catalog.scope().names.resolve_item(p).id for p in (parts, (*parts[:-1], words[5]))]
    other = {pair[0]: pair[1], pair[1]: pair[0]}

    def node(value: Node) -> Node:
        if isinstance(value, Scan):
            return replace(value, relation_id=other.get(value.relation_id, value.relation_id))
        return rebuild_node(value, node, expression)

    def expression(value: Expression) -> Expression:
        return rebuild_expression(value, expression, node)

    ids, named = (
        frozenset(other.get(id_, id_) for id_ in ids) for ids in (query.relation_ids, query.named_ids)
    )
    return replace(query, root=node(query.root), relation_ids=ids, named_ids=named)


def _missing(catalog: Catalog, step: str) -> bool:
    return catalog.scope().names.find_item(tuple(step.split()[2].split("."))) is None


@pytest.mark.parametrize("text", VIEWS)
def test_a_view_means_the_same_after_a_column_was_added(text: str) -> None:
    catalog = prepared().run(f"CREATE VIEW v AS {text}")
    before = definition(catalog)
    columns = meaning(catalog, before).columns()
    table = next(item for item in catalog.state.items.values() if item.name == "t")
    wider = replace(table.relation, columns=(*table.relation.columns, Column("more", INT4)))
    state = replace(
        catalog.state,
        items={**catalog.state.items, table.id: replace(table, relation=wider)},
        derived={},
    )
    changes = carried_views(Change(catalog.state, state), (table.id,), lambda _: stays)
    after = prepared()
    after.state = state
    kept = changes[0].definition if changes else before  # type: ignore[union-attr]
    assert kept is not None
    assert meaning(after, kept).columns() == columns
