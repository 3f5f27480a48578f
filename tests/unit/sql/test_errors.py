"""Refusals: the text, the SQLSTATE and the place, since clients match on them.

Method: a table of statements with exactly what they are answered; the position is where
a caret stands in the table, so that it can be seen.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import UserError
from headwater.sql.parse import parse_show, parse_statement, parse_statements
from headwater.sql.refused import REFUSED
from headwater.sql.words import expand

SYNTAX = [
    ("^frob", 'Expected a keyword at the beginning of a statement, found identifier "frob"'),
    ("^'x'", 'Expected a keyword at the beginning of a statement, found string literal "x"'),
    ("^1", 'Expected a keyword at the beginning of a statement, found number "1"'),
    ("^) SELECT", "Expected a keyword at the beginning of a statement, found right parenthesis"),
    ("SELECT 1; ^frob", 'Expected a keyword at the beginning of a statement, found identifier "frob"'),
    ("CREATE SCHEMA^", "Expected identifier, found EOF"),
    ("CREATE SCHEMA^;", "Expected identifier, found semicolon"),
    ("CREATE SCHEMA ^select", "Expected identifier, found SELECT"),
    ("CREATE SCHEMA a.b^.c", "Expected end of name, found dot"),
    ("CREATE DATABASE a^.b", "Expected an unqualified name, found dot"),
    ("CREATE SCHEMA a ^b", 'Expected end of statement, found identifier "b"'),
    ("SELECT a FROM t AS OF 5 ^GROUP BY a", "Expected end of statement, found GROUP"),
    ("BEGIN; COMMIT ^frob", 'Expected end of statement, found identifier "frob"'),
    (
        "CREATE ^frob",
        "Expected one of DATABASE or SCHEMA or CLUSTER or SECRET or CONNECTION or SOURCE or SUBSOURCE or TEMP"
        " or TEMPORARY or TABLE or OR or VIEW or ROLE or USER,"
        ' found identifier "frob"',
    ),
    ("CREATE TEMP ^SOURCE", "Expected one of TABLE or VIEW, found SOURCE"),
    (
        "CREATE CLUSTER c (^frob 1)",
        "Expected one of SIZE or REPLICATION or MANAGED or DISK or AVAILABILITY or INTROSPECTION,"
        ' found identifier "frob"',
    ),
    ("CREATE CLUSTER c (SIZE 'a', ^SIZE 'b')", "SIZE specified more than once"),
    ("CREATE CLUSTER c (REPLICATION FACTOR ^-1)", 'Expected literal integer, found operator "-"'),
    ("CREATE SOURCE s ^WITH", "Expected FROM, found WITH"),
    (
        "CREATE SOURCE s FROM ^frob",
        'Expected one of LOAD or POSTGRES or KAFKA or MYSQL or SQL or WEBHOOK, found identifier "frob"',
    ),
    ("CREATE SOURCE s FROM LOAD ^AUCTION", "Expected GENERATOR, found AUCTION"),
    ("CREATE SOURCE s FROM MYSQL ^m", 'Expected CONNECTION, found identifier "m"'),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (^frob)",
        'Expected one of TOPIC or TOPICS or GROUP or START, found identifier "frob"',
    ),
    ("CREATE SOURCE s (^) FROM LOAD GENERATOR CLOCK", "Expected identifier, found right parenthesis"),
    (
        "CREATE SOURCE s (a ^int) FROM LOAD GENERATOR CLOCK",
        'Expected right parenthesis, found identifier "int"',
    ),
    (
        "CREATE SOURCE s (a, PRIMARY KEY (a)^) FROM LOAD GENERATOR CLOCK",
        "Expected NOT, found right parenthesis",
    ),
    (
        "CREATE SOURCE s (PRIMARY KEY (a) NOT ENFORCED^, a) FROM LOAD GENERATOR CLOCK",
        "Expected right parenthesis, found comma",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR ^VIEWS (a)",
        "Expected one of ALL or SCHEMAS or TABLES, found VIEWS",
    ),
    ("CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR ALL^", "Expected TABLES, found EOF"),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR TABLES ^a",
        'Expected left parenthesis, found identifier "a"',
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR TABLES (^)",
        "Expected identifier, found right parenthesis",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR TABLES (a AS ^)",
        "Expected identifier, found right parenthesis",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR SCHEMAS (a^.b)",
        "Expected right parenthesis, found dot",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR ALL TABLES ^FOR ALL TABLES",
        "Expected end of statement, found FOR",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR AUCTION FOR ALL TABLES ^ENVELOPE NONE",
        "Expected end of statement, found ENVELOPE",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR CLOCK ^EXPOSE PROGRESS t",
        "Expected end of statement, found EXPOSE",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR CLOCK ENVELOPE ^frob",
        'Expected one of NONE or DEBEZIUM or UPSERT or MATERIALIZE, found identifier "frob"',
    ),
    (
        "CREATE TABLE t FROM SOURCE s (REFERENCE x) FORMAT ^frob",
        'Expected one of AVRO or PROTOBUF or CSV or REGEX or JSON or TEXT or BYTES, found identifier "frob"',
    ),
    ("CREATE SUBSOURCE s^", "Expected left parenthesis, found EOF"),
    ("CREATE SUBSOURCE s (a^) WITH (PROGRESS)", "Expected identifier, found right parenthesis"),
    ("CREATE SUBSOURCE s (a int) OF SOURCE t^", "Expected WITH, found EOF"),
    (
        "CREATE SUBSOURCE s (a int) WITH (^frob)",
        'Expected one of EXTERNAL or TEXT or EXCLUDE or RETAIN or PROGRESS, found identifier "frob"',
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR COUNTER (^frob 1)",
        "Expected one of TICK or AS or UP or SCALE or MAX or KEYS or SNAPSHOT or TRANSACTIONAL or VALUE"
        ' or SEED or PARTITIONS or BATCH, found identifier "frob"',
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1s', ^TICK INTERVAL '2s')",
        "TICK INTERVAL specified more than once",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR CLOCK WITH (^SIZE = 1)",
        "Expected one of TIMESTAMP or RETAIN, found SIZE",
    ),
    (
        "CREATE SOURCE s FROM LOAD GENERATOR CLOCK WITH (RETAIN HISTORY ^'1d')",
        'Expected FOR, found string literal "1d"',
    ),
    (
        "CREATE TABLE t FROM SOURCE s WITH (^frob)",
        "Expected one of TEXT or EXCLUDE or IGNORE or PARTITION or RETAIN or ON or DETAILS,"
        ' found identifier "frob"',
    ),
    ("CREATE TABLE t FROM SOURCE s (REFERENCE ^'x')", 'Expected identifier, found string literal "x"'),
    (
        "CREATE TABLE t FROM SOURCE s ^WITH (EXCLUDE COLUMNS (a), IGNORE COLUMNS (b))",
        "EXCLUDE COLUMNS specified more than once",
    ),
    ("CREATE TABLE t^", "Expected left parenthesis, found EOF"),
    (
        "CREATE TABLE t (a int ^frob)",
        'Expected one of NOT NULL or DEFAULT or comma or right parenthesis, found identifier "frob"',
    ),
    ("CREATE TABLE t (a int NULL ^NOT NULL)", 'conflicting NULL/NOT NULL declarations for column "a"'),
    ("CREATE TABLE t (a int DEFAULT 1 ^DEFAULT 2)", 'multiple default values specified for column "a"'),
    ("CREATE TABLE t (a int DEFAULT ^)", "Expected an expression, found right parenthesis"),
    ("CREATE VIEW v AS ^frob", 'Expected one of SELECT or VALUES or WITH or TABLE, found identifier "frob"'),
    (
        "CREATE VIEW v AS (^frob)",
        'Expected one of SELECT or VALUES or WITH or TABLE, found identifier "frob"',
    ),
    ("CREATE VIEW v AS SELECT (1^", "Expected right parenthesis, found EOF"),
    ("CREATE VIEW v AS SELECT 1^)", "Expected end of statement, found right parenthesis"),
    ("SELECT a[1^)", "Expected right square bracket, found right parenthesis"),
    (
        "CREATE OR REPLACE VIEW ^IF NOT EXISTS v AS SELECT 1",
        "Cannot specify both OR REPLACE and IF NOT EXISTS",
    ),
    ("DROP TABLE a CASCADE ^RESTRICT", "Cannot specify both RESTRICT and CASCADE in DROP"),
    (
        "ALTER TABLE t ^frob",
        'Expected one of RENAME or SWAP or SET or RESET or ADD or OWNER, found identifier "frob"',
    ),
    ("ALTER SOURCE s SET (^SIZE = 1)", "Expected one of RETAIN or TIMESTAMP, found SIZE"),
    ("ALTER TABLE t SET (^SIZE = 1)", "Expected RETAIN, found SIZE"),
    (
        "ALTER SOURCE s ^frob",
        "Expected one of RENAME or SET or RESET or REFRESH or RESYNC or ADD or DROP or OWNER,"
        ' found identifier "frob"',
    ),
    ("ALTER SOURCE s ADD ^t", 'Expected one of SUBSOURCE or TABLE, found identifier "t"'),
    ("ALTER SOURCE s ADD SUBSOURCE ^'t'", 'Expected identifier, found string literal "t"'),
    (
        "ALTER SOURCE s ADD SUBSOURCE t WITH (^PUBLICATION 'p')",
        'Expected one of TEXT or EXCLUDE, found identifier "publication"',
    ),
    (
        "ALTER SOURCE s ADD SUBSOURCE t WITH (TEXT COLUMNS (t.a), ^TEXT COLUMNS (t.b))",
        "TEXT COLUMNS specified more than once",
    ),
    ("ALTER SOURCE s DROP ^t", 'Expected one of SUBSOURCE or TABLE, found identifier "t"'),
    (
        "ALTER SOURCE s DROP SUBSOURCE t CASCADE ^RESTRICT",
        "Cannot specify both RESTRICT and CASCADE in DROP",
    ),
    ("ALTER SYSTEM SET x ^1", 'Expected equals sign or TO, found number "1"'),
    ("INSERT INTO t ^frob", 'Expected one of SELECT or VALUES or WITH or TABLE, found identifier "frob"'),
    ("UPDATE t SET a = ^WHERE b", "Expected an expression, found WHERE"),
    ("UPDATE t SET ^(a) = 1", "Expected identifier, found left parenthesis"),
    ("COPY t^", "Expected one of FROM or TO, found EOF"),
    ("COPY t FROM ^'x'", 'Expected STDIN, found string literal "x"'),
    ("COPY t FROM STDIN (FORMAT ^xml)", 'Expected one of TEXT or CSV or BINARY, found identifier "xml"'),
    ("COPY t FROM STDIN CSV ^BINARY", "BINARY specified more than once"),
    ("SUBSCRIBE t WITH (^frob)", 'Expected one of PROGRESS or SNAPSHOT, found identifier "frob"'),
    ("SUBSCRIBE t ENVELOPE ^NONE", "Expected one of UPSERT or DEBEZIUM, found NONE"),
    (
        "SUBSCRIBE t ENVELOPE UPSERT (KEY (a)) AS OF 1 ^WITHIN TIMESTAMP ORDER BY a",
        "SUBSCRIBE output specified more than once",
    ),
    (
        "DECLARE c CURSOR FOR ^INSERT INTO t VALUES (1)",
        "Expected one of SELECT or VALUES or WITH or TABLE or SUBSCRIBE, found INSERT",
    ),
    (
        "SHOW CREATE ^ROLE r",
        "Expected one of SOURCE or TABLE or VIEW or MATERIALIZED or INDEX or SINK or CONNECTION"
        " or CLUSTER or TYPE, found ROLE",
    ),
    ("SHOW COLUMNS ^t", 'Expected FROM, found identifier "t"'),
    ("SHOW TABLES FROM s ON t^", "Cannot specify both FROM and ON"),
    ("SET x^", "Expected equals sign or TO, found EOF"),
    ("SET x = ^(1)", "Expected variable value, found left parenthesis"),
    ("BEGIN ^frob", 'Expected one of ISOLATION or READ or NOT or DEFERRABLE, found identifier "frob"'),
    ("SET TRANSACTION^", "Expected transaction mode, found EOF"),
    ("EXPLAIN ^INSERT INTO t VALUES (1)", "Expected one of SELECT or VALUES or WITH or TABLE, found INSERT"),
    ("EXECUTE p (^)", "Expected an expression, found right parenthesis"),
]

OTHERS = [
    (
        "CREATE SOURCE s FROM POSTGRES CONNECTION p (PUBLICATION 'x', DETAILS = ^'aa')",
        "22023",
        "CREATE SOURCE specifies DETAILS option",
    ),
    ("CREATE SOURCE s FROM ^SQL SERVER CONNECTION m", "0A000", "SQL SERVER sources not supported"),
    (
        "CREATE SOURCE s FROM MYSQL CONNECTION m (DETAILS = ^'aa') FOR ALL TABLES",
        "22023",
        "CREATE SOURCE specifies DETAILS option",
    ),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (START OFFSET ^(1, -1))",
        "22023",
        "START OFFSET must be a nonnegative integer",
    ),
    (
        "CREATE SUBSOURCE s (a int, PRIMARY KEY (b)) WITH (PROGRESS)^",
        "42703",
        'column "b" does not exist',
    ),
    ("CREATE TEMP ^TABLE t FROM SOURCE s", "0A000", "temporary tables FROM SOURCE are not supported"),
    (
        "CREATE TABLE t ^(a int, b text) FROM SOURCE s",
        "42601",
        "CREATE TABLE .. FROM SOURCE column definitions cannot be specified directly",
    ),
    (
        "CREATE TABLE t ^(a, PRIMARY KEY (a)) FROM SOURCE s",
        "42601",
        "CREATE TABLE .. FROM SOURCE constraint definitions cannot be specified directly",
    ),
    ("CREATE TABLE t ^(a, b int) FROM SOURCE s", "42601", "cannot mix column definitions and column names"),
    (
        "CREATE TABLE t FROM SOURCE s WITH (DETAILS = ^'x')",
        "22023",
        "DETAILS option cannot be explicitly set",
    ),
    (
        "CREATE TABLE t FROM SOURCE s (REFERENCE x) FORMAT JSON WITH (DETAILS = ^'x')",
        "22023",
        "DETAILS option cannot be explicitly set",
    ),
    (
        "CREATE TABLE t (a int ^PRIMARY KEY)",
        "0A000",
        "CREATE TABLE with a primary key or unique constraint is not supported",
    ),
    (
        "CREATE TABLE t (a int, ^CONSTRAINT k UNIQUE (a))",
        "0A000",
        "CREATE TABLE with a primary key or unique constraint is not supported",
    ),
    (
        "CREATE TABLE t (a int ^CHECK (a > 0) NOT NULL)",
        "0A000",
        "CREATE TABLE with column constraint: CHECK (a > 0) not yet supported",
    ),
    (
        "CREATE TABLE t (a int ^REFERENCES u (b), c int)",
        "0A000",
        "CREATE TABLE with column constraint: REFERENCES u (b) not yet supported",
    ),
    ("CREATE TABLE t (a ^frob)", "42704", 'type "frob" does not exist'),
    ("CREATE TABLE t ^AS SELECT 1", "0A000", "CREATE TABLE AS not yet supported"),
    (
        "ALTER SOURCE s SET ^(RETAIN HISTORY FOR '1d', TIMESTAMP INTERVAL '1s')",
        "42601",
        "RETAIN HISTORY must be only option",
    ),
    (
        "ALTER SOURCE s SET (TIMESTAMP INTERVAL ^'soon')",
        "22007",
        'invalid input syntax for type interval: "soon"',
    ),
    (
        "ALTER TABLE t SET (RETAIN HISTORY FOR ^'-1d')",
        "22023",
        "cannot convert negative interval to duration",
    ),
    ("INSERT INTO t VALUES (1) ^ON CONFLICT DO NOTHING", "0A000", "INSERT ... ON CONFLICT not yet supported"),
    ("UPDATE t SET a = 1 ^FROM u", "0A000", "UPDATE ... FROM not yet supported"),
    ("DELETE FROM t WHERE a ^RETURNING a", "0A000", "DELETE ... RETURNING not yet supported"),
    ("DECLARE c CURSOR ^WITH HOLD FOR SELECT 1", "0A000", "DECLARE ... WITH HOLD not yet supported"),
    ("EXPLAIN ANALYZE ^INSERT INTO t VALUES (1)", "0A000", "EXPLAIN ANALYZE INSERT not yet supported"),
    ("EXPLAIN (ANALYZE) ^DELETE FROM t", "0A000", "EXPLAIN ANALYZE DELETE not yet supported"),
    ("EXPLAIN (ANALYZE, ^WAL) SELECT 1", "0A000", "EXPLAIN (WAL) not yet supported"),
    ("COMMIT ^AND CHAIN", "0A000", "AND CHAIN not yet supported"),
    ("^CREATE UNIQUE INDEX i ON t (a)", "0A000", "CREATE INDEX not yet supported"),
    ("FETCH ^99999999999999999999 c", "22003", '"99999999999999999999" is out of range for type bigint'),
]


def refusal(marked: str) -> tuple[UserError, int]:
    text = marked.replace("^", "", 1)
    with pytest.raises(UserError) as refused:
        parse_statements(text)
    return refused.value, marked.index("^") + 1


@pytest.mark.parametrize(("marked", "message"), SYNTAX)
def test_a_syntax_error_says_what_was_expected_and_found_and_where(marked: str, message: str) -> None:
    error, position = refusal(marked)
    assert (error.message, error.sqlstate, error.position) == (message, "42601", position)


@pytest.mark.parametrize(("marked", "sqlstate", "message"), OTHERS)
def test_what_is_understood_but_not_done_has_its_own_sqlstate(
    marked: str, sqlstate: str, message: str
) -> None:
    error, position = refusal(marked)
    assert (error.message, error.sqlstate, error.position) == (message, sqlstate, position)


@pytest.mark.parametrize("phrase", REFUSED)
def test_every_refused_phrase_is_refused_in_all_its_forms(phrase: str) -> None:
    for words in expand(phrase):
        text = " ".join("x" if word in ("<name>", "...") else word for word in words)
        with pytest.raises(UserError) as refused:
            parse_statement(text + " y")
        assert (refused.value.message, refused.value.sqlstate) == (REFUSED[phrase], "0A000")


def test_keys_of_a_table_name_the_flag_they_are_behind() -> None:
    error, _ = refusal("CREATE TABLE t (a int ^UNIQUE)")
    assert "unsafe_enable_table_keys" in str(error.detail)


def test_a_single_statement_is_exactly_one() -> None:
    for text, position in (("", 1), (" ; ", 1), ("SELECT 1; SELECT 2", 11)):
        with pytest.raises(UserError, match="Expected a") as refused:
            parse_statement(text)
        assert refused.value.position == position


def test_only_a_show_is_a_show() -> None:
    assert parse_show("show tables").render() == "SHOW TABLES"
    assert parse_show("show create table t").render() == "SHOW CREATE TABLE t"
    with pytest.raises(UserError, match="Expected SHOW"):
        parse_show("SELECT 1")
