"""Versions of tables in a metadata database, brought up to date step by step.

A part of the database (the catalog, the ledger) has a package of files `NNNN_title.py`, each with
`STATEMENTS`: they take its tables from version NNNN - 1 to NNNN.  A file is never edited after a
release; what was wrong in it is corrected by the next one.

Not here: what the tables are, and whose transaction it is.
"""

from __future__ import annotations

import importlib
import pkgutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from headwater.core.errors import UserError


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from version - 1 to version."""

    version: int
    name: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Migrations:
    """All versions of one part that this release knows, in order."""

    part: str
    steps: tuple[Migration, ...]

    @property
    def newest(self) -> int:
        return self.steps[-1].version

    def applied(self, db: sqlite3.Connection) -> int:
        """The version of the part's tables; 0: there are none yet."""
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
            return 0
        found = db.execute("SELECT max(version) FROM migration WHERE part = ?", (self.part,)).fetchone()[0]
        return int(found or 0)

    def refuse_newer(self, db: sqlite3.Connection, path: Path) -> None:
        """A newer release may have put things there that this one would not see, or take for others."""
        version = self.applied(db)
        if version > self.newest:
            raise UserError(
                f'"{path}" was written by a newer release: it has {self.part} version {version},'
                f" this release knows versions up to {self.newest}",
                "58030",
                hint="Start the newer release again, or use another --data-dir.",
            )

    def apply(self, db: sqlite3.Connection, now_ms: int) -> None:
        """Take the steps that are left, in a transaction of the caller's."""
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (part TEXT NOT NULL, version INTEGER NOT NULL,"
            " name TEXT NOT NULL, applied_at_ms INTEGER NOT NULL, PRIMARY KEY (part, version)) STRICT"
        )
        applied = self.applied(db)
        for step in self.steps:
            if step.version > applied:
                for statement in step.statements:
                    db.execute(statement)
                db.execute(
                    "INSERT INTO migration VALUES (?, ?, ?, ?)", (self.part, step.version, step.name, now_ms)
                )


def load_migrations(part: str, package: ModuleType) -> Migrations:
    """What the files of a package say."""
    steps = []
    for module in pkgutil.iter_modules(package.__path__):
        number, _, title = module.name.partition("_")
        statements = importlib.import_module(f"{package.__name__}.{module.name}").STATEMENTS
        steps.append(Migration(int(number), title, tuple(statements)))
    return Migrations(part, tuple(sorted(steps, key=lambda step: step.version)))
