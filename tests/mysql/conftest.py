"""One MySQL and one MariaDB for all tests of this folder; each test has a database of its own in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mysql.database import Database
from tests.support.mysql import FLAVOURS, MysqlServer, running


@pytest.fixture(scope="session")
def mysql() -> Iterator[MysqlServer]:
    with running("mysql") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MysqlServer]:
    with running("mariadb") as server:
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


@pytest.fixture(scope="module", params=FLAVOURS)
def mortal_upstream(request: pytest.FixtureRequest) -> Iterator[MysqlServer]:
    """Both, one after the other, which may be killed."""
    with running(request.param) as server:
        yield server
