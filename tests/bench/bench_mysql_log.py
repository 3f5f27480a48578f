"""How fast binary logs of MySQL and MariaDB are decoded, beside mysql-replication.

Method: a real server has a log of one-row transactions, and of statements that change many rows.  All of it
is read over the network, checked, and decoded to Arrow, every column of every image; mysql-replication reads
the same log and hands out the same rows as dicts.  Both are timed by what they take of a processor,
which other programs on the machine hardly change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from headwater.sources.mysql.events import is_rows
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.rows import read_rows
from headwater.sources.mysql.stream import open_stream
from headwater.sources.mysql.table_map import TableMaps
from tests.bench.figures import Figures
from tests.support.mysql import FLAVOURS, MysqlServer, running
from tests.support.mysql_log import SERVER_ID, Log, columns_of, pieces

ROWS = 20_000
UPDATES = 3
CHANGES = ROWS * (1 + UPDATES)
RATE_MIN = 60_000
TIMES_MIN = 3
TITLES = {"mysql": "MySQL 9", "mariadb": "MariaDB 10.11"}
PIECES = 8
"""How many pieces of the log are decoded at once: about what a task has."""

_ORDERS = """
    CREATE TABLE shop.orders (id bigint PRIMARY KEY, customer varchar(100), city varchar(50),
        amount decimal(12,2), at datetime(6), paid tinyint, weight double, note text)
"""
_ROW = "(%s, CONCAT('customer ', %s), 'Amsterdam', %s.25, '2024-05-06 07:08:09.123456', 1, %s.5, 'a note')"


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("Binary logs")
    yield made
    made.write()


@pytest.fixture(scope="module", params=FLAVOURS)
def server(request: pytest.FixtureRequest) -> Iterator[MysqlServer]:
    with running(request.param) as made:
        yield made


def fill(server: MysqlServer) -> None:
    """One transaction for each row; then some that change all rows."""
    with server.connect(database="shop") as session, session.cursor() as cursor:
        for number in range(ROWS):
            cursor.execute(f"INSERT INTO orders VALUES {_ROW}", (number,) * 4)
        for _ in range(UPDATES):
            cursor.execute("UPDATE orders SET amount = amount + 1")


def decoded(server: MysqlServer, log: Log, facts: list[ColumnFacts]) -> int:
    """How many changes were decoded to Arrow."""
    stream = open_stream(server.connect(), log.start, SERVER_ID)
    maps, found, waiting = TableMaps((), server.flavour), 0, []
    for piece in pieces(stream, log.start, Log(server).start):
        waiting.append(piece)
        if len(waiting) == PIECES:
            found += _decoded(maps, type(piece).concat(waiting), facts)
            waiting = []
    if waiting:
        found += _decoded(maps, type(waiting[0]).concat(waiting), facts)
    stream.close()
    return found


def _decoded(maps: TableMaps, events: Any, facts: list[ColumnFacts]) -> int:
    tables, which = maps.of(events)
    of_rows = is_rows(events.kinds)
    found = 0
    for place, told in enumerate(tables):
        numbers = np.flatnonzero(of_rows & (which == place))
        changes = read_rows(events, numbers, told, range(len(facts)))
        for tuples in (changes.came, changes.went):
            for column, known in enumerate(facts):
                changes.values(tuples, column, known)
        found += len(changes.came)
    return found


def by_replication(server: MysqlServer, log: Log) -> int:
    """How many changes mysql-replication hands out."""
    reader = BinLogStreamReader(
        connection_settings={"host": "127.0.0.1", "port": server.port, "user": "root", "passwd": ""},
        server_id=SERVER_ID + 1,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        only_tables=["orders"],
        blocking=False,
        resume_stream=True,
        auto_position=str(log.start),
        is_mariadb=server.flavour == "mariadb",
    )
    found = 0
    for event in reader:
        found += len(event.rows)
        if found == CHANGES:
            break  # MariaDB would wait for more
    reader.close()
    return found


def test_binary_log(server: MysqlServer, figures: Figures) -> None:
    server.run("CREATE DATABASE shop", _ORDERS)
    log = Log(server)
    fill(server)
    facts = columns_of(server, "shop", "orders")
    took = []
    for _ in range(3):
        began = time.process_time()
        assert decoded(server, log, facts) == CHANGES
        took.append(time.process_time() - began)
    ours_s = sorted(took)[1]
    rate = CHANGES / ours_s
    began = time.process_time()
    assert by_replication(server, log) == CHANGES
    theirs_s = time.process_time() - began
    times = theirs_s / ours_s
    figures.add(
        f"{TITLES[server.flavour]}: {CHANGES:,} changes in the log, to Arrow, beside mysql-replication",
        f"{rate:,.0f} changes/s of one core; {times:.1f} times (mysql-replication {CHANGES / theirs_s:,.0f})",
        f"{RATE_MIN:,}; {TIMES_MIN} times",
        rate >= RATE_MIN and times >= TIMES_MIN,
    )
