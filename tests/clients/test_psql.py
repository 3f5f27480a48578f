"""psql 15 works: its commands, its completion, its error carets, Ctrl-C, scripts, \\copy.

Goal: what a person does in psql behaves as with PostgreSQL.

Method: the real psql, once with commands as arguments or a script on its input, and in a
pseudo-terminal where keys matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.terminal import Terminal
from tests.support.server import HeadwaterServer, eventually

TABLES = """
CREATE TABLE t (id int NOT NULL, name text DEFAULT 'x', n numeric(10, 2));
COMMENT ON TABLE t IS 'a table of ours';
COMMENT ON COLUMN t.name IS 'what it is called';
CREATE VIEW v AS SELECT id, name FROM t WHERE id > 0;
CREATE SOURCE s FROM LOAD GENERATOR AUCTION (UP TO 1);
CREATE TABLE bids FROM SOURCE s (REFERENCE bids);
INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, 2);
"""


@pytest.fixture(scope="module")
def objects(server: HeadwaterServer, schema: str) -> str:
    """The schema, with one of each kind in it."""
    with server.connect() as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        for statement in TABLES.strip().split(";\n"):
            connection.execute(statement.encode())
    return schema


def psql(server: HeadwaterServer, schema: str, *commands: str, stdin: str | None = None) -> str:
    """What psql prints for these commands; errors fail the test."""
    done = server.psql("-qc", f"SET search_path = {schema}", *(f"-c{c}" for c in commands), stdin=stdin)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ERROR" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def terminal(server: HeadwaterServer, objects: str) -> Iterator[Terminal]:
    opened = Terminal(server, "-q")
    opened.run(f"SET search_path = {objects};")
    yield opened
    opened.close()


# Commands that describe

DESCRIBED = {
    r"\d": (r"t +\| table", r"v +\| view", r"bids +\| table", r"s +\| table"),
    r"\d t": (r"id +\| integer +\| +\| not null", r"name +\| text .*'x'", r"n +\| numeric"),
    r"\d+ t": (r"name .*what it is called",),
    r"\d v": (r'View "psql_tests.v"', r"id +\| integer"),
    r"\d+ v": (r"View definition:", r"SELECT id, name FROM materialize.psql_tests.t WHERE id > 0;"),
    r"\d bids": (r"amount +\| integer +\| +\| not null", r"bid_time +\| timestamp with time zone"),
    r"\d s": (r"offset +\| uint8",),
    r"\dt": (r"t +\| table +\| materialize", r"(?s)^((?!pg_class|mz_tables).)*$"),
    r"\dt+": (r"a table of ours",),
    r"\dt psql_tests.*": (r"psql_tests \| bids",),
    r"\dt *.pg_cl*": (r"pg_catalog \| pg_class",),
    r"\dv": (r"v +\| view",),
    r"\dS": (r"pg_catalog +\| pg_class", r"psql_tests +\| t "),
    r"\dn": (r"public +\| materialize", r"psql_tests +\| materialize"),
    r"\dn+": (r"mz_catalog",),
    r"\l": (r"materialize +\| materialize +\| UTF8",),
    r"\l+": (r"materialize",),
    r"\du": (r"mz_system +\| Superuser", r"materialize +\| Superuser"),
    r"\df abs": (r"pg_catalog +\| abs +\| integer +\| integer +\| func",),
    r"\da count": (r"pg_catalog +\| count +\| bigint",),
    r"\do ||": (r"pg_catalog +\| \|\| +\| text +\| text +\| text",),
    r"\dT uint8": (r"mz_catalog +\| uint8",),
    r"\dT+": (r"mz_timestamp",),
    r"\dp": (r"t +\| table",),
    r"\dd": (r"Object descriptions",),
    r"\dL": (r"List of languages",),
    r"\dconfig search_path": (r"search_path +\| psql_tests",),
    r"\sv v": (r"CREATE OR REPLACE VIEW psql_tests.v AS\n *SELECT id, name",),
    r"\conninfo": (r'connected to database "materialize" as user "materialize"',),
    r"\encoding": (r"UTF8",),
}

EMPTY = [f"\\{command}" for command in (
    "ds", "di", "dm", "dE", "dx", "df", "do", "da", "db", "dc", "dC", "dD", "ddp", "des", "det", "deu", "dew",
    "dF", "dFd", "dFp", "dFt", "dl", "dO", "dP", "drds", "dRp", "dRs", "dX", "dy", "dA", "dAc", "dAf", "dAp",
    "z", "dg", "dg+", "db+", "dTS", "dconfig",
)]  # fmt: skip


def test_every_describing_command_shows_what_there_is(server: HeadwaterServer, objects: str) -> None:
    for command, patterns in DESCRIBED.items():
        shown = psql(server, objects, command)
        for pattern in patterns:
            assert re.search(pattern, shown), f"{command} does not show {pattern}, but\n{shown}"


def test_commands_about_things_there_are_none_of_do_not_fail(server: HeadwaterServer, objects: str) -> None:
    psql(server, objects, *EMPTY)


def test_a_name_that_is_not_there_is_said_to_be_missing(server: HeadwaterServer, objects: str) -> None:
    done = server.psql("-c", r"\d nothing_here")
    assert 'Did not find any relation named "nothing_here".' in done.stderr


def test_only_the_relation_that_a_bare_name_means_is_described(server: HeadwaterServer, objects: str) -> None:
    server.query("CREATE SCHEMA psql_shadow")
    server.query("CREATE TABLE psql_shadow.t (other int)")
    try:
        shown = psql(server, f"{objects}, psql_shadow", r"\d t", r"\dt")
        assert "other" not in shown
        assert "psql_shadow" not in shown
    finally:
        server.query("DROP SCHEMA psql_shadow CASCADE")


# Variables and formats


def test_gset_gexec_and_expanded_output_work(server: HeadwaterServer, objects: str) -> None:
    script = """
        SELECT count(*) AS how_many, max(name) AS which FROM t \\gset
        SELECT :how_many + 1 AS more, :'which' AS named;
        \\x
        SELECT id, name FROM t WHERE id = 1;
        \\x
        SELECT 'SELECT 4' || '2 AS answer' \\gexec
        SELECT name FROM t ORDER BY id \\gdesc
        \\echo :SERVER_VERSION_NUM :DBNAME :LAST_ERROR_SQLSTATE
    """
    shown = psql(server, objects, "SELECT 1") and server.psql(
        "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", stdin=f"SET search_path = {objects};\n{script}"
    )
    assert not isinstance(shown, str)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"3 \| a", shown.stdout)
    assert "-[ RECORD 1 ]" in shown.stdout
    assert "42" in shown.stdout
    assert re.search(r"name +\| text", shown.stdout)
    assert "150000 materialize 00000" in shown.stdout


def test_a_result_is_fetched_in_parts(server: HeadwaterServer, objects: str) -> None:
    done = server.psql("-AtX", "-v", "FETCH_COUNT=7", "-c", "SELECT generate_series(1, 20)")
    assert done.stdout.split() == [str(n) for n in range(1, 21)], done.stderr


# Errors


def caret(stderr: str) -> str:
    """The text above the caret that an error shows."""
    lines = stderr.splitlines()
    below = next(i for i, line in enumerate(lines) if line.strip() == "^")
    return lines[below - 1][lines[below].index("^") :]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT nothing FROM t", "nothing FROM t"),
        ("SELECT 1,\n  2,\n  nothing\nFROM t", "nothing"),
        ("SELECT 1; SELECT nothing FROM t", "nothing FROM t"),
        ("SELECT 1;\n\nSELECT *\nFROM nothing", "nothing"),
        ("SELECT 'ünïcödé', nothing FROM t", "nothing FROM t"),
        ("SELECT lower(1, 2)", "lower(1, 2)"),
        ("UPDATE t SET name = nothing", "nothing"),
        ("UPDATE t\n   SET id = 1\n WHERE nothing", "nothing"),
        ("DELETE FROM t WHERE nothing = 1", "nothing = 1"),
        ("INSERT INTO t VALUES (1, nothing)", "nothing)"),
        ("CREATE VIEW w AS\nSELECT nothing FROM t", "nothing FROM t"),
        ("CREATE TABLE w (a int DEFAULT nothing)", "nothing)"),
        ("SELEC 1", "SELEC 1"),
        ("SELECT 1 +", ""),
        ("EXPLAIN SELECT nothing", "nothing"),
        ("SUBSCRIBE (SELECT nothing FROM t)", "nothing FROM t)"),
        ("DECLARE c CURSOR FOR SELECT nothing", "nothing"),
        ("PREPARE p AS SELECT nothing", "nothing"),
        ("COPY (SELECT nothing) TO STDOUT", "nothing) TO STDOUT"),
    ],
)
def test_the_caret_stands_under_what_is_wrong(
    server: HeadwaterServer, objects: str, text: str, shown: str
) -> None:
    begin = "BEGIN" if text.startswith("DECLARE") else "SELECT 1"
    done = server.psql("-qc", f"SET search_path = {objects}", "-c", begin, "-c", text)
    assert done.returncode == 1
    assert caret(done.stderr) == shown, done.stderr


def test_a_script_goes_on_after_an_error_unless_told_to_stop(server: HeadwaterServer, objects: str) -> None:
    script = f"SET search_path = {objects};\nSELECT 1 / 0;\nSELECT 'after';\n"
    going_on = server.psql("-At", "-f", "-", stdin=script)
    assert going_on.returncode == 0
    assert "after" in going_on.stdout
    assert "psql:<stdin>:2: ERROR:  division by zero" in going_on.stderr
    stopping = server.psql("-At", "-v", "ON_ERROR_STOP=1", "-f", "-", stdin=script)
    assert stopping.returncode == 3
    assert "after" not in stopping.stdout


def test_a_single_transaction_is_all_or_nothing(server: HeadwaterServer, objects: str) -> None:
    begin = f"SET search_path = {objects};\n"
    server.query(f"CREATE TABLE {objects}.once (a int)")
    bad = (
        begin
        + "INSERT INTO once VALUES (1);\nINSERT INTO once VALUES (2);\nINSERT INTO once VALUES (1 / 0);\n"
    )
    failed = server.psql("-1", "-v", "ON_ERROR_STOP=1", "-f", "-", stdin=bad)
    assert failed.returncode == 3
    assert server.query(f"SELECT count(*) FROM {objects}.once") == [(0,)]
    good = begin + "INSERT INTO once VALUES (1);\nINSERT INTO once VALUES (2);\n"
    done = server.psql("-1", "-v", "ON_ERROR_STOP=1", "-f", "-", stdin=good)
    assert done.returncode == 0, done.stderr
    assert server.query(f"SELECT count(*) FROM {objects}.once") == [(2,)]


# COPY


@pytest.mark.parametrize(
    "options", ["", "(FORMAT csv, HEADER)", "(DELIMITER '|', NULL 'none')", "(FORMAT binary)"]
)
def test_what_is_copied_out_can_be_copied_in(
    server: HeadwaterServer, objects: str, tmp_path: Path, options: str
) -> None:
    server.query(f"CREATE TABLE IF NOT EXISTS {objects}.copied (id int, name text, n numeric(10, 2))")
    server.query(f"DELETE FROM {objects}.copied")
    file = tmp_path / "rows"
    text = 'one "two",\t\\three\nfour | none'
    server.query(f"INSERT INTO {objects}.copied VALUES (1, E'{text}', 1.25), (2, '', NULL), (3, NULL, -4)")
    before = server.query(f"SELECT * FROM {objects}.copied ORDER BY id")
    with_options = f" WITH {options}" if options else ""
    psql(server, objects, f"\\copy copied TO '{file}'{with_options}")
    server.query(f"DELETE FROM {objects}.copied")
    psql(server, objects, f"\\copy copied FROM '{file}'{with_options}")
    assert server.query(f"SELECT * FROM {objects}.copied ORDER BY id") == before


def test_an_error_in_copied_data_names_its_line(
    server: HeadwaterServer, objects: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,name\n1,one\n2,two\nthree,three\n")
    command = f"\\copy t (id, name) FROM '{file}' WITH (FORMAT csv, HEADER)"
    done = server.psql("-qc", f"SET search_path = {objects}", "-c", command)
    assert 'invalid input syntax for type integer: "three"' in done.stderr
    assert 'CONTEXT:  COPY t, line 4, column id: "three"' in done.stderr


# Keys


def test_names_are_completed_from_the_catalog(terminal: Terminal, objects: str) -> None:
    terminal.type(f"SELECT * FROM {objects}.bi\t")
    assert "bids" in terminal.expect("bids")
    terminal.type("\x15DROP VIEW \t\t")
    terminal.expect(r"\bv\b")
    terminal.type("\x15SET statement_tim\t")
    terminal.expect("statement_timeout")
    terminal.type(f"\x15SELECT amo FROM {objects}.bids WHERE amo\t")
    terminal.expect("WHERE amount")


def test_ctrl_c_ends_a_subscription_and_the_session_goes_on(terminal: Terminal) -> None:
    terminal.run(r"\set VERBOSITY verbose")
    terminal.type("COPY (SUBSCRIBE t) TO STDOUT;\n")
    terminal.expect(r"\d+\t1\t2\t\\N\t2")
    terminal.interrupt("ERROR:  57014: canceling statement due to user request")
    assert "still here" in terminal.run("SELECT 'still ' || 'here';")


def test_a_cursor_shows_the_rows_of_a_subscription_as_they_come(
    terminal: Terminal, server: HeadwaterServer, objects: str
) -> None:
    server.query(f"CREATE TABLE {objects}.live (a text)")
    terminal.run("BEGIN;")
    terminal.run("DECLARE c CURSOR FOR SUBSCRIBE live;")
    for value in ("first", "second"):
        terminal.begin("FETCH ALL c;", server)
        server.query(f"INSERT INTO {objects}.live VALUES ('{value}')")
        terminal.expect(value)
        terminal.expect(r"\(1 row\)")
    terminal.begin("FETCH ALL c;", server)
    terminal.interrupt("canceling statement due to user request")
    assert "ROLLBACK" in terminal.run("COMMIT;") or terminal.run("SELECT 1;")


def test_ctrl_c_ends_a_long_query(terminal: Terminal, server: HeadwaterServer) -> None:
    terminal.begin(
        "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a < -b;",
        server,
    )
    terminal.interrupt("ERROR:  canceling statement due to user request")
    assert "here" in terminal.run("SELECT 'he' || 're';")


def test_ctrl_c_stops_a_query_on_spark(terminal: Terminal, server: HeadwaterServer, objects: str) -> None:
    """The job must end on the cluster, too: the process that ran it becomes idle."""
    server.query(f"CREATE TABLE {objects}.numbers (n int)")
    server.query(f"INSERT INTO {objects}.numbers SELECT generate_series(1, 20000)")
    terminal.run("SET read_engine = spark;")
    assert "20000" in terminal.run("SELECT count(*) FROM numbers;")
    busy = CpuUse(server)
    terminal.begin("SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n * b.n = -c.n;", server)
    eventually(lambda: busy.share() > 0.3)
    terminal.interrupt("ERROR:  canceling statement due to user request")
    eventually(lambda: busy.share() < 0.2, every_s=0.5)
    assert "20000" in terminal.run("SELECT count(*) FROM numbers;")


class CpuUse:
    """How much of a processor the cluster's Java process uses between two looks."""

    def __init__(self, server: HeadwaterServer) -> None:
        self._java = next(pid for pid in children(server.cluster_pid() or 0) if "java" in command(pid))
        self._last = self._used()

    def share(self) -> float:
        """Used since the last look, as a share of one processor."""
        before, self._last = self._last, self._used()
        passed_s = max(self._last[1] - before[1], 0.01)
        return (self._last[0] - before[0]) / passed_s

    def _used(self) -> tuple[float, float]:
        fields = Path(f"/proc/{self._java}/stat").read_text().rpartition(")")[2].split()
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
        return (int(fields[11]) + int(fields[12])) / 100, uptime_s


def children(pid: int) -> list[int]:
    """A process's children, and theirs."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(entry.parent.name)
            found += [child, *children(child)]
    return found


def command(pid: int) -> str:
    """What a process runs."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
