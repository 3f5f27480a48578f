"""Kernels are stopped by their own statement, in whichever thread they run, and by no other.

Method: cursors of one DuckDB with two threads, as the server has it; a kernel over one vector takes minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import duckdb
import pytest

from headwater.sql.select.kernels import Stop, register_duckdb, told, user_error_of

# One vector of 2,048 rows, which takes half a minute.
LONG = "SELECT max(hw_initcap(repeat('Äb c', 2000 + x::INTEGER))) FROM range(2048) t (x)"
SHORT = "SELECT count(hw_initcap(repeat('äb', 2000 + x::INTEGER))) FROM range(40) t (x)"


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 2}) as connection:
        register_duckdb(connection)
        yield connection


class Running:
    """A statement in a thread."""

    def __init__(self, database: duckdb.DuckDBPyConnection, sql: str) -> None:
        self.stop = Stop()
        self.rows: list[tuple[object, ...]] = []
        self.error = ""
        self.begun = threading.Event()
        self._cursor = database.cursor()
        self._sql = sql
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        self.begun.set()
        try:
            self.rows = self._cursor.execute(self.stop.told(self._sql)).fetchall()
        except duckdb.Error as error:
            self.error = str(error)
        finally:
            self.stop.close()


def test_a_kernel_in_the_middle_of_a_vector_is_stopped(database: duckdb.DuckDBPyConnection) -> None:
    running = Running(database, LONG)
    running.thread.join(0.5)
    assert running.thread.is_alive()
    began_s = time.monotonic()
    running.stop.stop()
    running.thread.join(60)
    assert time.monotonic() - began_s < 5
    found = user_error_of(running.error)
    assert found is not None
    assert found.sqlstate == "57014"


def test_nobody_stops_anothers_kernel(database: duckdb.DuckDBPyConnection) -> None:
    one, other = Running(database, LONG), Running(database, SHORT)
    one.begun.wait(10)
    one.stop.stop()
    for running in (one, other):
        running.thread.join(60)
    assert one.error
    assert (other.error, other.rows) == ("", [(40,)])


def test_a_statement_that_was_stopped_before_it_began_does_not_begin(
    database: duckdb.DuckDBPyConnection,
) -> None:
    stop = Stop()
    stop.stop()
    with pytest.raises(duckdb.Error):
        database.cursor().execute(stop.told(LONG)).fetchall()
    stop.close()


def test_only_calls_are_told_whose_they_are() -> None:
    sql = (
        """SELECT hw_upper(c0), 'it''s hw_upper(c0)', "hw_upper('" FROM t WHERE hw_like(hw_lower(c1), '%')"""
    )
    assert told(sql, 17) == (
        """SELECT hw_upper(17, c0), 'it''s hw_upper(c0)', "hw_upper('" FROM t"""
        """ WHERE hw_like(17, hw_lower(17, c1), '%')"""
    )
    assert told("SELECT 1", 17) == "SELECT 1"
