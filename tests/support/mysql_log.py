"""Reads the binary log of a test's server from where it was, and puts rows together out of it.

log = Log(server)                 from here on
server.run("INSERT …")
log.read()                        Read: all that has been committed since, as events
read.changes("shop", "orders")    of a table: rows that came and went, column by column, in order
selected(server, "shop", "orders", …)    what SELECT gives
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headwater.sources.mysql.events import Events, is_rows
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.gtid import GtidPosition, GtidSet, parse_gtids
from headwater.sources.mysql.rows import RowChanges, Tuples, read_rows
from headwater.sources.mysql.stream import BinlogStream, open_stream
from headwater.sources.mysql.table_map import TableMap, TableMaps
from headwater.sources.mysql.transactions import begun
from tests.support.mysql import MysqlServer

WAIT_S_MAX = 60
SERVER_ID = 777_000
_COLUMNS = """
    SELECT column_name, data_type, column_type, is_nullable, character_maximum_length, numeric_precision,
        numeric_scale, datetime_precision, character_set_name, collation_name
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""


def executed(server: MysqlServer) -> GtidSet | GtidPosition:
    """All transactions that are in the server's log."""
    name = "gtid_executed" if server.flavour == "mysql" else "gtid_binlog_pos"
    return parse_gtids(server.flavour, str(server.run(f"SELECT @@{name}")[0][0]))


def columns_of(server: MysqlServer, schema: str, table: str) -> list[ColumnFacts]:
    """Of a table, in their order."""
    with closing(server.connect()) as session, session.cursor() as cursor:
        cursor.execute(_COLUMNS, (schema, table))
        return [
            ColumnFacts(name, data, whole, nullable == "YES", length, *rest)
            for name, data, whole, nullable, length, *rest in cursor.fetchall()
        ]


def pieces(stream: BinlogStream, after: Any, until: Any) -> Iterator[Events]:
    """What comes until all these transactions have begun, and then until no more comes."""
    deadline = time.monotonic() + WAIT_S_MAX
    there = after
    while True:
        events = stream.read(0.1)
        if events is None:
            if until <= there:
                return
            assert time.monotonic() < deadline, f"only {there} of {until} came"
            continue
        found = begun(events)
        there = there.with_gtids(found.gtid(place) for place in range(len(found.at)))
        yield events


class Log:
    """A place in a server's log."""

    def __init__(self, server: MysqlServer) -> None:
        self._server = server
        self.start = executed(server)

    def read(self, **options: Any) -> Read:
        """All that has come behind it; `options` of the connection."""
        end = executed(self._server)
        stream = open_stream(self._server.connect(**options), self.start, SERVER_ID)
        try:
            events = Events.concat(pieces(stream, self.start, end))
        finally:
            stream.close()
        return Read(self._server, events)


@dataclass
class Read:
    """Events of a server."""

    server: MysqlServer
    events: Events

    @cached_property
    def _maps(self) -> tuple[list[TableMap], np.ndarray]:
        maps, which = TableMaps((), self.server.flavour).of(self.events)
        return list(maps), which

    def row_changes(self, schema: str, table: str) -> list[RowChanges]:
        """By table map."""
        maps, which = self._maps
        of_rows = is_rows(self.events.kinds)
        return [
            read_rows(self.events, np.flatnonzero(of_rows & (which == place)), told, range(len(told.columns)))
            for place, told in enumerate(maps)
            if (told.schema, told.name) == (schema, table)
        ]

    def rows(
        self, schema: str, table: str, texts: tuple[str, ...] = ()
    ) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Rows that came and rows that went, as Python has them; a value that is odd as its text."""
        facts = columns_of(self.server, schema, table)
        (changes,) = self.row_changes(schema, table)
        return (
            rows_of(changes, changes.came, facts, texts),
            rows_of(changes, changes.went, facts, texts),
        )

    def replayed(self, schema: str, table: str) -> list[tuple[Any, ...]]:
        """The rows that are left, in the order of their first columns, which tell them apart.

        Each that goes must be there as it goes, and none may come that is there.
        """
        facts = columns_of(self.server, schema, table)
        rows: dict[Any, tuple[Any, ...]] = {}
        for changes in self.row_changes(schema, table):
            steps = [
                (change, side, row)
                for side, tuples in enumerate((changes.went, changes.came))
                for change, row in zip(tuples.change.tolist(), rows_of(changes, tuples, facts), strict=True)
            ]
            for _, comes, row in sorted(steps, key=lambda step: step[:2]):
                if comes:
                    assert row[0] not in rows
                    rows[row[0]] = row
                else:
                    assert rows.pop(row[0]) == row
        return [rows[key] for key in sorted(rows)]


def rows_of(
    changes: RowChanges, tuples: Tuples, facts: list[ColumnFacts], texts: tuple[str, ...] = ()
) -> list[tuple[Any, ...]]:
    """Rows as Python has them."""
    columns = []
    for place, column in enumerate(facts):
        read = changes.texts if column.name in texts else changes.values
        array, odd = read(tuples, place, column)
        array.validate(full=True)
        assert len(array) == len(tuples)
        columns.append([odd.get(row, value) for row, value in enumerate(array.to_pylist())])
    return list(zip(*columns, strict=True))
