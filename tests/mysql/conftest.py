"""The servers that tests of this folder share, each started once; each test has a database of its own there.

mysql, mariadb, upstream    stay as they are; a database `unlogged` is left out of their logs
mortal_upstream             may be killed, restarted and reset
mortal_server               one of ours that may be killed, or told where to die
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kinds import install
from tests.mysql.database import Database
from tests.support.dying import DyingServer
from tests.support.mysql import FLAVOURS, MysqlServer, running

UNLOGGED = "unlogged"


@pytest.fixture(scope="session")
def mysql() -> Iterator[MysqlServer]:
    with running("mysql", f"--binlog-ignore-db={UNLOGGED}") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MysqlServer]:
    with running("mariadb", f"--binlog-ignore-db={UNLOGGED}") as server:
        yield server


@pytest.fixture(scope="session", params=FLAVOURS)
def upstream(request: pytest.FixtureRequest) -> MysqlServer:
    """Both, one after the other."""
    server: MysqlServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def database(upstream: MysqlServer) -> Iterator[Database]:
    """A new database, and a user who may read it and the binary log and nothing else."""
    made = Database(upstream)
    yield made
    made.close()


@pytest.fixture
def without_names(upstream: MysqlServer) -> Iterator[None]:
    """Its log has no names of columns for a while."""
    upstream.run("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    yield
    upstream.run("SET GLOBAL binlog_row_metadata = 'FULL'")


@pytest.fixture(scope="session")
def mortal_mysql() -> Iterator[MysqlServer]:
    with running("mysql") as server:
        yield server


@pytest.fixture(scope="session")
def mortal_mariadb() -> Iterator[MysqlServer]:
    with running("mariadb") as server:
        yield server


@pytest.fixture(scope="session", params=FLAVOURS)
def mortal_upstream(request: pytest.FixtureRequest) -> MysqlServer:
    """Both, one after the other, which may be killed."""
    server: MysqlServer = request.getfixturevalue(f"mortal_{request.param}")
    return server


@pytest.fixture(scope="session")
def mortal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingServer]:
    """A server that may be killed, or told where to die; its decoders have defects (tests/kinds/planted)."""
    planted = install(tmp_path_factory.mktemp("site") / "packages", "tests.kinds.planted")
    made = DyingServer(tmp_path_factory.mktemp("mortal"), planted)
    try:
        made.start()
        yield made
    finally:
        made.stop()
