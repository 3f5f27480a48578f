"""The one reader of a source, on a real PostgreSQL without Spark: what it keeps, when it must not go on.

Method: a reader is opened and driven as a source's thread drives it: probe, look, plan_read.  Its upstream
waits for a standby that is not there, is put back to an earlier copy of itself, or the thread that
receives is made to fail.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.sources.contract import Export
from headwater.sources.postgres.frontier import LsnFrontier, lsn_text
from headwater.sources.postgres.inspect import references
from headwater.sources.postgres.reader import PostgresReader
from headwater.sources.postgres.slot import drop_slot
from headwater.sources.postgres.spool import Spool
from tests.support.database import Database
from tests.support.faulty import Faulty, committing, faulty, waiting_for_a_standby
from tests.support.postgres import PostgresServer, running
from tests.support.server import eventually

NOBODY = b""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """An upstream that may be stopped and put back."""
    with running() as made:
        yield made


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Faulty]:
    with faulty(
        postgres, "CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)"
    ) as made:
        yield made


def secrets(_: str) -> bytes:
    return NOBODY


def options_of(database: Database) -> dict[str, Any]:
    system_id, timeline = database.connection.execute(
        "SELECT system_identifier::text, timeline_id FROM pg_control_system(), pg_control_checkpoint()"
    ).fetchone() or ("", 0)
    return {
        "connection": database.options(),
        "publication": "p",
        "slot": f"slot_{database.name}",
        "identity": {"system_id": system_id, "timeline": timeline, "recovering": False},
    }


class Driven:
    """A reader, and where its source stands."""

    def __init__(self, options: dict[str, Any], folder: Path, stands_at: LsnFrontier | None = None) -> None:
        self.reader = PostgresReader(options, secrets, stands_at, folder, lambda what, hint: False)
        start = self.reader.start if stands_at is None else stands_at
        assert isinstance(start, LsnFrontier)
        self.frontier = start

    def tick(self) -> int:
        """Read what there is; how many transactions the source has read by that."""
        end = self.reader.look((), {}, self.reader.probe(0)).end
        if end <= self.frontier:
            return 0
        reached, _ = self.reader.plan_read(self.frontier, end, (), {}, 1)
        before = self.frontier.last
        # As the ledger keeps it.
        self.frontier = LsnFrontier.from_json(reached.to_json())
        self.reader.acknowledge(self.frontier)
        return int(self.frontier.last != before)

    def read_one(self) -> None:
        """Wait until another transaction has been read."""
        eventually(self.tick)


@contextmanager
def driven(database: Database, folder: Path, stands_at: LsnFrontier | None = None) -> Iterator[Driven]:
    made = Driven(options_of(database), folder, stands_at)
    try:
        yield made
    finally:
        made.reader.close()


def failure_of(driven: Driven) -> HeadwaterError:
    """Wait until the reader says that it cannot go on."""

    found: list[HeadwaterError] = []

    def failing() -> bool:
        try:
            driven.reader.probe(0)
        except HeadwaterError as error:
            found.append(error)
        return bool(found)

    eventually(failing)
    return found[0]


# Commits that do not show


def export_of(database: Database, name: str) -> Export:
    options = options_of(database)
    found = next(r for r in references(options, secrets, None) if r.name == name)
    return Export(
        "u1", found.path(), found.relation, found.relation.column_names(), found.discipline, (), found.pinned
    )


def test_nothing_is_read_before_it_shows(database: Faulty, tmp_path: Path) -> None:
    with driven(database, tmp_path) as source:
        database.run("INSERT INTO a VALUES (0)")
        source.read_one()
        with waiting_for_a_standby(database) as go_on:
            with committing(database, "INSERT INTO a VALUES (1)"):
                told = eventually(lambda: source.tick() == 0 and source.reader.waiting)
                assert told
                assert "has committed and does not show yet" in told[0]
                # Nor what has come after it and shows.
                database.run("INSERT INTO a VALUES (2)")
                spool = source.reader._spool
                assert spool is not None
                eventually(lambda: len(spool.ahead(2**63)[0]) == 2)
                assert source.tick() == 0
                go_on()
            source.read_one()
        eventually(lambda: not source.tick() and source.reader.waiting is None)
    drop_slot(options_of(database), secrets)


# An upstream that went back


def test_an_upstream_whose_log_ends_before_what_was_read_is_refused(
    postgres: PostgresServer, database: Faulty, tmp_path: Path
) -> None:
    with driven(database, tmp_path) as source:
        pass  # the slot is there
    postgres.halt()
    copy = postgres.copy()
    postgres.resume()
    database.again()
    with driven(database, tmp_path, source.frontier) as later:
        database.run("INSERT INTO a VALUES (1)", "SELECT pg_switch_wal()", "INSERT INTO a VALUES (2)")
        later.read_one()
        stands_at = later.frontier
    postgres.halt()
    postgres.put_back(copy)
    postgres.resume()
    database.again()
    with pytest.raises(DefiniteError, match=r"earlier copy of itself.*the log ends at .* and was read to"):
        Driven(options_of(database), tmp_path, stands_at)
    # By the time we come back it may have written more than there was.
    while database.value(f"SELECT pg_current_wal_lsn() < '{stands_at}'"):
        database.run("INSERT INTO a SELECT coalesce(max(id), 0) + 1 FROM a", "SELECT pg_switch_wal()")
    database.run("INSERT INTO a VALUES (-1)")
    with driven(database, tmp_path, stands_at) as after:
        assert stands_at.last is not None
        error = failure_of(after)
        assert isinstance(error, DefiniteError)
        assert f"transaction {stands_at.last.xid} is not at" in error.message
    drop_slot(options_of(database), secrets)


def test_what_was_read_and_comes_again_is_left_out(
    postgres: PostgresServer, database: Faulty, tmp_path: Path
) -> None:
    """A slot's position is written now and then only, so that after a crash it is an earlier one."""
    with driven(database, tmp_path) as source:
        database.run("CHECKPOINT", "INSERT INTO a VALUES (1)")
        source.read_one()
        stands_at = source.frontier
        postgres.kill()
    postgres.resume()
    database.again()
    database.run("INSERT INTO a VALUES (2)")
    assert stands_at.last is not None
    at = lsn_text(stands_at.last.lsn)
    assert database.value(f"SELECT max(confirmed_flush_lsn) <= '{at}' FROM pg_replication_slots")
    with driven(database, tmp_path, stands_at) as source:
        source.read_one()
        assert source.frontier.last is not None
        assert source.frontier.last.xid > stands_at.last.xid
    drop_slot(options_of(database), secrets)


# The thread


def test_whatever_ends_the_receiving_thread_is_said(
    database: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Spool, message: bytes) -> int | None:
        raise MemoryError("no room")

    with driven(database, tmp_path) as source:
        monkeypatch.setattr(Spool, "add", failing)
        database.run("INSERT INTO a VALUES (1)")
        error = failure_of(source)
        assert isinstance(error, TransientError)
        assert "stream ended prematurely: internal: MemoryError: no room" in str(error)
    drop_slot(options_of(database), secrets)


def test_a_stream_is_received_over_a_socket_with_a_high_number(database: Faulty, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    opened = [os.dup(0) for _ in range(1100)]
    try:
        with driven(database, tmp_path) as source:
            database.run("INSERT INTO a VALUES (1)")
            source.read_one()
        drop_slot(options_of(database), secrets)
    finally:
        for number in opened:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
