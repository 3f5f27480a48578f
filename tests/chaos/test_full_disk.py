"""A disk that is full, and one that cannot be written: said, waited out, nothing lost.

Method: the data directory lies on a small file system of its own (tmpfs, so the test
needs root).  A file fills it while a source ticks and a client writes; everything that
needs space must say so, what needs none must work, and when the file is removed all goes
on from where it was.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.expected import check_equals_upstream, fed
from tests.support.server import QUICK_SPARK, HeadwaterServer, eventually

DISK_BYTES = 48 * 1024 * 1024
NOTICE_S_MAX = 240.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of DISK_BYTES."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all the space there is."""
    filler = place / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return filler


def write_on(session: psycopg.Connection[Any]) -> None:
    """Until there is no room; the ledger's last pages may have some for a few rows."""
    for number in range(2, 200):
        session.execute(f"INSERT INTO book VALUES ({number})".encode())


def status_of(server: HeadwaterServer) -> tuple[str, str, str]:
    status, error, details = server.query(
        "SELECT status, error, details::text FROM mz_internal.mz_source_statuses WHERE name = 'counter'"
    )[0]
    return str(status), str(error), str(details)


@pytest.mark.timeout(900)
def test_a_full_disk_stalls_what_needs_space_until_there_is_some(small_disk: Path) -> None:
    server = HeadwaterServer(small_disk / "data", spark_conf=QUICK_SPARK)
    server.log_path = small_disk.parent / "server.log"
    try:
        server.start()
        server.query("CREATE SOURCE counter FROM LOAD GENERATOR COUNTER (MAX CARDINALITY 20)")
        server.query("CREATE TABLE numbers FROM SOURCE counter (REFERENCE counter)")
        server.query("CREATE TABLE book (n int)")
        server.query("INSERT INTO book VALUES (1)")
        with server.connect() as session:
            session.execute("SET statement_timeout = '240s'")
            before = check_equals_upstream(session, [fed(server.data_dir, "numbers")])
            filler = fill(small_disk)
            with pytest.raises(psycopg.Error) as caught:
                write_on(session)
            assert caught.value.sqlstate == "58030", str(caught.value)
            assert "space" in str(caught.value)
            assert "Exception" not in str(caught.value)
            eventually(lambda: status_of(server)[0] == "stalled", within_s=NOTICE_S_MAX)
            _, error, details = status_of(server)
            assert "no space left" in error.lower() or "disk is full" in error.lower(), error
            assert "space" in details
            # The session has gone on, and what was there can be read.
            kept = session.execute("SELECT count(*), max(n) FROM book").fetchall()[0]
            assert kept[0] == kept[1] >= 1
            session.execute("SET transaction_isolation = 'serializable'")
            check_equals_upstream(session, [fed(server.data_dir, "numbers")])

            os.unlink(filler)
            eventually(lambda: status_of(server)[0] == "running", within_s=NOTICE_S_MAX)
            session.execute(f"INSERT INTO book VALUES ({kept[0] + 1})".encode())
            again = session.execute("SELECT count(*), max(n) FROM book").fetchall()[0]
            assert again == (kept[0] + 1, kept[0] + 1)
            session.execute("SET transaction_isolation = 'strict serializable'")
            after = check_equals_upstream(session, [fed(server.data_dir, "numbers")])
            assert after["counter"] > before["counter"]
    except BaseException:
        print(server.log_tail(120))
        raise
    finally:
        server.stop()


def test_a_directory_that_cannot_be_written_is_refused_at_the_start(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    server = HeadwaterServer(small_disk / "data", spark_conf=QUICK_SPARK)
    server.log_path = small_disk.parent / "server.log"
    server.data_dir = small_disk
    try:
        with pytest.raises(AssertionError, match="did not start"):
            server.start()
        told = server.log_tail()
        assert str(small_disk) in told
        assert "ERROR:" in told
        assert "Traceback" not in told
    finally:
        server.stop()
