"""The three that answer the fixture's queries: PostgreSQL, DuckDB, Spark.

All give the same kind of answer: names, type oids, and rows of text as a client would see
them.  The last two go through the product's planner, generators and text forms; the tables
are read from PostgreSQL as text and written by the product in stored form: each is a folder with a file,
or with one for each row if its name ends in `_apart`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg
import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.names import NamedRelation, SessionFacts
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType, array_of, in_zone, kind_of_name, oid_of
from headwater.formats.arrow import state_schema
from headwater.formats.text import from_text, to_text
from headwater.formats.zones import working_zone
from headwater.persist.files import write_file
from headwater.persist.local import LocalStore
from headwater.sql.select import plan_query
from headwater.sql.select.generate.duckdb import errors as duckdb_errors
from headwater.sql.select.generate.duckdb import query as duckdb_generator
from headwater.sql.select.generate.spark import errors as spark_errors
from headwater.sql.select.generate.spark import query as spark_generator
from headwater.sql.select.kernels import register_duckdb, told
from headwater.sql.select.plan.nodes import Query


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave: columns and rows of text."""

    names: tuple[str, ...]
    oids: tuple[int, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """What a query failed with."""

    sqlstate: str
    message: str
    refused: bool = False  # 0A000


class Engine(Protocol):
    """Answers queries."""

    def run(self, sql: str, zone: str = "UTC") -> Answer | Failure:
        """One query, in a session of a zone."""


class Postgres:
    """The oracle."""

    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.zone = "UTC"

    def run(self, sql: str, zone: str = "UTC") -> Answer | Failure:
        if zone != self.zone:
            self.connection.execute("SELECT set_config('timezone', %s, false)", (zone,))
            self.zone = zone
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql.encode())
        except psycopg.Error as error:
            return Failure(error.sqlstate or "", error.diag.message_primary or "")
        result = cursor.pgresult
        if result is None or cursor.description is None:
            return Answer((), (), ())
        rows = tuple(
            tuple(_decoded(result.get_value(row, column)) for column in range(result.nfields))
            for row in range(result.ntuples)
        )
        return Answer(
            tuple(column.name for column in cursor.description),
            tuple(column.type_code for column in cursor.description),
            rows,
        )

    def script(self, sql: str) -> None:
        """Statements without a result, in UTC."""
        self.run("SELECT 1")
        self.connection.execute(sql.encode())

    def tables(self) -> list[str]:
        answer = self.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        assert isinstance(answer, Answer)
        return [str(row[0]) for row in answer.rows]

    def relation(self, table: str) -> Relation:
        """A table's columns as PostgreSQL declares them."""
        answer = self.run(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        )
        assert isinstance(answer, Answer)
        return Relation(tuple(Column(str(name), _sql_type(str(type_))) for name, type_ in answer.rows))

    def close(self) -> None:
        self.connection.close()


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _sql_type(text: str) -> SqlType:
    """A type from format_type()'s words."""
    if text.endswith("[]"):
        return array_of(_sql_type(text[:-2]))
    name, _, rest = text.partition("(")
    modifiers, _, after = rest.partition(")")
    kind = kind_of_name(f"{name.strip()}{after}")
    assert kind is not None, text
    numbers = [int(part) for part in modifiers.split(",") if part]
    if kind == "numeric":
        return SqlType(kind, scale=numbers[1] if len(numbers) > 1 else 0 if numbers else None)
    if kind in ("char", "varchar"):
        return SqlType(kind, length=numbers[0] if numbers else None)
    return SqlType(kind, scale=numbers[0] if numbers else None)


class Catalog:
    """The tables by name, as the planner asks for them."""

    def __init__(self, relations: dict[str, Relation]) -> None:
        self.relations = relations

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        name = parts[-1]
        if name not in self.relations:
            raise UserError(f"unknown catalog item '{'.'.join(parts)}'", "42P01")
        return NamedRelation(name, "materialize", "public", name, "table", self.relations[name])

    def regclass(self, text: str) -> int | None:
        return None

    def type_oid(self, text: str) -> int | None:
        return None


