"""A small catalog and a DuckDB database, so that a test can say a query and see rows.

    run("SELECT a FROM t")      names and rows as PostgreSQL would print them
    failure("SELECT nope")      the UserError, from planning or from running

Every run checks that the result's Arrow types are those the plan promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import duckdb
import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.names import ItemKind, NamedRelation, SessionFacts
from headwater.core.relation import Column, Relation
from headwater.core.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMPTZ,
    UINT8,
    SqlType,
    array_of,
    map_of,
    numeric,
)
from headwater.formats.arrow import state_schema
from headwater.formats.text import from_text, to_text
from headwater.sql.select import bind_parameters, plan_query
from headwater.sql.select.generate.duckdb.errors import translate_error
from headwater.sql.select.generate.duckdb.query import generate
from headwater.sql.select.kernels import register_duckdb, told
from headwater.sql.select.plan.nodes import Query

MZ_NOW = 1_700_000_000_000
FACTS = SessionFacts(now_us=MZ_NOW * 1000, settings=(("application_name", "lab"),))

Rows = tuple[tuple[str | None, ...], ...]

T = (
    (
        ("a", INT4),
        ("b", TEXT),
        ("n", numeric(2)),
        ("u", NUMERIC),
        ("ts", TIMESTAMPTZ),
        ("d", DATE),
        ("i", INTERVAL),
        ("arr", array_of(INT4)),
        ("j", JSONB),
        ("c", SqlType("char", length=4)),
        ("u8", UINT8),
        ("f", FLOAT8),
        ("ok", BOOL),
        ("m", map_of(INTERVAL)),
    ),
    (
        (
            "1",
            "x",
            "1.50",
            "10.25",
            "2020-01-01 00:00:00+00",
            "2020-01-01",
            "1 day",
            "{1,2}",
            '{"k": 1}',
            "ab",
            "5",
            "1.5",
            "t",
            "{p=>1 day}",
        ),
        (
            "2",
            "y",
            "2.50",
            "9",
            "2021-01-01 00:00:00+00",
            "2021-01-01",
            "1 mon 2 days 03:04:05",
            "{3}",
            '{"k": 2}',
            "cd",
            "18446744073709551615",
            "2.5",
            "f",
            "{}",
        ),
        ("3", *(None for _ in range(13))),
    ),
)
S = ((("a", INT4), ("x", TEXT)), (("1", "one"), ("1", "uno"), ("4", "four")))


def _relation(columns: tuple[tuple[str, SqlType], ...], key: bool = False) -> Relation:
    return Relation(tuple(Column(name, type_) for name, type_ in columns), ((0,),) if key else ())


def _found(id_: str, name: str, relation: Relation, definition: str | None = None) -> NamedRelation:
    kind: ItemKind = "table" if definition is None else "view"
    return NamedRelation(id_, "materialize", "public", name, kind, relation, definition)


class LabNames:
    """t, s, the view v over s, and a view that fails."""

    relations: Mapping[str, NamedRelation] = {
        "t": _found("u1", "t", _relation(T[0], key=True)),
        "s": _found("u2", "s", _relation(S[0])),
        "v": _found(
            "u3",
            "v",
            _relation((("a", INT4), ("total", INT8))),
            "SELECT a, count(*) FROM materialize.public.s GROUP BY a",
        ),
        "broken": _found("u4", "broken", _relation((("a", INT4),)), "SELECT nope FROM materialize.public.s"),
    }

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        found = self.relations.get(parts[-1])
        if found is None or len(parts) > 3 or (len(parts) > 1 and parts[-2] != "public"):
            raise UserError(f"unknown catalog item '{'.'.join(parts)}'", "42P01")
        return found

    def regclass(self, text: str) -> int | None:
        name = text.rpartition(".")[2].strip('"')
        return 20_000 + list(self.relations).index(name) if name in self.relations else None

    def type_oid(self, text: str) -> int | None:
        return {"int4": 23, "text": 25}.get(text.rpartition(".")[2])


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One database for all tests, with the relations and the kernels in it."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    register_duckdb(connection)
    for name, (columns, rows) in (("t", T), ("s", S)):
        arrays = [
            from_text(pa.array([row[i] for row in rows], pa.string()), type_)
            for i, (_, type_) in enumerate(columns)
        ]
        connection.register(f"lab_{name}", pa.table(arrays, schema=state_schema(_relation(columns))))
    return connection


TABLES = {"u1": "lab_t", "u2": "lab_s"}


def plan(
    text: str,
    types: tuple[SqlType | None, ...] = (),
    targets: tuple[Column, ...] | None = None,
    facts: SessionFacts = FACTS,
) -> Query:
    """The plan of a query against the lab's catalog."""
    return plan_query(text, LabNames(), facts, types, targets=targets)


def run(
    text: str,
    arguments: tuple[str | None, ...] = (),
    targets: tuple[Column, ...] | None = None,
) -> Rows:
    """A query's rows, printed."""
    return execute(bind_parameters(plan(text, targets=targets), arguments))


def execute(query: Query) -> Rows:
    """A plan's rows, printed."""
    try:
        table = database().sql(told(generate(query, TABLES, MZ_NOW))).to_arrow_table()
    except duckdb.Error as error:
        raise translate_error(str(error)) from error
    if not query.output:
        return tuple(() for _ in range(table.num_rows))
    promised = state_schema(Relation(query.columns()))
    assert table.schema.names == promised.names
    assert table.schema.types == promised.types
    printed = [to_text(table.column(i), column.type).to_pylist() for i, column in enumerate(query.columns())]
    return tuple(zip(*printed, strict=True))


def one(text: str, *arguments: str | None) -> str | None:
    """The only value of a query's only row."""
    ((value,),) = run(text, arguments)
    return value


def failure(text: str, *arguments: str | None, targets: tuple[Column, ...] | None = None) -> UserError:
    """The error of a query that must fail."""
    try:
        rows = run(text, arguments, targets)
    except UserError as error:
        return error
    raise AssertionError(f"{text} answered {rows}")
