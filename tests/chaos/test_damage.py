"""A data directory that others have damaged: what is wrong is said, nothing is left out silently.

Method, for data files: a file of a table's state or tail is taken away or cut, then the
table is read on both engines, subscribed to and folded.  Each must name the file and say
what to do, the table next to it must go on, and when the file is back so is the table.

Method, for the metadata database: the file is damaged while no server runs; the next start
must fail with one message that names it, without a trace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from headwater.core.clock import seeded
from headwater.metadata.database import metadata_path
from tests.support.expected import check_equals_upstream, fed
from tests.support.files import states_of
from tests.support.metadata import make_newer, metadata_rows
from tests.support.server import HeadwaterServer, eventually

FOLD_S_MAX = 240.0


@pytest.fixture(scope="module")
def tables(busy_server: HeadwaterServer) -> Iterator[HeadwaterServer]:
    """Two tables of one source; `hurt` has been folded at least once."""
    server = busy_server
    server.query(
        "CREATE SOURCE d FROM LOAD GENERATOR KEY VALUE (KEYS 100, SNAPSHOT ROUNDS 1, VALUE SIZE 8, SEED 1,"
        " PARTITIONS 2, BATCH SIZE 5, TRANSACTIONAL SNAPSHOT true, TICK INTERVAL '50ms')"
        " WITH (TIMESTAMP INTERVAL '100ms')"
    )
    for name in ("hurt", "well"):
        server.query(
            f"CREATE TABLE {name} FROM SOURCE d (REFERENCE key_value) WITH (RETAIN HISTORY FOR '1h')"
        )
    id_ = server.query("SELECT id FROM mz_tables WHERE name = 'hurt'")[0][0]
    eventually(lambda: len(states_of(server.data_dir, id_)) > 1, within_s=FOLD_S_MAX)
    yield server
    server.query("DROP SOURCE d CASCADE")


def newest_file(server: HeadwaterServer, id_: str, kind: str) -> Path:
    """A file that a read of the present needs: of the newest state, or of the tail after it."""
    as_of = states_of(server.data_dir, id_)[-1]
    asked = {
        "state": "SELECT path FROM ledger_state_file WHERE collection_id = ? AND as_of = ?",
        "tail": "SELECT path FROM ledger_change_file WHERE collection_id = ? AND ts > ?",
    }
    rows = metadata_rows(server.data_dir, asked[kind], id_, as_of)
    assert rows, "no file yet"
    return server.data_dir / str(rows[0][0])


def refused(server: HeadwaterServer, sql: str, engine: str, file: Path) -> bool:
    """The statement fails with a message that names the file, and a hint."""
    with server.connect() as session:
        session.execute(f"SET read_engine = {engine}".encode())
        session.execute("SET statement_timeout = '60s'")
        with pytest.raises(psycopg.Error) as caught:
            session.execute(sql.encode()).fetchall()
    message = str(caught.value)
    assert caught.value.sqlstate == "58030", message
    assert str(file) in message
    assert "Restore the file from a backup" in message
    assert "Exception" not in message
    return True


def status_of(server: HeadwaterServer, name: str) -> tuple[str, str, str]:
    sql = f"SELECT status, error, details::text FROM mz_internal.mz_source_statuses WHERE name = '{name}'"
    status, error, details = server.query(sql)[0]
    return str(status), str(error), str(details)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "harm"), [("state", "missing"), ("tail", "missing"), ("state", "truncated")]
)
def test_a_damaged_data_file_is_named_and_hurts_no_other_table(
    tables: HeadwaterServer, kind: str, harm: str
) -> None:
    server = tables
    id_ = server.query("SELECT id FROM mz_tables WHERE name = 'hurt'")[0][0]
    with server.connect() as session:
        as_of = session.execute("SELECT mz_now()::text FROM hurt LIMIT 1").fetchall()[0][0]
    file = eventually(lambda: newest_file(server, id_, kind), within_s=FOLD_S_MAX)
    kept = file.read_bytes()
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(kept[: len(kept) // 2])
    try:
        # As of the moment of the harm, so that a fold which read the file before cannot get around it.
        for engine in ("duckdb", "spark"):
            read = "SELECT * FROM hurt" if kind == "tail" else f"SELECT * FROM hurt AS OF {as_of}"
            assert refused(server, read, engine, file)
        assert refused(server, f"SUBSCRIBE hurt AS OF {as_of}", "duckdb", file)

        def stalled() -> bool:
            status, error, details = status_of(server, "hurt")
            return status == "stalled" and str(file) in error and "Restore" in details

        eventually(stalled, within_s=FOLD_S_MAX)
        with server.connect() as session:
            check_equals_upstream(session, [fed(server.data_dir, "well")])
        assert status_of(server, "well")[0] == "running"
        assert status_of(server, "d")[0] == "running"
    finally:
        file.write_bytes(kept)
    with server.connect() as session:
        check_equals_upstream(session, [fed(server.data_dir, "hurt"), fed(server.data_dir, "well")])
    eventually(lambda: status_of(server, "hurt")[0] == "running", within_s=FOLD_S_MAX)


# The metadata database


def scribble(path: Path, at: int, count: int) -> None:
    noise = seeded(at + count).randbytes(count)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(noise)


HARMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "start": (lambda path: scribble(path, 0, 4_096), "is damaged"),
    "middle": (lambda path: scribble(path, path.stat().st_size // 2, 20_000), "is damaged"),
    "empty pages": (lambda path: os.truncate(path, path.stat().st_size // 2), "is damaged"),
    "newer": (lambda path: make_newer(path.parent, "catalog"), "was written by a newer release"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_or_newer_metadata_database_is_refused_with_its_name(
    own_server: HeadwaterServer, harm: str
) -> None:
    own_server.start()
    for number in range(30):
        own_server.query(f"CREATE TABLE t{number} (n int)")
    own_server.stop()
    path = metadata_path(own_server.data_dir)
    spoil, said = HARMS[harm]
    spoil(path)
    with pytest.raises(AssertionError, match="did not start"):
        own_server.start()
    told = own_server.log_tail()
    assert f'"{path}"' in told
    assert said in told
    assert "HINT" in told
    assert "Traceback" not in told
