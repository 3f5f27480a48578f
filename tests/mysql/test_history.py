"""A server whose log was thrown away is told from the one that was read, though it counts as far again.

Method: servers are looked at, reset, given as many transactions, and looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from headwater.core.errors import DefiniteError
from headwater.sources.mysql.frontier import GtidFrontier
from headwater.sources.mysql.gtid import parse_gtids
from headwater.sources.mysql.history import History
from headwater.sources.mysql.server import server_facts
from headwater.sources.mysql.stream import open_stream
from tests.support.mysql import MysqlServer
from tests.support.mysql_log import SERVER_ID
from tests.support.server import eventually

FILLED = tuple(f"INSERT INTO d.t VALUES ({number})" for number in range(5))
AGAIN = "binlog has another transaction .* than was read: its binary log was thrown away"


def reset(server: MysqlServer) -> None:
    server.run("RESET MASTER" if server.flavour == "mariadb" else "RESET BINARY LOGS AND GTIDS")


def history(server: MysqlServer) -> tuple[History, GtidFrontier]:
    """What is to be known of a server, and where whoever begins now stands."""
    with closing(server.connect()) as session:
        facts = server_facts(session)
    made = History(lambda after: open_stream(server.connect(), after, SERVER_ID), facts)
    return made, GtidFrontier(parse_gtids(facts.flavour, facts.executed), made.newest())


def purge(server: MysqlServer) -> None:
    server.run("FLUSH LOGS")
    [*_, (newest, *_)] = server.run("SHOW BINARY LOGS")
    server.run(f"PURGE BINARY LOGS TO '{newest}'")


@pytest.fixture
def forgetful(mortal_upstream: MysqlServer) -> Iterator[MysqlServer]:
    reset(mortal_upstream)  # or much is to be done until it counts as far again
    mortal_upstream.run("CREATE DATABASE d", "CREATE TABLE d.t (a int)")
    yield mortal_upstream
    mortal_upstream.run("DROP DATABASE d")


@pytest.mark.parametrize("purged", [False, True], ids=["there", "purged"])
def test_a_server_is_known_again_until_its_log_is_thrown_away(forgetful: MysqlServer, purged: bool) -> None:
    forgetful.run(*FILLED)
    if purged:
        purge(forgetful)
    _, begun = history(forgetful)
    assert begun.last is not None
    again, _ = history(forgetful)
    again.check(begun)
    forgetful.run(*FILLED)
    again, _ = history(forgetful)
    again.check(begun)
    reset(forgetful)
    with pytest.raises(DefiniteError, match="is beyond required frontier"):
        history(forgetful)[0].check(begun)
    while True:
        forgetful.run(*FILLED)
        again, now = history(forgetful)
        if begun <= now:
            break
    with pytest.raises(DefiniteError, match=AGAIN):
        again.check(begun)


def test_what_a_server_has_thrown_away_since_is_no_reason_to_stop(forgetful: MysqlServer) -> None:
    forgetful.run(*FILLED)
    _, begun = history(forgetful)
    purge(forgetful)
    again, _ = history(forgetful)
    again.check(begun)
    forgetful.run(*FILLED)
    purge(forgetful)
    if forgetful.flavour == "mysql":  # MariaDB says so when its log is asked for
        again, _ = history(forgetful)
        with pytest.raises(DefiniteError, match="does not have the binlog available"):
            again.check(begun)


def test_a_server_without_a_transaction_is_known_by_its_log(forgetful: MysqlServer) -> None:
    reset(forgetful)
    again, begun = history(forgetful)
    assert begun.last is not None
    assert begun.last.gtid == ""
    again.check(begun)
    forgetful.run("FLUSH BINARY LOGS")
    history(forgetful)[0].check(begun)
    forgetful.run(*FILLED)
    history(forgetful)[0].check(begun)
    later = f"SELECT UNIX_TIMESTAMP() * 1000000 > {begun.last.time_us}"
    eventually(lambda: forgetful.run(later) == [(1,)])
    reset(forgetful)
    forgetful.run(*FILLED)
    with pytest.raises(DefiniteError, match="thrown away before anything of it was read"):
        history(forgetful)[0].check(begun)
