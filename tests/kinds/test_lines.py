"""A kind of source that is not ours: all that can be done with one, without a line changed in the product.

Method: the kind in tests/kinds/lines is installed as anybody's package is, by a folder with an entry point on
the path of Python.  One server is taken from CREATE CONNECTION to DROP, and killed and migrated in between.
What the folder has is always known, so every table is compared with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.kinds import ROOT, install
from tests.support.server import QUICK_SPARK, HeadwaterServer, eventually

FOLLOWED_S_MAX = 60.0


class Folder:
    """The upstream."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def write(self, name: str, *changes: dict[str, Any]) -> None:
        with (self.path / f"{name}.jsonl").open("a") as file:
            file.write("".join(json.dumps(change) + "\n" for change in changes))

    def rows(self, name: str) -> list[tuple[int, str]]:
        """What a table of a file should have."""
        found: dict[int, str] = {}
        for line in (self.path / f"{name}.jsonl").read_text().splitlines():
            change = json.loads(line)
            found.pop(change["id"], None)
            if "note" in change:
                found[change["id"]] = change["note"]
        return sorted(found.items())

    def readers(self) -> int:
        return len(list(self.path.glob("*.reader")))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "upstream")
    made.write("orders", {"id": 1, "note": "a"}, {"id": 2, "note": "b"}, {"id": 1})
    made.write("people", {"id": 7, "note": "x"})
    return made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HeadwaterServer]:
    installed = install(tmp_path / "site", "tests.kinds.lines")
    server = HeadwaterServer(tmp_path / "data", spark_conf=QUICK_SPARK, environment=installed).start()
    yield server
    server.stop()


