"""Changes: what a tick writes, and what a read of a table at a timestamp is made of.

    log    change files, one or more per tick:  the table's columns plus
             _op        '+' a row (insert or upsert), '-' a row gone,
                        '~2,5' an upsert that leaves columns 2 and 5 as they were (keyed only)
                        '~2@5' the same for column 2; column 5 is that of the row which the
                               same change took away: the '-' whose sequence is one less
             _tick      the tick's timestamp: changes of one tick come after those of all before it
             _sequence  order inside the tick
    state  files with the table's columns alone, the rows as of one timestamp

Tables from sources have one column more in both, _flaws: which values of a row could not be stored
(flaws.py).  Tables whose keys may be of that sort have another, _key: the bytes that could not become a key.

The timestamp of a change is a property of its file and stands in the ledger.
A read at T takes the newest state at or before T and the tail (state, T]; how
the two combine is the table's discipline, fixed when the table is made (a file that
resets takes the state and all files before it out of the plan):

    appended   rows only ever come: state and tail are simply put together
    keyed      the last change of a key wins
    counted    no key: a bag of rows; '+' adds one, '-' takes one equal row away

Everything here is a value that can be pickled to a Spark task and written as
JSON to the socket between the processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.limits import DEFECTS_TOLD_MAX
from headwater.core.relation import Relation

Discipline = Literal["appended", "keyed", "counted"]

OP: Final = "_op"
SEQUENCE: Final = "_sequence"
TICK: Final = "_tick"
FLAWS: Final = "_flaws"
KEY: Final = "_key"
HIDDEN_COLUMNS: Final = (OP, SEQUENCE, TICK, FLAWS, KEY)

INSERT: Final = "+"
DELETE: Final = "-"
PARTIAL: Final = "~"
"""Begins the _op of an upsert that leaves columns as they were; their places follow, with commas."""
CARRIED: Final = "@"
"""Follows these in the _op of an upsert under another key; then the places of columns that came along from
the row that it took away."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A Parquet file as the ledger names it; `path` is relative to the data directory."""

    path: str
    rows: int
    bytes: int
    deletes: int = 0  # rows whose _op is not '+'
    ts: int = 0  # change files: the tick's timestamp
    resets: bool = False  # change files: all rows before this file's are gone (TRUNCATE)
    partials: int = 0  # change files: rows that leave columns as they were
    carriers: int = 0  # of these: rows with columns that came along from another key
    flawed: int = 0  # rows with values that could not be stored

    def to_json(self) -> list[object]:
        counts = (self.rows, self.bytes, self.deletes, self.ts)
        return [self.path, *counts, self.resets, self.partials, self.carriers, self.flawed]

    @staticmethod
    def from_json(value: list[object]) -> FileEntry:
        path, *counts, resets, partials, carriers, flawed = value
        rows, size, deletes, ts, *kinds = (int(str(n)) for n in (*counts, partials, carriers, flawed))
        return FileEntry(str(path), rows, size, deletes, ts, bool(resets), *kinds)


@dataclass(frozen=True, slots=True)
class Received:
    """What came from the upstream for a table: messages, or rows of a snapshot, and their bytes."""

    messages: int = 0
    bytes: int = 0
    defects: tuple[str, ...] = ()  # where errors came about that nobody foresaw, for the log

    def __add__(self, other: Received) -> Received:
        defects = (*self.defects, *other.defects)[:DEFECTS_TOLD_MAX]
        return Received(self.messages + other.messages, self.bytes + other.bytes, defects)


@dataclass(frozen=True, slots=True)
class FetchedFile(FileEntry):
    """A file of rows that came from the upstream, with what that was there."""

    received: Received = Received()


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The files that are a collection at one timestamp, and how they combine."""

    collection_id: str
    relation: Relation
    discipline: Discipline
    as_of: int
    state_as_of: int
    state: tuple[FileEntry, ...]
    tail: tuple[FileEntry, ...]

    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.state, *self.tail))

    @property
    def flawed(self) -> bool:
        """Whether rows may have values that could not be stored."""
        return any(file.flawed for file in (*self.state, *self.tail))

    @property
    def plain(self) -> bool:
        """Whether its rows are those of its files, whatever their values."""
        tail = [file for file in self.tail if file.rows]
        if not tail or self.discipline == "appended":
            return True
        return self.discipline == "counted" and not any(file.deletes for file in tail)

    def rows(self) -> int:
        """An upper bound of the rows."""
        return sum(file.rows for file in (*self.state, *self.tail))

    def to_json(self) -> dict[str, object]:
        return {
            "collection_id": self.collection_id,
            "relation": self.relation.to_json(),
            "discipline": self.discipline,
            "as_of": self.as_of,
            "state_as_of": self.state_as_of,
            "state": [file.to_json() for file in self.state],
            "tail": [file.to_json() for file in self.tail],
        }

    @staticmethod
    def from_json(value: dict[str, object]) -> ReadPlan:
        relation, state, tail = value["relation"], value["state"], value["tail"]
        discipline = value["discipline"]
        if not isinstance(relation, dict) or not isinstance(state, list) or not isinstance(tail, list):
            raise ValueError(f"not a read plan: {value!r}")
        if discipline not in ("appended", "keyed", "counted"):
            raise ValueError(f"not a discipline: {discipline!r}")
        return ReadPlan(
            str(value["collection_id"]),
            Relation.from_json(relation),
            discipline,
            int(str(value["as_of"])),
            int(str(value["state_as_of"])),
            tuple(FileEntry.from_json(file) for file in state),
            tuple(FileEntry.from_json(file) for file in tail),
        )
