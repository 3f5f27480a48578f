"""Rendering: what a statement writes is read back as the same statement.

Method: statements of every kind, written as users do, and the same ones with every
keyword and every awkward text in the place of a name, a string or a query; parse, render,
parse again and compare.  Rendering what was read back must give the same text, so the
text is canonical.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headwater.sql.statements
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import FACTS, SqlType, array_of, list_of, map_of
from headwater.sql.cursor import Name, SqlText, quote_identifier, quote_string
from headwater.sql.lexer import tokenize
from headwater.sql.outputs import AllTables, OfSchemas, Output, Outputs, TheseTables
from headwater.sql.parse import parse_statement, render
from headwater.sql.render import redact
from headwater.sql.statement import Statement
from headwater.sql.statements.alter_source_add import AlterSourceAdd
from headwater.sql.statements.alter_source_drop import AlterSourceDrop
from headwater.sql.statements.begin import Begin
from headwater.sql.statements.comment_on import CommentOn
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import ColumnDefinition, CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.set_variable import SetVariable
from headwater.sql.transaction_modes import TransactionModes
from headwater.sql.words import KEYWORDS
from tests.unit.sql.samples import SAMPLES
from tests.unit.sql.written import postgres

names = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda name: len(name.encode()) <= 255)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: Name(tuple(parts)))

plain_types = st.sampled_from(
    sorted(kind for kind in FACTS if kind not in ("array", "list", "map", "record", "unknown", "void"))
).map(SqlType)
modified_types = st.one_of(
    st.integers(0, 39).map(lambda scale: SqlType("numeric", scale=scale)),
    st.builds(SqlType, st.sampled_from(["char", "varchar"]), length=st.integers(1, 100)),
    st.builds(SqlType, st.sampled_from(["time", "timestamp", "timestamptz"]), scale=st.integers(0, 6)),
)
types = st.recursive(
    st.one_of(plain_types, modified_types),
    # The dimensions of an array are not part of its type, so there is no array of arrays.
    lambda inner: st.one_of(
        inner.filter(lambda type_: type_.kind != "array").map(array_of), inner.map(list_of), inner.map(map_of)
    ),
    max_leaves=4,
)


def assert_round_trip(statement: Statement) -> None:
    sql = render(statement)
    again = parse_statement(sql)
    assert again == statement
    assert render(again) == sql


@pytest.mark.parametrize("text", SAMPLES)
def test_a_rendered_statement_is_read_back_as_itself(text: str) -> None:
    assert_round_trip(parse_statement(text))


def test_the_samples_have_every_kind_of_statement() -> None:
    files = {type(parse_statement(text)).__module__.rpartition(".")[2] for text in SAMPLES}
    folder = Path(headwater.sql.statements.__file__).parent
    assert files == {file.stem for file in folder.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("text", SAMPLES)
def test_a_statement_can_be_written_in_capitals_on_one_line_or_many(text: str) -> None:
    tokens = tokenize(text)[:-1]
    pieces = [text[token.start : token.end] for token in tokens]
    shouted = [
        piece.upper() if token.kind == "word" and not piece.startswith("_") else piece
        for token, piece in zip(tokens, pieces, strict=True)
    ]
    spread = parse_statement(" /* x */\n".join(pieces) + " ;;")
    assert type(spread) is type(parse_statement(text))
    assert type(parse_statement(" ".join(shouted))) is type(spread)


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_keyword_can_be_a_name_when_it_is_rendered(word: str) -> None:
    renamed_count = 0
    for text in SAMPLES:
        # One-letter words are names in the samples, with a few exceptions that then do not parse.
        renamed = re.sub(r"(?<![\w'])([a-eps-v])(?![\w'(])", f'"{word.lower()}"', text)
        try:
            statement = parse_statement(renamed)
        except UserError:
            continue
        renamed_count += renamed != text
        assert_round_trip(statement)
    assert renamed_count > 100


@given(name=paths, column=names, comment=st.none() | texts)
def test_names_and_strings_survive_whatever_they_contain(
    name: Name, column: str, comment: str | None
) -> None:
    assert_round_trip(CommentOn("column", name, comment, column))


@given(name=paths, source=paths, reference=st.none() | paths, columns=st.lists(names, max_size=3))
def test_tables_from_sources_survive(
    name: Name, source: Name, reference: Name | None, columns: list[str]
) -> None:
    assert_round_trip(
        CreateTableFromSource(name, source, reference, tuple(columns), text_columns=tuple(columns))
    )


tables = st.builds(Output, paths, st.none() | paths)
outputs = st.one_of(
    st.just(AllTables()),
    st.lists(names, min_size=1, max_size=3).map(lambda schemas: OfSchemas(tuple(schemas))),
    st.lists(tables, min_size=1, max_size=3).map(lambda tables: TheseTables(tuple(tables))),
)


@given(
    name=paths,
    columns=st.lists(names, max_size=3),
    key=st.lists(names, max_size=2),
    text_columns=st.lists(paths, max_size=2),
    wanted=st.none() | outputs,
    progress=st.none() | paths,
)
def test_legacy_sources_survive(
    name: Name,
    columns: list[str],
    key: list[str],
    text_columns: list[Name],
    wanted: Outputs | None,
    progress: Name | None,
) -> None:
    upstream = postgres(
        name, publication="p", text_columns=tuple(text_columns), exclude_columns=tuple(text_columns)
    )
    assert_round_trip(
        CreateSource(
            name, upstream, columns=tuple(columns), key=tuple(key), outputs=wanted, progress=progress
        )
    )


@given(name=paths, source=paths, wanted=st.lists(tables, min_size=1, max_size=3), cascade=st.booleans())
def test_subsources_that_come_and_go_survive(
    name: Name, source: Name, wanted: list[Output], cascade: bool
) -> None:
    assert_round_trip(AlterSourceAdd(source, tuple(wanted), (name,), (name, name), cascade))
    dropped = tuple(output.reference for output in wanted)
    assert_round_trip(AlterSourceDrop(source, dropped, cascade, not cascade, cascade))


@given(
    name=paths,
    source=paths,
    columns=st.lists(st.builds(Column, names, types, st.booleans()), max_size=4, unique_by=lambda c: c.name),
    keys=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=2), max_size=2),
)
def test_subsources_survive(name: Name, source: Name, columns: list[Column], keys: list[list[int]]) -> None:
    known = tuple(tuple(key) for key in keys if max(key) < len(columns))
    excluded = tuple(column.name for column in columns)
    relation = Relation(tuple(columns), known)
    assert_round_trip(CreateSubsource(name, relation, source, name, (), excluded))
    assert_round_trip(CreateSubsource(name, relation, progress=True))


@settings(max_examples=300)
@given(
    type_=types,
    nullable=st.booleans(),
    default=st.sampled_from(["NULL", "1 + 2", "a IS NOT NULL", "f(1, 2)"]),
)
def test_columns_of_every_type_survive(type_: SqlType, nullable: bool, default: str) -> None:
    column = ColumnDefinition("a", type_, nullable, SqlText(default))
    assert_round_trip(CreateTable(Name(("t",)), (column, column)))


@given(
    variable=st.from_regex(r"[a-z$. \"]{1,9}", fullmatch=True), values=st.lists(texts, min_size=1, max_size=3)
)
@example(variable="a.a.a.a", values=[""])
def test_settings_survive(variable: str, values: list[str]) -> None:
    assert_round_trip(SetVariable(variable, tuple(values)))


@pytest.mark.parametrize("isolation", [None, "serializable", "strict serializable", "read committed"])
@pytest.mark.parametrize("read_only", [None, True, False])
def test_transaction_modes_survive(isolation: str | None, read_only: bool | None) -> None:
    assert_round_trip(Begin(TransactionModes(isolation, read_only)))


@given(name=names)
def test_a_quoted_identifier_is_one_token_with_the_same_name(name: str) -> None:
    token, end = tokenize(quote_identifier(name))
    assert (token.value, end.kind) == (name, "end")


@given(text=texts)
def test_a_quoted_string_is_one_token_with_the_same_text(text: str) -> None:
    token, end = tokenize(quote_string(text))
    assert (token.kind, token.value, end.kind) == ("string", text, "end")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (
            "create source s in cluster quickstart from load generator counter (tick interval '1s', as of 4)"
            " with (retain history for '30d', timestamp interval '1s')",
            "CREATE SOURCE s\nIN CLUSTER quickstart\n"
            "FROM LOAD GENERATOR COUNTER (TICK INTERVAL = '1s', AS OF = 4)\n"
            "WITH (TIMESTAMP INTERVAL = '1s', RETAIN HISTORY = FOR '30d');",
        ),
        (
            "create table materialize.public.t from source materialize.public.s (reference postgres.public.t)"
            " with (text columns (a))",
            "CREATE TABLE materialize.public.t\n"
            "FROM SOURCE materialize.public.s (REFERENCE = postgres.public.t)\nWITH (TEXT COLUMNS = (a));",
        ),
        (
            "create table t (a) from source s (reference x) format csv with 1 columns include offset as b"
            " envelope none with (retain history for '1h')",
            "CREATE TABLE t (a)\nFROM SOURCE s (REFERENCE = x)\nFORMAT CSV WITH 1 COLUMNS\n"
            "INCLUDE OFFSET AS b\nENVELOPE NONE\nWITH (RETAIN HISTORY = FOR '1h');",
        ),
        (
            "create source if not exists s (a, b, primary key (a) not enforced) in cluster c"
            " from kafka connection k (topic t) key format text value format json include key as b, offset"
            " envelope upsert expose progress as p with (retain history for '1d')",
            "CREATE SOURCE IF NOT EXISTS s (a, b, PRIMARY KEY (a) NOT ENFORCED)\nIN CLUSTER c\n"
            "FROM KAFKA CONNECTION k (TOPIC = 't')\nKEY FORMAT TEXT\nVALUE FORMAT JSON\n"
            "INCLUDE KEY AS b, OFFSET\nENVELOPE UPSERT\nEXPOSE PROGRESS AS p\n"
            "WITH (RETAIN HISTORY = FOR '1d');",
        ),
        (
            "create source s from postgres connection c (publication p, text columns (t.a))"
            " for tables (public.t into d.p.u, v) expose progress as x",
            "CREATE SOURCE s\nFROM POSTGRES CONNECTION c (PUBLICATION = 'p', TEXT COLUMNS = (t.a))\n"
            "FOR TABLES (public.t AS d.p.u, v)\nEXPOSE PROGRESS AS x;",
        ),
        (
            "create source s from mysql connection c (ignore columns (t.a)) for schemas (a, b)",
            "CREATE SOURCE s\nFROM MYSQL CONNECTION c (EXCLUDE COLUMNS = (t.a))\nFOR SCHEMAS (a, b);",
        ),
        (
            "create subsource t (a int not null, b text, primary key (a), unique (b, a)) of source s"
            " with (external reference d.p.t, exclude columns (c), retain history for '1h')",
            "CREATE SUBSOURCE t (a pg_catalog.int4 NOT NULL, b pg_catalog.text, PRIMARY KEY (a),"
            " UNIQUE (b, a))\nOF SOURCE s\n"
            "WITH (EXTERNAL REFERENCE = d.p.t, EXCLUDE COLUMNS = (c), RETAIN HISTORY = FOR '1h');",
        ),
        (
            "create subsource p (lsn uint8) with (progress)",
            "CREATE SUBSOURCE p (lsn mz_catalog.uint8)\nWITH (PROGRESS = TRUE);",
        ),
        (
            'create table t (a int not null, "select" numeric(10,2),'
            " c timestamp(3) with time zone default now(), d uint2 list)",
            'CREATE TABLE t (a pg_catalog.int4 NOT NULL, "select" pg_catalog.numeric(39, 2),'
            " c pg_catalog.timestamptz(3) DEFAULT now(), d mz_catalog.uint2 list);",
        ),
        ("create view v as select  1", "CREATE VIEW v\nAS select  1;"),
        (
            "create cluster c size 'x', replication factor 1",
            "CREATE CLUSTER c (SIZE = 'x', REPLICATION FACTOR = 1);",
        ),
    ],
)
def test_create_sql_has_one_clause_per_line(text: str, sql: str) -> None:
    assert render(parse_statement(text)) == sql


def test_redaction_hides_literals_and_nothing_else() -> None:
    sql = "CREATE SOURCE \"s1\"\nFROM LOAD GENERATOR COUNTER (TICK INTERVAL = '1''s', AS OF = 4);"
    assert redact(sql) == (
        'CREATE SOURCE "s1"\nFROM LOAD GENERATOR COUNTER'
        " (TICK INTERVAL = '<REDACTED>', AS OF = '<REDACTED>');"
    )
