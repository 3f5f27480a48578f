"""Somebody who writes transactions over three tables all the time."""

from __future__ import annotations

import threading
from itertools import count

import psycopg

from tests.support.database import Database


class Writer(threading.Thread):
    """Transactions over three tables, always with the same sum, until told to stop."""

    def __init__(self, database: Database) -> None:
        super().__init__(daemon=True)
        self._dsn = database.server.dsn(database.name)
        self._stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self._dsn) as connection:
                for number in count(1):
                    if self._stopping.wait(0.002):
                        return
                    for table in "abc":
                        connection.execute(f"INSERT INTO {table} VALUES (%s, %s)", (number, number % 7))
                        connection.execute(f"UPDATE {table} SET n = n + 1 WHERE id = %s", (number // 2,))
                        connection.execute(f"DELETE FROM {table} WHERE id = %s", (number - 500,))
                    connection.commit()
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        assert self.failure is None, self.failure


THREE = tuple(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)" for name in "abc")
