"""Nothing that a running server writes can be read by another user of the machine.

Method: the shared server makes rows in every way it has: a source's table by Spark, a plain table, a
secret; then every file and folder below its data directory is looked at.
"""

from __future__ import annotations

import stat
from pathlib import Path

from tests.support.server import HeadwaterServer, eventually


def test_every_file_of_a_running_server_is_its_users_alone(server: HeadwaterServer) -> None:
    server.query("CREATE SCHEMA private_files")
    server.query("CREATE SOURCE private_files.s FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5)")
    server.query("CREATE TABLE private_files.t FROM SOURCE private_files.s")
    server.query("CREATE TABLE private_files.plain (a int)")
    server.query("INSERT INTO private_files.plain VALUES (1)")
    server.query("CREATE SECRET private_files.word AS 'word'")
    eventually(lambda: server.query("SELECT count(*) FROM private_files.t") == [(5,)])
    written = [server.data_dir, *server.data_dir.rglob("*")]
    assert len(written) > 10
    assert [path for path in written if _mode(path) & 0o077] == []
    server.query("DROP SCHEMA private_files CASCADE")


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:  # swept meanwhile
        return 0