def rows(session: psycopg.Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    return session.execute(sql.encode()).fetchall()


def refused(session: psycopg.Connection[Any], sql: str) -> str:
    """What the error says; nothing if there is none."""
    try:
        session.execute(sql.encode())
    except psycopg.Error as error:
        return str(error.diag.message_primary)
    return ""


def check_comes(session: psycopg.Connection[Any], sql: str, wanted: list[tuple[Any, ...]]) -> None:
    def come() -> bool:
        assert rows(session, sql) == wanted
        return True

    eventually(come, within_s=FOLLOWED_S_MAX)


def check_follows(session: psycopg.Connection[Any], table: str, folder: Folder, name: str) -> None:
    check_comes(session, f"SELECT id, note FROM {table} ORDER BY id", folder.rows(name))


@pytest.mark.timeout(600)
def test_a_kind_of_another_package_can_do_all_that_a_source_can(
    server: HeadwaterServer, folder: Folder
) -> None:
    with server.connect() as session:
        connections(session, folder)
        sources_and_tables(session, folder)
        errors_of_rows(session, folder)
        legacy_syntax(session, folder)
        statistics_and_statuses(session, folder)
        before = shown(session)
    server.kill_cluster()
    server.kill_environment()
    folder.write("orders", {"id": 40, "note": "while nobody listened"})
    server.start()
    with server.connect() as session:
        assert shown(session) == before
        for table, name in (("t", "orders"), ("late", "later"), ("old_orders", "orders")):
            check_follows(session, table, folder, name)
        migration_is_explained(session)
    server.operate("ALTER SYSTEM SET force_source_table_syntax = on")
    server.stop()
    with pytest.raises(AssertionError, match='is of the kind "lines", which is not installed'):
        server.start({"PYTHONPATH": str(ROOT)})
    server.start()
    with server.connect() as session:
        migrated(session, folder)
        assert folder.readers() == 2
        session.execute("DROP SOURCE s CASCADE")
        session.execute("DROP SOURCE old CASCADE")
        session.execute("DROP CONNECTION files")
        eventually(lambda: folder.readers() == 0, within_s=FOLLOWED_S_MAX)
        assert rows(session, "SELECT * FROM mz_internal.mz_lines_sources") == []


def connections(session: psycopg.Connection[Any], folder: Folder) -> None:
    assert refused(session, "CREATE CONNECTION c TO LINES (FOLDER '/nowhere')") == (
        'folder "/nowhere" does not exist'
    )
    assert refused(session, "CREATE CONNECTION c TO LINES (HOST 'x')") == (
        "LINES connections do not support HOST values"
    )
    assert refused(session, "CREATE CONNECTION c TO LINES (FOLDER '')") == "FOLDER must not be empty"
    session.execute(f"CREATE CONNECTION c TO LINES (FOLDER '{folder.path}')".encode())
    session.execute("VALIDATE CONNECTION c")
    session.execute("ALTER CONNECTION c RENAME TO files")
    assert rows(session, "SELECT name, type FROM mz_connections WHERE id LIKE 'u%'") == [("files", "lines")]
    assert f"TO LINES (FOLDER = '{folder.path}')" in rows(session, "SHOW CREATE CONNECTION files")[0][1]


def sources_and_tables(session: psycopg.Connection[Any], folder: Folder) -> None:
    assert "Expected one of" in refused(session, "CREATE SOURCE s FROM NOTHING CONNECTION files")
    assert refused(session, "CREATE SOURCE s FROM LINES CONNECTION files (SUFFIX '.none')") == (
        "LINES source validation: no file ends with .none"
    )
    notices: list[str | None] = []
    session.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    session.execute("CREATE SOURCE s FROM LINES CONNECTION files WITH (TIMESTAMP INTERVAL '100ms')")
    assert notices == ["files are trusted"]
    session.execute("ALTER SOURCE s SET (TIMESTAMP INTERVAL '200ms')")
    assert "FROM LINES CONNECTION materialize.public.files" in rows(session, "SHOW CREATE SOURCE s")[0][1]
    assert rows(session, "SELECT namespace, name FROM mz_internal.mz_source_references ORDER BY 2") == [
        ("lines", "orders"),
        ("lines", "people"),
    ]
    assert refused(session, "CREATE TABLE t FROM SOURCE s") == (
        "LINES source validation: missing TABLES specification"
    )
    assert refused(session, "CREATE TABLE t FROM SOURCE s (REFERENCE nothing)") == (
        "reference to nothing not found in source"
    )
    session.execute("CREATE TABLE t FROM SOURCE s (REFERENCE orders)")
    check_follows(session, "t", folder, "orders")
    folder.write("orders", {"id": 3, "note": "c"}, {"id": 2, "note": "bb"}, {"id": 3})
    check_follows(session, "t", folder, "orders")
    session.execute("CREATE TABLE twice FROM SOURCE s (REFERENCE lines.orders)")
    folder.write("later", {"id": 9, "note": "z"})
    session.execute("ALTER SOURCE s REFRESH REFERENCES")
    assert len(rows(session, "SHOW REFERENCES ON s")) == 3
    session.execute("CREATE TABLE late FROM SOURCE s (REFERENCE later)")
    folder.write("later", {"id": 10, "note": "y"}, {"id": 9})
    check_follows(session, "late", folder, "later")
    check_follows(session, "twice", folder, "orders")
    eventually(
        lambda: (
            rows(session, "SELECT file, lines::int FROM s ORDER BY file")
            == [("later", 3), ("orders", 6), ("people", 1)]
        ),
        within_s=FOLLOWED_S_MAX,
    )
    session.execute("DROP TABLE twice")


def errors_of_rows(session: psycopg.Connection[Any], folder: Folder) -> None:
    """A row that cannot be stored fails reads until it is overwritten, in whatever it came."""
    folder.write("orders", {"id": 5, "note": 55}, {"id": 6, "note": "f"})
    eventually(
        lambda: "of column \"note\" in row (id)=(5)" in refused(session, "SELECT * FROM t"),
        within_s=FOLLOWED_S_MAX,
    )  # fmt: skip
    # One that begins with the row says the same.
    session.execute("CREATE TABLE begins FROM SOURCE s (REFERENCE orders)")
    assert 'value "55" of column "note" in row (id)=(5)' in refused(session, "SELECT * FROM begins")
    session.execute("CREATE TABLE lenient FROM SOURCE s (REFERENCE orders) WITH (ON VALUE ERROR = NULL)")
    assert rows(session, "SELECT id, note FROM lenient WHERE id >= 5 ORDER BY id") == [(5, None), (6, "f")]
    eventually(
        lambda: rows(session, "SELECT DISTINCT value FROM mz_internal.mz_source_value_errors") == [("55",)],
        within_s=FOLLOWED_S_MAX,
    )
    folder.write("orders", {"id": 5, "note": "good"})
    for table in ("t", "begins", "lenient"):
        check_follows(session, table, folder, "orders")
    folder.write("orders", {"id": 5, "note": [1]})
    eventually(lambda: "[1]" in refused(session, "SELECT * FROM t"), within_s=FOLLOWED_S_MAX)
    folder.write("orders", {"id": 5})
    for table in ("t", "begins"):
        check_follows(session, table, folder, "orders")
    session.execute("DROP TABLE begins, lenient")


def legacy_syntax(session: psycopg.Connection[Any], folder: Folder) -> None:
    session.execute("CREATE SOURCE old FROM LINES CONNECTION files FOR TABLES (orders AS old_orders)")
    session.execute("ALTER SOURCE old ADD SUBSOURCE people AS old_people")
    for table, name in (("old_orders", "orders"), ("old_people", "people")):
        check_follows(session, table, folder, name)
    declared = rows(session, "SHOW CREATE SOURCE old")[0][1]
    assert "FOR TABLES (lines.orders AS materialize.public.old_orders, lines.people AS" in declared
    session.execute("ALTER SOURCE old DROP SUBSOURCE old_people")
    assert "old_people" not in rows(session, "SHOW CREATE SOURCE old")[0][1]
    assert sorted(rows(session, "SELECT suffix FROM mz_internal.mz_lines_sources")) == [(".jsonl",)] * 2


def statistics_and_statuses(session: psycopg.Connection[Any], folder: Folder) -> None:
    assert rows(session, "SELECT DISTINCT type FROM mz_sources WHERE name IN ('s', 'old')") == [("lines",)]
    check_comes(
        session,
        "SELECT messages_received >= 10, offset_known = offset_committed"
        " FROM mz_internal.mz_source_statistics u JOIN mz_sources s USING (id) WHERE s.name = 's'",
        [(True, True)],
    )
    away = folder.path.with_name("away")
    folder.path.rename(away)
    status = (
        "SELECT status, details->'namespaced'->>'lines' FROM mz_internal.mz_source_statuses WHERE name = 's'"
    )
    check_comes(session, status, [("stalled", f'folder "{folder.path}" does not exist')])
    away.rename(folder.path)
    check_comes(session, status, [("running", None)])


def shown(session: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return sorted(rows(session, "SELECT id, name, create_sql FROM mz_sources WHERE id LIKE 'u%'"))


def migration_is_explained(session: psycopg.Connection[Any]) -> None:
    explained = " ".join(" ".join(map(str, row)) for row in rows(session, "EXPLAIN MIGRATION"))
    explained = explained.replace("\n", " ")
    assert "CREATE SOURCE materialize.public.old" in explained
    assert "FROM LINES CONNECTION materialize.public.files" in explained
    assert "CREATE TABLE materialize.public.old_orders FROM SOURCE materialize.public.old" in explained


def migrated(session: psycopg.Connection[Any], folder: Folder) -> None:
    assert "FROM LINES CONNECTION" in rows(session, "SHOW CREATE SOURCE old")[0][1]
    assert "(REFERENCE = lines.orders)" in rows(session, "SHOW CREATE TABLE old_orders")[0][1]
    folder.write("orders", {"id": 41, "note": "after the migration"})
    for table in ("t", "old_orders"):
        check_follows(session, table, folder, "orders")
    assert "use CREATE TABLE .. FROM SOURCE instead" in refused(
        session, "CREATE SOURCE n FROM LINES CONNECTION files FOR ALL TABLES"
    )
