"""Clients that keep at it in threads of their own, upstream and here, and are asked in the end.

    Repeated   runs `turn` until its block ends; what it met is raised there
    Writer     transactions upstream
    Reader     one query here, again and again

A block ends with what a thread has met, so nothing that goes wrong beside a test is lost.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import psycopg

from tests.support.database import Database
from tests.support.server import HeadwaterServer, eventually

END_S_MAX = 120.0
TURN_S_MAX = 240.0


class Repeated(ABC):
    """The same thing until told to stop, over one connection; `turns` are those that are complete."""

    pace_s = 0.0  # a client's own pace between two turns

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.turns = 0
        self._stop = threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    @abstractmethod
    def turn(self) -> None:
        """Once; may raise, which ends it."""

    def _run(self) -> None:
        try:
            while not self._stop.wait(self.pace_s):
                self.turn()
                self.turns += 1
        except BaseException as error:
            self.error = error

    def check(self) -> None:
        """Raise what ended it, if anything did."""
        if self.error is not None:
            raise self.error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(END_S_MAX)
        ended = not self._thread.is_alive()
        self.connection.close()
        self.check()
        assert ended, f"{type(self).__name__} does not end"


def wait_turns(clients: Iterable[Repeated], count: int = 2) -> None:
    """Until each has begun and ended a turn from now on: of two turns the second begins after this."""
    wanted = {client: client.turns + count for client in clients}

    def turned() -> bool:
        done = all(client.turns >= turns for client, turns in wanted.items())
        return done or any(client.error is not None for client in wanted)

    eventually(turned, within_s=TURN_S_MAX)
    for client in wanted:
        client.check()


class Writer(Repeated):
    """Transactions upstream, over a connection of their own."""

    def __init__(self, database: Database) -> None:
        super().__init__(psycopg.connect(database.server.dsn(database.name), autocommit=True))


class Reader(Repeated):
    """Runs a query; keeps the shape and the number of rows of every answer."""

    def __init__(self, server: HeadwaterServer, schema: str, query: str) -> None:
        super().__init__(server.connect())
        self.connection.execute(f"SET search_path = {schema}".encode())
        self._query = query.encode()
        self.shapes: list[tuple[str, ...]] = []
        self.counts: list[int] = []

    def turn(self) -> None:
        cursor = self.connection.execute(self._query)
        assert cursor.description is not None
        self.shapes.append(tuple(column.name for column in cursor.description))
        self.counts.append(len(cursor.fetchall()))