def write_tables(postgres: Postgres, directory: Path) -> dict[str, Relation]:
    """Every table of PostgreSQL as Parquet files in stored form."""
    relations = {}
    for table in postgres.tables():
        relation = postgres.relation(table)
        listed = ", ".join(f'"{column.name}"' for column in relation.columns)
        answer = postgres.run(f"SELECT {listed} FROM {table}")
        assert isinstance(answer, Answer)
        columns = [
            from_text(pa.array([row[index] for row in answer.rows], pa.string()), column.type)
            for index, column in enumerate(relation.columns)
        ]
        schema = state_schema(relation)
        rows = pa.Table.from_arrays(columns, schema=schema)
        size = 1 if table.endswith("_apart") else max(1, rows.num_rows)
        for start in range(0, max(1, rows.num_rows), size):
            batches = rows.slice(start, size).combine_chunks().to_batches()
            write_file(LocalStore(directory), f"{table}/{start}.parquet", iter(batches), schema)
        relations[table] = relation
    return relations


class Planned:
    """An engine of the product: plans, generates, runs, and shows text."""

    def __init__(
        self,
        relations: dict[str, Relation],
        generate: Callable[[Query, dict[str, str], int | None], str],
        execute: Callable[[str], pa.Table],
        translate: Callable[[str], UserError],
    ) -> None:
        self.catalog = Catalog(relations)
        self.places = {name: name for name in relations}
        self.generate = generate
        self.execute = execute
        self.translate = translate

    def plan(self, sql: str, zone: str = "UTC") -> Query:
        return plan_query(sql, self.catalog, SessionFacts(zone=working_zone(zone)))

    def run(self, sql: str, zone: str = "UTC") -> Answer | Failure:
        try:
            query = self.plan(sql, zone)
            text = self.generate(query, self.places, None)
        except UserError as error:
            return Failure(error.sqlstate, error.message, error.sqlstate == "0A000")
        except RecursionError:
            raise
        except Exception as error:  # a bug of the product, shown as such
            return Failure("BUG", f"{type(error).__name__}: {error}")
        try:
            table = self.execute(text)
        except Exception as error:
            known = self.translate(str(error))
            if known.sqlstate == "XX000":
                return Failure("BUG", f"{str(error)[:1500]}\n  in {text[:3000]}")
            shown = f"{known.message}\n  in {text[:3000]}" if known.sqlstate == "0A000" else known.message
            return Failure(known.sqlstate, shown, known.sqlstate == "0A000")
        try:
            return _answer(query, table)
        except Exception as error:
            return Failure("BUG", f"result cannot be shown: {str(error)[:500]}\n  in {text[:3000]}")


def _answer(query: Query, table: pa.Table) -> Answer:
    columns = query.columns()
    texts = []
    for index, field in enumerate(state_schema(Relation(columns))):
        stored = table.column(index).combine_chunks()
        stored = stored if isinstance(stored, pa.Array) else pa.concat_arrays(stored.chunks)
        shown = in_zone(columns[index].type, query.zone)
        texts.append(to_text(stored.cast(field.type), shown).to_pylist())
    return Answer(
        tuple(column.name for column in columns),
        tuple(oid_of(column.type) for column in columns),
        tuple(zip(*texts, strict=True)) if texts else ((),) * table.num_rows,
    )


def duckdb_engine(relations: dict[str, Relation], directory: Path) -> Planned:
    """DuckDB in this process."""
    connection = duckdb.connect(":memory:", config={"threads": 2})
    connection.execute("SET TimeZone = 'UTC'")
    register_duckdb(connection)
    for name in relations:
        connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM '{directory / name}/*.parquet'")
    return Planned(
        relations,
        duckdb_generator.generate,
        lambda sql: connection.sql(told(sql)).to_arrow_table(),
        duckdb_errors.translate_error,
    )


def spark_engine(relations: dict[str, Relation], directory: Path, session: Any) -> Planned:
    """Spark in the given session, which knows all kernels."""
    from headwater.cluster.read import spark_schema

    for name, relation in relations.items():
        schema = spark_schema(relation, hidden=False)
        session.read.schema(schema).parquet(str(directory / name)).createOrReplaceTempView(name)
    return Planned(
        relations,
        spark_generator.generate,
        lambda sql: session.sql(sql).toArrow(),
        spark_errors.translate_error,
    )
