"""The legacy syntax for all kinds of upstreams: statements are planned by the same machinery.

Method: kinds of sources that are nothing but facts (references, whether there is one output or many)
stand in for MySQL and Kafka; what CREATE SOURCE would record is looked at item by item, and through the
system relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from headwater.catalog.apply import apply
from headwater.catalog.builtin.evaluate import evaluate
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.registry import BUILTINS_BY_NAME
from headwater.catalog.details import Ingestion
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator import legacy_sources
from headwater.coordinator.legacy_sources import qualified_hint
from headwater.coordinator.upstreams import Answer
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, JSONB, TEXT
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Reference
from headwater.sources.dialects import DIALECTS
from headwater.sources.kafka import grammar as kafka_grammar
from headwater.sources.load_generator import KIND
from headwater.sources.mysql import grammar as mysql_grammar
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_source import CreateSource
from tests.unit.coordinator.scopes import Catalog

ORDERS = Relation((Column("id", INT4, False), Column("y", TEXT)), ((0,),))
MESSAGE = Relation((Column("key", TEXT, False), Column("data", JSONB, False)), ((0,),))
MYSQL = (Reference(("shop",), "orders", ORDERS, "keyed"), Reference(("shop",), "lines", ORDERS, "keyed"))
KAFKA = (Reference((), "topic", MESSAGE, "keyed"),)


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, single, grammar in (
        ("mysql", False, mysql_grammar.GRAMMAR),
        ("kafka", True, kafka_grammar.GRAMMAR),
    ):
        made_up = replace(
            KIND,
            name=name,
            title=lambda options, name=name: name,  # type: ignore[misc]
            single_output=lambda options, single=single: single,  # type: ignore[misc]
            encode=(lambda secrets, reference, encoding, registries: reference) if single else None,
            pin=lambda reference, text_columns, exclude_columns: reference,
            metadata_columns=lambda options: (),
        )
        monkeypatch.setitem(SOURCE_TYPES, name, made_up)
        dialect = replace(DIALECTS["postgres"], source_type=name, grammar=grammar, relations=())
        monkeypatch.setitem(DIALECTS, name, dialect)


def planned(sql: str, kind: str, references: tuple[Reference, ...]) -> CatalogState:
    """What the statement leaves in a catalog."""
    catalog = Catalog()
    statement = parse_statement(sql)
    assert isinstance(statement, CreateSource)
    scope = catalog.scope()
    id_, oid = scope.new_item()
    ingestion = Item(
        *(id_, oid, "u1", statement.name.item, "source", "", Relation((Column("x", TEXT),))),
        cluster_id="u1",
        details=Ingestion(kind, {}, 1_000, 1_000),
    )
    outcome = legacy_sources.plan(scope, statement, ingestion, Answer(kind, {}, references))
    state = catalog.state
    for update in outcome.updates:
        state = apply(state, update)
    return state


def shown(relation: str, state: CatalogState) -> list[tuple[object, ...]]:
    builtin = BUILTINS_BY_NAME["mz_internal", relation]
    return [tuple(row.values()) for row in evaluate(builtin.id, SystemFacts(state)).to_pylist()]


def names(items: Iterable[Item]) -> list[str]:
    return [item.name for item in items]


def test_a_mysql_source_has_subsources_with_their_columns() -> None:
    state = planned(
        "CREATE SOURCE my FROM MYSQL CONNECTION c (TEXT COLUMNS (shop.orders.y), IGNORE COLUMNS (lines.y))"
        " FOR TABLES (shop.orders AS o, lines)",
        "mysql",
        MYSQL,
    )
    assert names(state.items.values()) == ["my_progress", "my", "o", "lines"]
    assert "TEXT COLUMNS = (y)" in state.items["u3"].create_sql
    assert "EXCLUDE COLUMNS = (y)" in state.items["u4"].create_sql
    assert "TEXT" not in state.items["u2"].create_sql
    assert shown("mz_mysql_source_tables", state) == [("u3", "shop", "orders"), ("u4", "shop", "lines")]


def test_a_mysql_schema_gives_all_its_tables() -> None:
    state = planned("CREATE SOURCE my FROM MYSQL CONNECTION c FOR SCHEMAS (shop)", "mysql", MYSQL)
    assert names(state.items.values()) == ["my_progress", "my", "orders", "lines"]
    with pytest.raises(UserError, match="MYSQL source validation: missing TABLES"):
        planned("CREATE SOURCE my FROM MYSQL CONNECTION c FORMAT JSON", "mysql", MYSQL)
    with pytest.raises(UserError, match="MYSQL source validation: TEXT COLUMNS refers to table"):
        planned(
            "CREATE SOURCE my FROM MYSQL CONNECTION c (TEXT COLUMNS (lines.y)) FOR TABLES (orders)",
            "mysql",
            MYSQL,
        )


def test_a_kafka_source_has_rows_of_its_own() -> None:
    state = planned(
        "CREATE SOURCE k (id, doc) FROM KAFKA CONNECTION c (TOPIC 'topic') KEY FORMAT TEXT VALUE FORMAT JSON"
        " ENVELOPE UPSERT WITH (RETAIN HISTORY FOR '1d')",
        "kafka",
        KAFKA,
    )
    source = state.items["u2"]
    assert names(state.items.values()) == ["k_progress", "k"]
    assert source.relation.column_names() == ("id", "doc")
    assert source.source_id == "u1"
    assert source.create_sql == (
        "CREATE SOURCE materialize.public.k (id, doc)\nIN CLUSTER quickstart\n"
        "FROM KAFKA CONNECTION c (TOPIC = 'topic')\nKEY FORMAT TEXT\nVALUE FORMAT JSON\nENVELOPE UPSERT\n"
        "EXPOSE PROGRESS AS materialize.public.k_progress\nWITH (RETAIN HISTORY = FOR '1d');"
    )
    assert shown("mz_kafka_source_tables", state) == [("u2", "topic", "upsert", "text", "json")]


def test_a_kafka_source_has_one_output_only() -> None:
    with pytest.raises(UserError, match="FOR ALL TABLES is only valid for multi-output sources"):
        planned("CREATE SOURCE k FROM KAFKA CONNECTION c (TOPIC 'topic') FOR ALL TABLES", "kafka", KAFKA)


def test_hints_name_columns_as_this_form_takes_them() -> None:
    reference = Reference(("shop", "public"), "Orders", Relation(()), "keyed")
    hint = 'Use TEXT COLUMNS (a, "B") to ingest their text, or EXCLUDE COLUMNS (a, ..) to leave them out.'
    assert qualified_hint(hint, reference) == (
        'Use TEXT COLUMNS (public."Orders".a, public."Orders"."B") to ingest their text,'
        ' or EXCLUDE COLUMNS (public."Orders".a, ..) to leave them out.'
    )
