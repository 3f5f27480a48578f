"""A transaction: what it may contain, what it holds, what it will write.

    read        one timestamp for all reads
    write       INSERTs, committed together at one timestamp
    ddl         changes of the catalog, committed together
    single      a statement that must be alone (UPDATE, DELETE, INSERT ... SELECT)
    subscribe   one SUBSCRIBE, the only read

The first statement decides the class; a statement of another class is refused.  But ROLLBACK TO a savepoint
takes the class back and not what the client has read: so reads are remembered in every
transaction, and one that writes is refused at COMMIT if a plain table that it has read was changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.ddl import StagedDdl
from headwater.coordinator.tables import Meant, Seen, check_written_size, written_size
from headwater.coordinator.timestamps import Hold
from headwater.coordinator.variables import KeptSettings
from headwater.core.errors import UserError
from headwater.core.relation import Relation

Class = Literal["read", "write", "ddl", "single", "subscribe"]


@dataclass(frozen=True, slots=True)
class Savepoint:
    """What a block had done by then."""

    name: str
    mark: int  # what has this mark or a later one began after it
    settings: KeptSettings
    kind: Class | None
    writes: dict[str, tuple[Relation, list[pa.Table]]]
    staged: StagedDdl | None


@dataclass(slots=True)
class Transaction:
    """One block, explicit (BEGIN) or implicit (several statements in one message)."""

    explicit: bool
    began_at_ms: int = 0
    kind: Class | None = None
    failed: bool = False
    hold: Hold | None = None
    catalog: CatalogState | None = None  # of the first read: names mean the same to the end
    staged: StagedDdl | None = None
    writes: dict[str, tuple[Relation, list[pa.Table]]] = field(default_factory=dict)
    size: int = 0  # of all that is written
    meant: dict[str, Meant] = field(default_factory=dict)  # by table: what it was when it was written to
    seen: dict[str, Seen] = field(default_factory=dict)  # by collection: plain tables it has read
    savepoints: list[Savepoint] = field(default_factory=list)
    mark: int = 0  # of cursors and portals that begin now: which savepoints are older than they
    statement_count: int = 0

    def enter(self, kind: Class) -> None:
        """A statement of this class comes next."""
        if self.kind is None:
            self.kind = kind
            return
        if self.kind == kind and kind not in ("single", "subscribe"):
            return
        raise _refusal(self.kind, kind)

    def add_write(self, table: Item, name: str, rows: pa.Table) -> None:
        """Rows that come and go at COMMIT."""
        size = self.size + written_size(rows)
        check_written_size(size, table.name)
        self.size = size
        self.meant.setdefault(table.id, Meant(name, table.redefined_at))
        self.writes.setdefault(table.id, (table.relation, []))[1].append(rows)

    def saw(self, tables: Mapping[str, Seen]) -> None:
        """It has read these; of a table that it has read before the first time counts."""
        self.seen = {**tables, **self.seen}

    def save(self, name: str, settings: KeptSettings) -> None:
        """SAVEPOINT."""
        self.mark += 1
        self._keep(name, self.mark, settings)

    def _keep(self, name: str, mark: int, settings: KeptSettings) -> None:
        writes = {id_: (relation, list(tables)) for id_, (relation, tables) in self.writes.items()}
        staged = None if self.staged is None else self.staged.copy()
        self.savepoints.append(Savepoint(name, mark, settings, self.kind, writes, staged))

    def go_back(self, name: str) -> Savepoint:
        """ROLLBACK TO: as it was then; the savepoint stays."""
        kept = self.forget_after(name)
        self.mark += 1
        self.kind, self.failed = kept.kind, False
        self.writes, self.staged = kept.writes, kept.staged
        self.size = sum(written_size(rows) for _, tables in self.writes.values() for rows in tables)
        self._keep(name, kept.mark, kept.settings)
        return kept

    def forget_after(self, name: str) -> Savepoint:
        """RELEASE: forget the newest savepoint of this name and all after it."""
        for index in reversed(range(len(self.savepoints))):
            if self.savepoints[index].name == name:
                found = self.savepoints[index]
                del self.savepoints[index:]
                return found
        raise UserError(f'savepoint "{name}" does not exist', "3B001")

    def fail(self) -> None:
        """An error inside of it; what is held is needed only if a savepoint can bring it back."""
        self.failed = True
        if not self.savepoints:
            self.release()

    def release(self) -> None:
        if self.hold is not None:
            self.hold.release()
            self.hold = self.catalog = None


def _refusal(current: Class, wanted: Class) -> UserError:
    if current == "single" or wanted == "single":
        return UserError(
            "this transaction can only execute a single statement",
            "25000",
            hint="COMMIT, then run it by itself.",
        )
    if current == "ddl" or wanted == "ddl":
        return UserError(
            "transactions which modify objects are restricted to just modifying objects",
            "25000",
            hint="COMMIT first; reads and writes go into a transaction of their own.",
        )
    if "subscribe" in (current, wanted):
        return UserError("SUBSCRIBE in transactions must be the only read statement", "25000")
    if current == "read":
        return UserError("transaction in read-only mode", "25000", hint="COMMIT, then write in another one.")
    return UserError("transaction in write-only mode", "25000", hint="COMMIT, then read in another one.")
