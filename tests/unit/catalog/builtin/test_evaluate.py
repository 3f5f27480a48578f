"""System relations: every one of them has the columns it declares, on any catalog.

Method: all relations are evaluated on an empty catalog and on one with a little of
everything and facts about it; schemas are compared with the declared ones, and what
clients of PostgreSQL read is looked for.  Contents are in the other test files.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pyarrow as pa
import pytest

from headwater.catalog.builtin import evaluate as evaluation
from headwater.catalog.builtin.evaluate import evaluate, to_table
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.registry import BUILTINS, BUILTINS_BY_NAME, BUILTINS_BY_OID
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns, no_rows
from headwater.catalog.state import FIRST_USER_OID, SYSTEM_SCHEMAS, CatalogState
from headwater.core.errors import InvariantViolation
from headwater.core.types import FACTS, INT4, TEXT, SqlType, array_of, list_of
from headwater.formats.arrow import state_schema
from headwater.sources.dialects import DIALECTS
from tests.unit.catalog.builtin.client_columns import CLIENT_COLUMNS
from tests.unit.catalog.builtin.facts import full_facts
from tests.unit.catalog.populated import SESSION_PID, populated_state

ALL = pytest.mark.parametrize("relation_id", BUILTINS, ids=[b.name for b in BUILTINS.values()])


def check_table(relation_id: str, table: pa.Table) -> None:
    builtin = BUILTINS[relation_id]
    assert table.schema == state_schema(builtin.relation)
    table.validate(full=True)
    for column in builtin.columns:
        if not column.nullable:
            assert table[column.name].null_count == 0, column.name


@ALL
def test_a_relation_of_an_empty_catalog_has_its_columns(relation_id: str) -> None:
    check_table(relation_id, evaluate(relation_id, SystemFacts(CatalogState())))


@ALL
def test_a_relation_of_a_full_catalog_has_its_columns(relation_id: str) -> None:
    check_table(relation_id, evaluate(relation_id, full_facts()))


@pytest.mark.parametrize("name", CLIENT_COLUMNS)
def test_what_clients_of_postgresql_read_is_there(name: str) -> None:
    relation = BUILTINS_BY_NAME["pg_catalog", name].relation
    assert set(CLIENT_COLUMNS[name]) <= set(relation.column_names())


def test_ids_and_oids_are_unique_and_below_those_of_users() -> None:
    oids = {builtin.oid for builtin in BUILTINS.values()}
    assert len(oids) == len(BUILTINS) == len(BUILTINS_BY_NAME) == len(BUILTINS_BY_OID)
    assert max(oids) < FIRST_USER_OID
    types = {facts.oid for facts in FACTS.values()} | {facts.array_oid for facts in FACTS.values()}
    own = [b.oid for b in BUILTINS.values() if b.postgres_oid is None]
    assert types.isdisjoint(own)
    assert {schema.oid for schema in SYSTEM_SCHEMAS.values()}.isdisjoint(oids)


def test_a_relation_with_rows_is_in_the_folder_of_its_schema_and_the_file_of_its_name() -> None:
    of_kinds = {
        relation.id for relations in (d.relations for d in DIALECTS.values()) for relation in relations
    }
    for builtin in BUILTINS.values():
        if builtin.id in of_kinds:
            continue
        package = f"headwater.catalog.builtin.{builtin.schema}"
        if builtin.rows is no_rows and builtin.fixed is None:
            assert builtin in import_module(f"{package}.empty").RELATIONS
        else:
            assert import_module(f"{package}.{builtin.name}").RELATION is builtin


def test_column_names_are_not_repeated() -> None:
    for builtin in BUILTINS.values():
        names = builtin.relation.column_names()
        assert len(set(names)) == len(names), builtin.name


def test_every_relation_says_what_it_is() -> None:
    for builtin in BUILTINS.values():
        assert builtin.description.endswith("."), builtin.name


def test_shapes_are_read_as_written() -> None:
    columns = shape(
        """
        a int4
        b text[]?
        c "char"
        d text list?
        """
    )
    assert [(c.name, c.type, c.nullable) for c in columns] == [
        ("a", INT4, False),
        ("b", array_of(TEXT), True),
        ("c", SqlType('"char"'), False),
        ("d", list_of(TEXT), True),
    ]
    with pytest.raises(InvariantViolation, match="there is no type 'nonsense'"):
        shape("a nonsense")


def made(columns: Columns) -> pa.Table:
    builtin = BuiltinTable(1, "mz_catalog", "t", "A table.", shape("a int4\nb text?\nc text[]?"))
    return to_table(builtin, columns)


def test_a_single_value_stands_in_every_row_and_a_missing_one_is_null() -> None:
    table = made({"a": [1, 2], "c": ("x", "y")})
    whole = {"elements": ["x", "y"], "shape": None}
    assert table.to_pylist() == [{"a": 1, "b": None, "c": whole}, {"a": 2, "b": None, "c": whole}]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"a": [1], "z": [1]}, "t has no columns"),
        ({"a": [1], "b": ["x", "y"]}, "t has columns of lengths"),
        ({"a": 1}, "t has columns of lengths"),
        ({"b": ["x"]}, "t.a is NULL in a row"),
        ({"a": [None]}, "t.a is NULL in a row"),
    ],
)
def test_rows_that_do_not_fit_their_relation_are_a_bug(columns: Columns, reason: str) -> None:
    with pytest.raises(InvariantViolation, match=reason):
        made(columns)


def test_what_follows_from_the_catalog_is_computed_once_per_state() -> None:
    facts = SystemFacts(populated_state())
    pg_class = BUILTINS_BY_NAME["pg_catalog", "pg_class"].id
    objects = BUILTINS_BY_NAME["mz_catalog", "mz_objects"].id
    assert evaluate(objects, facts) is evaluate(objects, replace(facts, database="other"))
    first = evaluate(pg_class, facts)
    assert evaluate(pg_class, replace(facts, backend_pid=3)) is first
    assert evaluate(pg_class, replace(facts, database="other")) is not first
    assert evaluate(pg_class, replace(facts, backend_pid=SESSION_PID)) is not first
    assert evaluate(pg_class, SystemFacts(populated_state())) is not first


def test_what_follows_from_the_moment_is_computed_every_time() -> None:
    facts = full_facts()
    sessions = BUILTINS_BY_NAME["mz_internal", "mz_sessions"].id
    assert evaluate(sessions, facts).num_rows == 1
    assert evaluate(sessions, replace(facts, sessions=lambda: ())).num_rows == 0


def test_facts_are_asked_for_only_by_relations_that_need_them() -> None:
    def must_not_be_called() -> tuple[()]:
        raise AssertionError("not needed")

    facts = replace(
        full_facts(),
        audit_events=must_not_be_called,
        statistics=must_not_be_called,
        sessions=must_not_be_called,
    )
    evaluate(BUILTINS_BY_NAME["pg_catalog", "pg_class"].id, facts)
    evaluate(BUILTINS_BY_NAME["mz_internal", "mz_source_statuses"].id, facts)


def test_fixed_rows_are_made_once_per_process() -> None:
    objects = BUILTINS_BY_NAME["mz_catalog", "mz_objects"].id
    evaluate(objects, SystemFacts(CatalogState()))
    kept = evaluation._fixed[objects]
    evaluate(objects, SystemFacts(CatalogState()))
    assert evaluation._fixed[objects] is kept
