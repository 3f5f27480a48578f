"""psycopg 3 works: text and binary, server-side parameters, pipelines, COPY, cursors, transactions.

Goal: a program written for PostgreSQL with psycopg finds what it expects, in every mode of
the driver.

Method: values of every type are sent and received in both formats and compared in Python; errors
are caught as the driver's own exception classes, which go by SQLSTATE.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg.types.range import Range

from tests.support.server import HeadwaterServer, eventually

VALUES: list[tuple[str, Any]] = [
    ("bool", True),
    ("int2", -32768),
    ("int4", 2**31 - 1),
    ("int8", -(2**63)),
    ("float4", 1.5),
    ("float8", -1.25e300),
    ("float8", float("inf")),
    ("numeric", Decimal("12345678901234567890.123456789")),
    ("numeric(10, 2)", Decimal("-0.05")),
    ("text", 'ünïcödé "quoted" \\ and \n newline'),
    ("varchar(10)", "ten"),
    ("bytea", b"\x00\x01\xff'\\"),
    ("date", date(1999, 12, 31)),
    ("time", time(23, 59, 59, 999999)),
    ("timestamp", datetime(2020, 2, 29, 12, 30, 15, 123456)),
    ("timestamptz", datetime(1969, 7, 20, 20, 17, 40, tzinfo=UTC)),
    ("interval", timedelta(days=3, hours=-4, microseconds=5)),
    ("uuid", UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("int4range", Range(1, 5)),
    ("tstzrange", Range(datetime(2024, 2, 29, tzinfo=UTC), None, "()")),
    ("int4[]", [1, None, 3]),
    ("text[]", ["a", 'b "c"', None, ""]),
    ("int4[]", [[1, None], [3, 4], [5, 6]]),
    ("text[]", [[["a", 'b "c"'], [None, "{}"]]]),
    ("oid", 4294967295),
]


@pytest.fixture
def connection(server: HeadwaterServer, schema: str) -> Iterator[psycopg.Connection[Any]]:
    with server.connect() as opened:
        opened.execute(f"SET search_path = {schema}".encode())
        yield opened


# Values


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(("type_", "value"), VALUES, ids=[f"{t}-{i}" for i, (t, _) in enumerate(VALUES)])
def test_a_value_comes_back_as_it_was_sent(
    connection: psycopg.Connection[Any], type_: str, value: Any, binary: bool
) -> None:
    placeholder = "%b" if binary else "%t"
    query = f"SELECT {placeholder}::{type_}, {placeholder}::{type_} IS NULL"
    cursor = connection.execute(query.encode(), (value, None), binary=binary)
    assert cursor.fetchone() == (value, True)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_documents_come_back_as_they_were_sent(connection: psycopg.Connection[Any], binary: bool) -> None:
    document = {"a": [1, 2.5, None, True], "b": {"c": 'ü"x'}}
    cursor = connection.execute("SELECT %s::jsonb", (Jsonb(document),), binary=binary)
    assert cursor.fetchone() == (document,)


def test_the_types_of_parameters_are_told_by_their_places(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE typed (a int, b text, c timestamptz, d numeric(10, 2), e bool)")
    moment = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    connection.execute(
        "INSERT INTO typed VALUES (%s, %s, %s, %s, %s)", (1, "one", moment, Decimal("2.5"), None)
    )
    found = connection.execute(
        "SELECT * FROM typed WHERE a = %s AND b LIKE %s AND c >= %s AND d < %s AND e IS NOT DISTINCT FROM %s",
        (1, "o%", moment, 3, None),
    ).fetchall()
    assert found == [(1, "one", moment, Decimal("2.5"), None)]


def test_many_rows_are_inserted_with_one_statement(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE many (a int, b text)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO many VALUES (%s, %s)", [(n, f"row {n}") for n in range(50)])
        assert cursor.rowcount == 50
        cursor.executemany(
            "INSERT INTO many VALUES (%s, %s) RETURNING a", [(n, "x") for n in (100, 101)], returning=True
        )
        assert cursor.fetchall() == [(100,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(101,)]
    assert connection.execute("SELECT count(*), count(DISTINCT a) FROM many").fetchone() == (52, 52)


def test_a_list_is_compared_with_any(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute(
        "SELECT n FROM generate_series(1, 10) AS n WHERE n = ANY(%s) ORDER BY n", ([2, 3, 99],)
    ).fetchall()
    assert found == [(2,), (3,)]


def test_identifiers_are_composed(connection: psycopg.Connection[Any]) -> None:
    name = 'Odd "name"'
    connection.execute(
        sql.SQL("CREATE TABLE {} ({} int)").format(sql.Identifier(name), sql.Identifier("a b"))
    )
    connection.execute(sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(name), sql.Literal(5)))
    rows = connection.cursor(row_factory=dict_row).execute(sql.SQL("TABLE {}").format(sql.Identifier(name)))
    assert rows.fetchall() == [{"a b": 5}]


def test_columns_are_described(connection: psycopg.Connection[Any]) -> None:
    cursor = connection.execute("SELECT 1 AS a, 'x'::varchar(5) AS b, 2.50::numeric(10, 2) AS c, now() AS d")
    assert cursor.description is not None
    described = [(c.name, c.type_code, c.precision, c.scale) for c in cursor.description]
    assert described == [
        ("a", 23, None, None),
        ("b", 1043, None, None),
        ("c", 1700, 39, 2),
        ("d", 1184, None, None),
    ]


def test_prepared_statements_are_used_and_survive_changes(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE changing (a int)")
    for n in range(8):
        connection.execute("INSERT INTO changing VALUES (%s)", (n,), prepare=True)
        found = connection.execute("SELECT count(*) FROM changing WHERE a <= %s", (n,), prepare=True)
        assert found.fetchone() == (n + 1,)
    assert connection.execute("SELECT count(*) > 1 FROM pg_prepared_statements").fetchone() == (True,)
    connection.execute("DROP TABLE changing")
    connection.execute("CREATE TABLE changing (a text)")
    with pytest.raises(errors.Error):
        connection.execute("INSERT INTO changing SELECT 1/0 WHERE %s = 5", (5,), prepare=True)
    assert connection.execute("SELECT count(*) FROM changing").fetchone() == (0,)


# Pipelines


def test_a_pipeline_answers_everything_in_order(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE piped (a int)")
    with connection.pipeline():
        cursors = [
            connection.execute("INSERT INTO piped VALUES (%s) RETURNING a * 2", (n,)) for n in range(20)
        ]
    assert [cursor.fetchone() for cursor in cursors] == [(n * 2,) for n in range(20)]
    assert connection.execute("SELECT count(*) FROM piped").fetchone() == (20,)


def test_an_error_in_a_pipeline_stops_it_until_the_next_sync(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE stopped (a int)")

    def pipelined() -> None:
        with connection.pipeline() as pipeline:
            connection.execute("INSERT INTO stopped VALUES (1)")
            connection.execute("INSERT INTO stopped VALUES (1 / %s)", (0,))
            connection.execute("INSERT INTO stopped VALUES (2)")
            pipeline.sync()

    with pytest.raises(errors.DivisionByZero):
        pipelined()
    assert connection.execute("SELECT count(*) FROM stopped").fetchone() == (0,)


def test_statements_up_to_a_sync_become_visible_together(
    connection: psycopg.Connection[Any], server: HeadwaterServer, schema: str
) -> None:
    connection.execute("CREATE TABLE at_once (a int)")
    with connection.pipeline() as pipeline, server.connect() as other:
        connection.execute("INSERT INTO at_once VALUES (1)")
        cursor = connection.execute("INSERT INTO at_once VALUES (2) RETURNING a")
        assert cursor.fetchone() is not None  # answered, and not committed
        count = f"SELECT count(*) FROM {schema}.at_once".encode()
        assert other.execute(count).fetchone() == (0,)
        pipeline.sync()
        assert other.execute(count).fetchone() == (2,)


# Transactions


def test_a_transaction_commits_or_rolls_back_as_a_whole(
    connection: psycopg.Connection[Any], server: HeadwaterServer, schema: str
) -> None:
    connection.execute("CREATE TABLE whole (a int)")
    with connection.transaction():
        connection.execute("INSERT INTO whole VALUES (1)")
        assert server.query(f"SELECT count(*) FROM {schema}.whole") == [(0,)]
    assert server.query(f"SELECT count(*) FROM {schema}.whole") == [(1,)]

    def fail() -> None:
        with connection.transaction():
            connection.execute("INSERT INTO whole VALUES (2)")
            connection.execute("INSERT INTO whole VALUES (1 / 0)")

    with pytest.raises(errors.DivisionByZero):
        fail()
    assert server.query(f"SELECT count(*) FROM {schema}.whole") == [(1,)]


def test_the_state_of_a_transaction_is_told(server: HeadwaterServer) -> None:
    with psycopg.connect(server.dsn()) as connection:

        def status() -> str:
            return connection.info.transaction_status.name

        assert status() == "IDLE"
        connection.execute("SELECT 1")
        assert status() == "INTRANS"
        with pytest.raises(errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        assert status() == "INERROR"
        with pytest.raises(errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert status() == "IDLE"


def test_savepoints_bring_back_what_was(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE nested (a int)")

    def fail() -> None:
        with connection.transaction():
            connection.execute("INSERT INTO nested VALUES (2)")
            connection.execute("INSERT INTO nested VALUES (1 / 0)")

    with connection.transaction():
        connection.execute("INSERT INTO nested VALUES (1)")
        with pytest.raises(errors.DivisionByZero):
            fail()
        with connection.transaction():
            connection.execute("INSERT INTO nested VALUES (3)")
    assert connection.execute("SELECT a FROM nested ORDER BY a").fetchall() == [(1,), (3,)]


@pytest.mark.parametrize(
    ("statement", "raised"),
    [
        ("SELECT 1 / 0", errors.DivisionByZero),
        ("SELEC", errors.SyntaxError),
        ("SELECT nothing", errors.UndefinedColumn),
        ("SELECT nothing(1)", errors.UndefinedFunction),
        ("SELECT 'x'::int", errors.InvalidTextRepresentation),
        ("SELECT 32768::int2", errors.NumericValueOutOfRange),
        ("SELECT * FROM nothing", errors.UndefinedTable),
        ("FETCH 1 c", errors.InvalidCursorName),
        ("EXECUTE nothing", errors.InvalidSqlStatementName),
        ("VACUUM", errors.FeatureNotSupported),
        ("SET nothing = 1", errors.UndefinedObject),
    ],
)
def test_errors_have_the_class_that_programs_catch(
    connection: psycopg.Connection[Any], statement: str, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        connection.execute(statement.encode())


def test_notices_reach_the_program(connection: psycopg.Connection[Any]) -> None:
    notices: list[str | None] = []
    connection.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary))
    connection.execute("DROP TABLE IF EXISTS never_there")
    assert notices == ['table "never_there" does not exist, skipping']


# Cursors and COPY


def test_a_server_side_cursor_reads_in_parts(server: HeadwaterServer) -> None:
    with psycopg.connect(server.dsn()) as connection, connection.cursor("parts") as cursor:
        cursor.itersize = 300
        cursor.execute("SELECT generate_series(1, %s) AS n", (1000,))
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
        assert sum(1 for _ in cursor) == 997


@pytest.mark.parametrize("format_", ["text", "binary"])
def test_rows_are_copied_in_and_out(connection: psycopg.Connection[Any], format_: str) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS copied (a int, b text, c timestamptz, d numeric(12, 3), e bytea)"
    )
    connection.execute("DELETE FROM copied")
    moment = datetime(2024, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
    rows = [(n, f"tab\there {n}", moment, Decimal(n) / 8, b"\x00\\") for n in range(100)] + [(None,) * 5]
    types = ["int4", "text", "timestamptz", "numeric", "bytea"]
    with connection.cursor().copy(f"COPY copied FROM STDIN (FORMAT {format_})".encode()) as copy:
        if format_ == "binary":
            copy.set_types(types)
        for row in rows:
            copy.write_row(row)
    with connection.cursor().copy(f"COPY copied TO STDOUT (FORMAT {format_})".encode()) as copy:
        copy.set_types(types)
        read = list(copy.rows())
    assert sorted(read, key=repr) == sorted(rows, key=repr)


@pytest.mark.parametrize("format_", ["text", "csv", "binary"])
def test_arrays_of_any_shape_are_copied_in_and_out(connection: psycopg.Connection[Any], format_: str) -> None:
    for table in ("shaped", "shaped_too"):
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (n int, a int[], t text[])".encode())
        connection.execute(f"DELETE FROM {table}".encode())
    connection.execute(
        """INSERT INTO shaped VALUES (1, '{{1,2},{3,NULL}}', '{{"a b","x,y"},{NULL,"\\""}}'),
        (2, '[0:1]={1,2}', '[-1:-1][2:2]={{z}}'), (3, '{1,2}', '{}'), (4, NULL, ARRAY[[['tab	here']]])"""
    )
    with connection.cursor().copy(f"COPY shaped TO STDOUT (FORMAT {format_})".encode()) as copy:
        data = b"".join(map(bytes, copy))
    with connection.cursor().copy(f"COPY shaped_too FROM STDIN (FORMAT {format_})".encode()) as copy:
        copy.write(data)
    shown = "SELECT n, a::text, t::text FROM {} ORDER BY n"
    rows = connection.execute(shown.format("shaped").encode()).fetchall()
    assert rows[1] == (2, "[0:1]={1,2}", "[-1:-1][2:2]={{z}}")
    assert connection.execute(shown.format("shaped_too").encode()).fetchall() == rows
    same = "SELECT count(*) FROM shaped JOIN shaped_too USING (n, t) WHERE shaped.a = shaped_too.a"
    assert connection.execute(same.encode()).fetchall() == [(3,)]


def test_a_copy_that_the_program_gives_up_leaves_nothing(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE given_up (a int)")

    def give_up() -> None:
        with connection.cursor() as cursor, cursor.copy("COPY given_up FROM STDIN") as copy:
            copy.write_row((1,))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    assert connection.execute("SELECT count(*) FROM given_up").fetchone() == (0,)


def test_a_subscription_streams_until_it_is_cancelled(
    connection: psycopg.Connection[Any], server: HeadwaterServer, schema: str
) -> None:
    connection.execute("CREATE TABLE streamed (a int)")
    server.query(f"INSERT INTO {schema}.streamed VALUES (1)")
    seen: list[tuple[int, int]] = []

    def follow() -> None:
        try:
            for row in connection.cursor().stream("SUBSCRIBE streamed"):
                seen.append((row[1], row[2]))
        except errors.QueryCanceled:
            seen.append((0, 0))

    following = threading.Thread(target=follow)
    following.start()
    eventually(lambda: seen == [(1, 1)])
    server.query(f"UPDATE {schema}.streamed SET a = 2")
    eventually(lambda: seen == [(1, 1), (-1, 1), (1, 2)])
    connection.cancel_safe()
    following.join(30)
    assert seen[-1] == (0, 0)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_piece_of_the_past_is_told_again(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE past (a int) WITH (RETAIN HISTORY FOR '1 hour')")

    def now() -> int:
        return int(
            connection.execute(
                "SELECT mz_now()::text FROM past RIGHT JOIN (VALUES (1)) v ON true"
            ).fetchall()[0][0]
        )

    def told(bounds: str) -> list[tuple[Any, ...]]:
        rows = connection.execute(f"SUBSCRIBE past {bounds}".encode()).fetchall()
        return [(int(row[0]), *row[1:]) for row in rows]

    connection.execute("INSERT INTO past VALUES (1)")
    first = now()
    connection.execute("UPDATE past SET a = 2")
    second = now()
    connection.execute("INSERT INTO past VALUES (3)")
    third = now()
    assert first < second < third
    assert told(f"AS OF {first} UP TO {first}") == []
    assert told(f"AS OF {first} UP TO {first + 1}") == [(first, 1, 1)]
    rows = told(f"AS OF {first} UP TO {second + 1}")
    assert [row[1:] for row in rows] == [(1, 1), (-1, 1), (1, 2)]
    assert rows[1][0] == rows[2][0]
    later = told(f"WITH (SNAPSHOT = false) AS OF {second} UP TO {third + 1}")
    assert [row[1:] for row in later] == [(1, 3)]
    progress = told(f"WITH (PROGRESS) AS OF {second} UP TO {third + 1}")
    assert progress[0] == (second, True, None, None)
    assert [row[2:] for row in progress if not row[1]] == [(1, 2), (1, 3)]
    assert progress[-1] == (third + 1, True, None, None)
    stamps = [row[0] for row in progress]
    assert stamps == sorted(stamps)
    for moment, count in ((first, 1), (second, 1), (third, 2)):
        found = connection.execute(f"SELECT count(*) FROM past AS OF {moment}".encode()).fetchone()
        assert found == (count,)


def test_a_subscription_goes_on_where_its_last_progress_was(connection: psycopg.Connection[Any]) -> None:
    """A change at the very timestamp of a progress comes after it, and is not lost by going on.

    Changes of one timestamp may come in any order, so they are compared sorted.
    """
    connection.execute("CREATE TABLE resumed (a int) WITH (RETAIN HISTORY FOR '1 hour')")
    connection.execute("INSERT INTO resumed VALUES (1)")
    connection.execute("INSERT INTO resumed VALUES (2)")
    now = "SELECT mz_now()::text FROM resumed LIMIT 1"
    began = int(connection.execute(now.encode()).fetchall()[0][0])
    connection.execute("INSERT INTO resumed VALUES (3)")
    connection.execute("DELETE FROM resumed WHERE a = 1")
    ended = int(connection.execute(now.encode()).fetchall()[0][0])
    for target in ("resumed", "(SELECT a + 0 AS a FROM resumed)"):

        def told(options: str, bounds: str, target: str = target) -> list[tuple[Any, ...]]:
            sql = f"SUBSCRIBE {target} WITH ({options}) {bounds}"
            return connection.execute(sql.encode()).fetchall()

        whole = told("PROGRESS", f"AS OF {began} UP TO {ended + 1}")
        changes = sorted(row for row in whole if not row[1])
        for moment in sorted({int(row[0]) for row in changes if row[0] > began}):
            before = told("PROGRESS", f"AS OF {began} UP TO {moment}")
            assert before[-1][:2] == (moment, True)  # and a change at it is to come
            rest = told("PROGRESS, SNAPSHOT = false", f"AS OF {before[-1][0] - 1} UP TO {ended + 1}")
            assert sorted(row for row in (*before, *rest) if not row[1]) == changes


def test_subscriptions_and_explanations_take_parameters(connection: psycopg.Connection[Any]) -> None:
    query = "(SELECT n FROM generate_series(1, 5) AS n WHERE n > %s)"
    rows = connection.execute(f"SUBSCRIBE {query}".encode(), (3,)).fetchall()
    assert sorted(row[1:] for row in rows) == [(1, 4), (1, 5)]
    assert connection.execute(f"EXPLAIN SELECT * FROM {query}".encode(), (3,)).fetchone() is not None


def test_a_subscription_is_copied_out(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor().copy("COPY (SUBSCRIBE (VALUES (1, 'x'))) TO STDOUT") as copy:
        copy.set_types(["numeric", "int8", "int4", "text"])
        rows = list(copy.rows())
    assert [row[1:] for row in rows] == [(1, 1, "x")]


# Connections


def test_settings_are_given_at_the_start(server: HeadwaterServer, schema: str) -> None:
    options = f"-c search_path={schema} -c statement_timeout=5000"
    with psycopg.connect(server.dsn(), options=options, application_name="tests") as connection:
        found = connection.execute("SELECT current_schema(), current_setting('statement_timeout')").fetchone()
        assert found == (schema, "5 s")
        assert connection.info.parameter_status("application_name") == "tests"
        assert connection.info.parameter_status("server_version") == "15.0"
        assert connection.info.server_version == 150000
        assert connection.info.encoding == "utf-8"


def test_a_timeout_ends_a_statement(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET statement_timeout = '100ms'")
    with pytest.raises(errors.QueryCanceled, match="statement timeout"):
        connection.execute(
            "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
        )
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_sessions_work_side_by_side(server: HeadwaterServer, schema: str) -> None:
    server.query(f"CREATE TABLE {schema}.together (a int)")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with server.connect() as own:
                for step in range(5):
                    own.execute(f"INSERT INTO {schema}.together VALUES ({number * 100 + step})".encode())
                    own.execute(f"SELECT count(*) FROM {schema}.together".encode()).fetchone()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert server.query(f"SELECT count(*), count(DISTINCT a) FROM {schema}.together") == [(40, 40)]


def test_a_transaction_that_does_nothing_is_ended_with_its_connection(server: HeadwaterServer) -> None:
    with server.connect() as idle:
        idle.execute("SET idle_in_transaction_session_timeout = '50ms'")
        idle.execute("BEGIN")
        assert select.select([idle.fileno()], [], [], 30)[0], "the server says something by itself"
        with pytest.raises(errors.IdleInTransactionSessionTimeout):
            idle.execute("SELECT 1")
        assert idle.closed
