"""Statements: what was written is in the fields, and places point into the text.

Method: statements beside the values they are; the places of names and spans are checked
by cutting them out of the text again; the table of statements against the folder, the
keywords and the documentation.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headwater.sql
import headwater.sql.statements
from headwater.core.interval import Interval
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType, array_of
from headwater.sql.cluster_options import ClusterOptions
from headwater.sql.copy_options import CopyOptions
from headwater.sql.cursor import Name, SqlText
from headwater.sql.encoding import Encoding, Envelope, Header, InlineErrors, MessagePart
from headwater.sql.formats import AvroRegistry, AvroSeed, Json, Registry, Text
from headwater.sql.options import Duration
from headwater.sql.outputs import AllTables, OfSchemas, Output, TheseTables
from headwater.sql.parse import parse_statement, parse_statements
from headwater.sql.parts import AsOf, Filter
from headwater.sql.refused import REFUSED
from headwater.sql.statement import Statement
from headwater.sql.statements import STATEMENT_FILES
from headwater.sql.statements.alter_source import AlterSource
from headwater.sql.statements.alter_source_add import AlterSourceAdd
from headwater.sql.statements.alter_source_drop import AlterSourceDrop
from headwater.sql.statements.comment_on import CommentOn
from headwater.sql.statements.copy_from import CopyFrom
from headwater.sql.statements.copy_to import CopyTo
from headwater.sql.statements.create_cluster import CreateCluster
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table import ColumnDefinition, CreateTable
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.statements.declare import Declare
from headwater.sql.statements.drop import Drop
from headwater.sql.statements.explain import Explain
from headwater.sql.statements.explain_migration import ExplainMigration
from headwater.sql.statements.fetch import Fetch
from headwater.sql.statements.insert import Insert
from headwater.sql.statements.prepare import Prepare
from headwater.sql.statements.select import Select
from headwater.sql.statements.set_variable import SetVariable
from headwater.sql.statements.show_objects import ShowObjects
from headwater.sql.statements.show_variable import ShowVariable
from headwater.sql.statements.subscribe import KeyEnvelope, OrderItem, Subscribe, WithinTimestamp
from headwater.sql.statements.update import Assignment, Update
from headwater.sql.upstream import TEXT_COLUMNS
from headwater.sql.words import KEYWORDS, QUOTED, RESERVED, expand
from tests.unit.sql.samples import SAMPLES
from tests.unit.sql.written import generator, kafka, mysql, postgres

T = Name(("t",))
S = Name(("s",))
DAY = Duration("1d", Interval(days=1))
SELECT_1 = Select(SqlText("SELECT 1"))

# Legacy sources, and what else they have brought.
OLDER: list[tuple[str, Statement]] = [
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR ALL TABLES",
        CreateSource(S, generator("AUCTION"), outputs=AllTables()),
    ),
    (
        "CREATE SOURCE IF NOT EXISTS s (a, B) IN CLUSTER q FROM LOAD GENERATOR COUNTER"
        " EXPOSE PROGRESS AS x.t WITH (RETAIN HISTORY FOR '1d')",
        CreateSource(
            S,
            generator("COUNTER"),
            "q",
            retain_history=DAY,
            if_not_exists=True,
            columns=("a", "b"),
            progress=Name(("x", "t")),
        ),
    ),
    (
        "CREATE SOURCE s (a, PRIMARY KEY (a, b) NOT ENFORCED) FROM LOAD GENERATOR CLOCK",
        CreateSource(S, generator("CLOCK"), columns=("a",), key=("a", "b")),
    ),
    (
        "CREATE SOURCE s (PRIMARY KEY (a) NOT ENFORCED) FROM LOAD GENERATOR CLOCK",
        CreateSource(S, generator("CLOCK"), key=("a",)),
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR KEY VALUE INCLUDE OFFSET AS o ENVELOPE NONE",
        CreateSource(
            S,
            generator("KEY VALUE"),
            encoding=Encoding(include=(MessagePart("offset", "o"),), envelope=Envelope("none")),
        ),
    ),
    (
        "CREATE SOURCE s FROM POSTGRES CONNECTION c (PUBLICATION p, TEXT COLUMNS (x.t.e))"
        " FOR TABLES (x.t AS u, t INTO a.b, t)",
        CreateSource(
            S,
            postgres(Name(("c",)), publication="p", text_columns=(Name(("x", "t", "e")),)),
            outputs=TheseTables(
                (Output(Name(("x", "t")), Name(("u",))), Output(T, Name(("a", "b"))), Output(T))
            ),
        ),
    ),
    (
        'CREATE SOURCE s FROM MYSQL CONNECTION m (IGNORE COLUMNS (x.t.e)) FOR SCHEMAS (a, "B")',
        CreateSource(
            S,
            mysql(Name(("m",)), exclude_columns=(Name(("x", "t", "e")),)),
            outputs=OfSchemas(("a", "B")),
        ),
    ),
    ("CREATE SOURCE s FROM MYSQL CONNECTION m", CreateSource(S, mysql(Name(("m",))))),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', START OFFSET (1, 2))",
        CreateSource(S, kafka(Name(("k",)), topic="t", start_offset=(1, 2))),
    ),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't') KEY FORMAT TEXT VALUE FORMAT JSON"
        " INCLUDE KEY AS k, HEADER 'h' AS x BYTES ENVELOPE UPSERT (VALUE DECODING ERRORS (INLINE))",
        CreateSource(
            S,
            kafka(Name(("k",)), topic="t"),
            encoding=Encoding(
                Text(),
                Json(),
                (MessagePart("key", "k"), Header("h", "x", True)),
                Envelope("upsert", InlineErrors()),
            ),
        ),
    ),
    (
        "CREATE TABLE t FROM SOURCE s FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION c"
        " SEED VALUE SCHEMA '{}' ENVELOPE DEBEZIUM WITH (RETAIN HISTORY FOR '1d')",
        CreateTableFromSource(
            T,
            S,
            retain_history=DAY,
            encoding=Encoding(
                value_format=AvroRegistry(Registry(Name(("c",))), AvroSeed("{}")),
                envelope=Envelope("debezium"),
            ),
        ),
    ),
    (
        "CREATE TABLE t (a) FROM SOURCE s (REFERENCE x) INCLUDE OFFSET",
        CreateTableFromSource(
            T, S, Name(("x",)), ("a",), encoding=Encoding(include=(MessagePart("offset"),))
        ),
    ),
    (
        "CREATE SUBSOURCE t (a int NOT NULL, b text, UNIQUE (b), PRIMARY KEY (b, a)) OF SOURCE s"
        " WITH (EXTERNAL REFERENCE = d.x.t, TEXT COLUMNS = (b), EXCLUDE COLUMNS (c),"
        " RETAIN HISTORY = FOR '1d')",
        CreateSubsource(
            T,
            Relation(
                (Column("a", SqlType("int4"), nullable=False), Column("b", SqlType("text"))), ((1,), (1, 0))
            ),
            S,
            Name(("d", "x", "t")),
            ("b",),
            ("c",),
            DAY,
        ),
    ),
    (
        'CREATE SUBSOURCE t ("offset" uint8) WITH (PROGRESS = TRUE)',
        CreateSubsource(T, Relation((Column("offset", SqlType("uint8")),)), progress=True),
    ),
    ("ALTER SOURCE s ADD SUBSOURCE t", AlterSourceAdd(S, (Output(T),))),
    (
        "ALTER SOURCE IF EXISTS s ADD TABLE x.t AS t, t INTO u"
        " WITH (TEXT COLUMNS (t.a), EXCLUDE COLUMNS [x.t.b])",
        AlterSourceAdd(
            S,
            (Output(Name(("x", "t")), T), Output(T, Name(("u",)))),
            (Name(("t", "a")),),
            (Name(("x", "t", "b")),),
            if_exists=True,
        ),
    ),
    ("ALTER SOURCE s DROP SUBSOURCE t", AlterSourceDrop(S, (T,))),
    ("ALTER SOURCE s DROP TABLE t RESTRICT", AlterSourceDrop(S, (T,))),
    (
        "ALTER SOURCE IF EXISTS s DROP SUBSOURCE IF EXISTS t, x.t CASCADE",
        AlterSourceDrop(S, (T, Name(("x", "t"))), cascade=True, if_exists=True, missing_ok=True),
    ),
    ("EXPLAIN MIGRATION", ExplainMigration()),
    ("SHOW REFERENCES ON s LIKE 'a%'", ShowObjects("references", on=S, filter=Filter("a%"))),
    ("SHOW SUBSOURCES ON s", ShowObjects("subsources", on=S)),
]

VALUES: list[tuple[str, Statement]] = [
    (
        'create source A."B".c in cluster q from load generator key value (keys 4, transactional snapshot)'
        " with (retain history = for '1d')",
        CreateSource(
            Name(("a", "B", "c")),
            generator("KEY VALUE", keys=4, transactional_snapshot=True),
            "q",
            retain_history=DAY,
        ),
    ),
    (
        "CREATE TABLE t (a) FROM SOURCE s (REFERENCE x.y) WITH (TEXT COLUMNS [b], IGNORE COLUMNS (c, d))",
        CreateTableFromSource(
            T, Name(("s",)), Name(("x", "y")), ("a",), text_columns=("b",), exclude_columns=("c", "d")
        ),
    ),
    (
        "CREATE TABLE t (a int[] DEFAULT f(1, 2) NOT NULL, b numeric(5,2)) WITH (PARTITION BY (a))",
        CreateTable(
            T,
            (
                ColumnDefinition("a", array_of(SqlType("int4")), False, SqlText("f(1, 2)")),
                ColumnDefinition("b", SqlType("numeric", scale=2)),
            ),
            partition_by=("a",),
        ),
    ),
    ("CREATE CLUSTER c SIZE small, MANAGED", CreateCluster("c", ClusterOptions(size="small", managed=True))),
    ("DROP DATABASE d", Drop("database", (Name(("d",)),), cascade=True)),
    ("DROP TABLE t", Drop("table", (T,))),
    ("ALTER SOURCE s SET (RETAIN HISTORY FOR '1d')", AlterSource(Name(("s",)), "set", "RETAIN HISTORY", DAY)),
    ("COMMENT ON COLUMN d.s.t.c IS 'x'", CommentOn("column", Name(("d", "s", "t")), "x", "c")),
    (
        "INSERT INTO t (a) VALUES (1) RETURNING *",
        Insert(T, SqlText("VALUES (1)"), ("a",), returning=SqlText("*")),
    ),
    (
        "UPDATE t x SET a = b + 1, c = DEFAULT WHERE d",
        Update(T, (Assignment("a", SqlText("b + 1")), Assignment("c", None)), "x", SqlText("d")),
    ),
    ("COPY t FROM STDIN CSV HEADER", CopyFrom(T, options=CopyOptions("csv", header=True))),
    ("COPY (SELECT 1) TO STDOUT (FORMAT 'binary')", CopyTo(SELECT_1, options=CopyOptions("binary"))),
    (
        "SELECT 1 AS OF AT LEAST now()",
        Select(SqlText("SELECT 1"), AsOf(SqlText("now()"), at_least=True)),
    ),
    (
        "SUBSCRIBE (SELECT 1) AS OF 5 UP TO 7 ENVELOPE UPSERT (KEY (a))",
        Subscribe(
            SqlText("SELECT 1"),
            as_of=AsOf(SqlText("5")),
            up_to=SqlText("7"),
            output=KeyEnvelope("upsert", ("a",)),
        ),
    ),
    (
        "SUBSCRIBE TO t WITHIN TIMESTAMP ORDER BY f(a, b) DESC, c NULLS FIRST"
        " WITH (SNAPSHOT = false, PROGRESS)",
        Subscribe(
            T,
            True,
            False,
            output=WithinTimestamp(
                (OrderItem(SqlText("f(a, b)"), True), OrderItem(SqlText("c"), nulls_first=True))
            ),
        ),
    ),
    ("DECLARE c CURSOR FOR SUBSCRIBE t", Declare("c", Subscribe(T))),
    ("FETCH ALL c WITH (timeout '1d')", Fetch("c", None, DAY)),
    ("FETCH c", Fetch("c", 1)),
    ("EXPLAIN (SELECT 1)", Explain("plan", Select(SqlText("(SELECT 1)")))),
    ("EXPLAIN (ENGINE duckdb) SELECT 1", Explain("physical plan", SELECT_1, engine="duckdb")),
    ("EXPLAIN TIMESTAMP AS JSON FOR SELECT 1", Explain("timestamp", SELECT_1, "json")),
    (
        "SHOW MATERIALIZED VIEWS FROM a.b IN CLUSTER c LIKE 'x'",
        ShowObjects("materialized views", Name(("a", "b")), cluster="c", filter=Filter(like="x")),
    ),
    (
        "SHOW TABLES ON s WHERE a = 1",
        ShowObjects("tables", on=Name(("s",)), filter=Filter(where=SqlText("a = 1"))),
    ),
    ("SHOW TimeZone", ShowVariable("timezone")),
    ("SET TIME ZONE DEFAULT", SetVariable("timezone", None)),
    ("SET LOCAL a.B TO x, 'Y', -1, on", SetVariable("a.b", ("x", "Y", "-1", "on"), local=True)),
    ("PREPARE p (int) AS SELECT 1", Prepare("p", SELECT_1, SqlText("SELECT 1"), (SqlType("int4"),))),
]


@pytest.mark.parametrize(("text", "statement"), [*VALUES, *OLDER])
def test_a_statement_is_this_value(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


def test_statements_of_a_text_have_their_own_texts_and_offsets() -> None:
    text = " SELECT ';' /* ; */ ;; \n-- nothing\n COMMIT ; DROP VIEW é -- end"
    parsed = parse_statements(text)
    assert [(one.text, one.offset) for one in parsed] == [
        ("SELECT ';'", 1),
        ("COMMIT", text.index("COMMIT")),
        ("DROP VIEW é", text.index("DROP")),
    ]
    assert parse_statements(" ; -- nothing") == ()


def test_places_are_in_the_text_of_the_statement_itself() -> None:
    text = "SELECT 1; /* é */ INSERT INTO a.t (b) SELECT 1 RETURNING c"
    parsed = parse_statements(text)[1]
    insert = parsed.statement
    assert isinstance(insert, Insert)
    assert insert.table.position == parsed.text.index("a.t") + 1
    for span in (insert.query, insert.returning):
        assert span is not None
        assert parsed.text[span.offset :].startswith(span.text)


def test_places_inside_of_a_nested_statement_are_in_the_whole_statement() -> None:
    text = "COPY (SUBSCRIBE t AS OF 5 + 6) TO STDOUT"
    copy = parse_statement(text)
    assert isinstance(copy, CopyTo)
    assert isinstance(copy.source, Subscribe)
    assert copy.source.as_of is not None
    assert copy.source.as_of.expression is not None
    assert text[copy.source.as_of.expression.offset :].startswith("5 + 6)")


def test_names_in_the_legacy_syntax_know_where_they_stand() -> None:
    text = (
        "CREATE SOURCE s FROM POSTGRES CONNECTION c (TEXT COLUMNS (e.f)) FOR TABLES (g.h AS i)"
        " EXPOSE PROGRESS AS j"
    )
    statement = parse_statement(text)
    assert isinstance(statement, CreateSource)
    assert isinstance(statement.outputs, TheseTables)
    output = statement.outputs.tables[0]
    names = (*statement.upstream.columns(TEXT_COLUMNS), output.reference, output.name, statement.progress)
    places = {str(name): name.position for name in names if name is not None}
    assert places == {part: text.index(part) + 1 for part in ("e.f", "g.h", "i", "j")}


def test_options_of_an_upstream_are_kept_as_they_were_written() -> None:
    statement = parse_statement(
        "CREATE SOURCE s FROM LOAD GENERATOR TPCH (TICK INTERVAL '100ms', SCALE FACTOR .5, AS OF 3)"
    )
    assert isinstance(statement, CreateSource)
    assert dict(statement.upstream.options) == {
        "TICK INTERVAL": Duration("100ms", Interval(microseconds=100_000)),
        "AS OF": 3,
        "SCALE FACTOR": 0.5,
    }


@pytest.mark.parametrize("text", ["true", "= on", "= 'yes'", "= 1", "", "= TRUE"])
def test_a_boolean_option_is_true_in_many_ways(text: str) -> None:
    statement = parse_statement(f"SUBSCRIBE t WITH (PROGRESS {text})")
    assert isinstance(statement, Subscribe)
    assert statement.progress


def test_the_table_has_every_file_of_the_folder() -> None:
    folder = Path(headwater.sql.statements.__file__).parent
    named = {file.__name__.rpartition(".")[2] for file in STATEMENT_FILES if hasattr(file, "__name__")}
    assert named == {file.stem for file in folder.glob("*.py")} - {"__init__"}


def test_every_word_of_the_grammar_is_a_keyword() -> None:
    folder = Path(headwater.sql.__file__).parent
    files = [*folder.glob("*.py"), *folder.glob("statements/*.py")]
    calls = re.compile(r"\.(?:accept|accept_any|expect|expect_any|at)\(([^()]*)\)")
    words = {
        word
        for file in files
        for call in calls.findall(file.read_text())
        for word in re.findall(r'"([A-Z_]+)"', call)
    }
    for phrase in (*REFUSED, *(phrase for file in STATEMENT_FILES for phrase in file.PHRASES)):
        words.update(word for reading in expand(phrase) for word in reading if word.isalpha())
    assert len(words) > 150
    assert words <= KEYWORDS
    assert RESERVED < QUOTED < KEYWORDS


def test_the_page_of_a_statement_shows_statements_that_parse() -> None:
    pages = sorted((Path(__file__).parents[3] / "docs/user/sql").glob("*.md"))
    examples = [
        (page.name, block)
        for page in pages
        for block in re.findall(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    assert len(examples) >= len(STATEMENT_FILES)
    for _, block in examples:
        assert parse_statements(block)


def test_samples_differ() -> None:
    assert len(set(SAMPLES)) == len(SAMPLES)
