"""The metadata database as a test may have it that does what the product cannot: look inside, and do harm.

The one place in the tests that knows how catalog and ledger are kept.  Tests of what they promise take one
of `METADATA` as a parameter, and a further way to keep them is a line there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.catalog.opening import open_catalog
from headwater.catalog.store import CatalogStore
from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.metadata.database import metadata_path
from headwater.persist.ledger import Ledger
from headwater.persist.opening import open_ledger

NEWER = 9999


def metadata_rows(data_dir: Path, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    """What is in there now, also while a server runs."""
    with closing(sqlite3.connect(f"file:{metadata_path(data_dir)}?mode=ro", uri=True)) as database:
        return database.execute(sql, arguments).fetchall()


def change_metadata(data_dir: Path, sql: str, *arguments: object) -> int:
    """Change rows behind the back of those who own them; how many were."""
    with closing(sqlite3.connect(metadata_path(data_dir))) as database, database:
        return database.execute(sql, arguments).rowcount


@contextmanager
def another_writes(data_dir: Path) -> Iterator[None]:
    """Within, another process is writing to the database."""
    with closing(sqlite3.connect(metadata_path(data_dir), isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def make_newer(data_dir: Path, part: str) -> None:
    """As if a later release had been there; `part` is the catalog or the ledger."""
    change_metadata(data_dir, "INSERT INTO migration VALUES (?, ?, 'of the future', 0)", part, NEWER)


@dataclass(frozen=True)
class Metadata:
    """Catalog and ledger in one place, opened as often as a test likes."""

    place: Path

    def catalog(self, clock: Clock = SYSTEM_CLOCK) -> CatalogStore:
        return open_catalog(self.place, clock)

    def ledger(self, process: str | None = None) -> Ledger:
        return open_ledger(self.place, process)

    def another_writes(self) -> Any:
        return another_writes(self.place)

    def make_newer(self, part: str) -> None:
        make_newer(self.place, part)


METADATA: dict[str, Callable[[Path], Metadata]] = {"sqlite": Metadata}
