"""The older form for upstreams that cannot be read yet: their statements are planned by the same machinery.

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
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator import older_sources
from headwater.coordinator.upstreams import Answer
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, JSONB, TEXT
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Reference
from headwater.sources.load_generator import LOAD_GENERATOR
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_source import CreateSource
from tests.unit.coordinator.scopes import Catalog

ORDERS = Relation((Column("id", INT4, False), Column("y", TEXT)), ((0,),))
MESSAGE = Relation((Column("key", TEXT, False), Column("data", JSONB, False)), ((0,),))
MYSQL = (Reference(("shop",), "orders", ORDERS, "keyed"), Reference(("shop",), "lines", ORDERS, "keyed"))
KAFKA = (Reference((), "topic", MESSAGE, "keyed"),)


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, single in (("mysql", False), ("kafka", True)):
        made_up = replace(
            LOAD_GENERATOR,
            name=name,
            title=lambda options, name=name: name,  # type: ignore[misc]
            single_output=lambda options, single=single: single,  # type: ignore[misc]
            messages=single,
            metadata_columns=lambda options: (),
        )
        monkeypatch.setitem(SOURCE_TYPES, name, made_up)


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
        details={
            "source_type": kind,
            "options": {},
            "timestamp_interval_ms": 1_000,
            "retain_history_ms": 1_000,
            "references": [],
            "references_updated_at_ms": 0,
        },
    )
    outcome = older_sources.plan(scope, statement, ingestion, Answer(kind, {}, references))
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
