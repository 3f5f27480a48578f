"""Tables that are brought from version to version: which steps are taken, and what a failed one leaves."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headwater.catalog.sqlite_store import MIGRATIONS as CATALOG
from headwater.core.errors import UserError
from headwater.metadata.migrations import Migration, Migrations
from headwater.persist.sqlite_file import MIGRATIONS as LEDGER

FIRST = Migration(1, "initial", ("CREATE TABLE t (a INTEGER) STRICT", "INSERT INTO t VALUES (1)"))
SECOND = Migration(2, "more", ("ALTER TABLE t ADD COLUMN b INTEGER", "UPDATE t SET b = a + 1"))


@pytest.mark.parametrize("migrations", [CATALOG, LEDGER], ids=lambda each: each.part)
def test_steps_are_numbered_without_gaps(migrations: Migrations) -> None:
    assert [step.version for step in migrations.steps] == list(range(1, migrations.newest + 1))


def test_each_step_is_taken_once_by_its_part() -> None:
    with sqlite3.connect(":memory:") as db:
        assert Migrations("a", (FIRST,)).applied(db) == 0
        Migrations("a", (FIRST,)).apply(db, 1)
        Migrations("b", (Migration(1, "other", ("CREATE TABLE u (a INTEGER)",)),)).apply(db, 2)
        for _ in range(2):
            Migrations("a", (FIRST, SECOND)).apply(db, 3)
        assert db.execute("SELECT * FROM t").fetchall() == [(1, 2)]
        assert db.execute("SELECT part, version, name FROM migration ORDER BY 1, 2").fetchall() == [
            ("a", 1, "initial"),
            ("a", 2, "more"),
            ("b", 1, "other"),
        ]
        with pytest.raises(UserError, match=r"it has a version 2, this release knows versions up to 1"):
            Migrations("a", (FIRST,)).refuse_newer(db, Path("x"))


def test_a_step_that_fails_leaves_the_version_before() -> None:
    broken = Migration(2, "broken", ("ALTER TABLE t ADD COLUMN b INTEGER", "UPDATE nothing SET b = 1"))
    db = sqlite3.connect(":memory:", isolation_level=None)
    Migrations("a", (FIRST,)).apply(db, 1)
    db.execute("BEGIN")
    with pytest.raises(sqlite3.OperationalError):
        Migrations("a", (FIRST, broken)).apply(db, 2)
    db.execute("ROLLBACK")
    assert Migrations("a", (FIRST, broken)).applied(db) == 1
    assert db.execute("SELECT * FROM t").fetchall() == [(1,)]
    db.close()
