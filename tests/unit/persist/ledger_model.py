"""The plainest model of the ledger: dictionaries, and nothing is ever forgotten.

Because the model keeps everything, its answer for a timestamp is what a ledger that has
forgotten history must still give, as long as the timestamp is not before `since`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.core.change import Discipline, FileEntry
from headwater.persist.ledger import TABLES
from headwater.persist.ledger_tables import TailSize


@dataclass
class ModelWriter:
    epoch: int = 0
    ts: int = 0
    frontier: object = None
    bindings: list[tuple[int, object]] = field(default_factory=list)


@dataclass
class ModelCollection:
    writer_id: str
    discipline: Discipline
    since: int
    joined_ts: int
    point: object
    hydrated: bool
    chunks: dict[int, FileEntry] = field(default_factory=dict)
    changes: list[FileEntry] = field(default_factory=list)
    states: dict[int, list[FileEntry]] = field(default_factory=dict)
    errors: dict[int, tuple[str, str]] = field(default_factory=dict)
    forgotten_before: int = -1  # the oldest state that is kept

    def newest_state(self, as_of: int | None = None) -> int | None:
        return max((s for s in self.states if as_of is None or s <= as_of), default=None)

    def plan(self, as_of: int) -> tuple[int, list[FileEntry], list[FileEntry]]:
        """(state's timestamp, its files, tail) for a readable timestamp."""
        newest = self.newest_state(as_of)
        assert newest is not None
        tail = [file for file in self.changes if newest < file.ts <= as_of]
        resets = [file.ts for file in tail if file.resets]
        if resets:
            tail = [file for file in tail if file.ts >= max(resets)]
            return newest, [], sorted(tail, key=lambda file: (file.ts, file.path))
        return newest, self.states[newest], sorted(tail, key=lambda file: (file.ts, file.path))

    def readable(self, now: int) -> list[int]:
        if not self.hydrated:
            return []
        return list(range(max(self.since, min(self.states)), max(now, self.since) + 2))

    def named(self) -> set[str]:
        """What must be there: everything from the oldest kept state on."""
        kept = self.forgotten_before
        return (
            {file.path for file in self.chunks.values()}
            | {file.path for as_of, files in self.states.items() if as_of >= kept for file in files}
            | {file.path for file in self.changes if file.ts > kept}
        )

    def forget(self, since: int) -> None:
        self.since = max(self.since, since)
        kept = self.newest_state(since)
        if kept is not None:
            self.forgotten_before = max(self.forgotten_before, kept)

    def tail_size(self, collection_id: str) -> TailSize | None:
        newest = self.newest_state()
        if newest is None:
            return None
        tail = [file for file in self.changes if file.ts > newest]
        if not tail:
            return None
        return TailSize(
            collection_id,
            len(tail),
            sum(file.bytes for file in tail),
            sum(file.rows for file in tail),
            max(file.ts for file in tail),
            newest,
            sum(file.rows for file in self.states[newest]),
        )


@dataclass
class Model:
    writers: dict[str, ModelWriter] = field(default_factory=dict)
    collections: dict[str, ModelCollection] = field(default_factory=dict)

    def append(
        self,
        writer_id: str,
        ts: int,
        frontier: object,
        files: dict[str, list[FileEntry]],
        errors: list[tuple[str, str, str]],
    ) -> None:
        writer = self.writers[writer_id]
        writer.ts, writer.frontier = ts, frontier
        if writer_id != TABLES:
            writer.bindings.append((ts, frontier))
        for collection_id, entries in files.items():
            if collection_id in self.collections:
                self.collections[collection_id].changes.extend(entries)
        for collection_id, position, message in errors:
            if collection_id in self.collections:
                self.collections[collection_id].errors.setdefault(ts, (position, message))

    def rejoin(self, collection_id: str, ts: int, point: object) -> None:
        collection = self.collections.get(collection_id)
        if collection is not None and not collection.hydrated:
            collection.since = collection.joined_ts = ts
            collection.point = point
            collection.chunks = {}

    def repoint(self, collection_id: str, point: object) -> None:
        collection = self.collections.get(collection_id)
        if collection is not None and not collection.hydrated:
            collection.point = point
            collection.chunks = {chunk: file for chunk, file in collection.chunks.items() if chunk >= 0}

    def hydrate(self, collection_id: str, since: int, files: list[FileEntry]) -> None:
        collection = self.collections.get(collection_id)
        if collection is not None and not collection.hydrated:
            collection.hydrated = True
            collection.since = max(collection.since, since)
            collection.states[collection.joined_ts] = list(files)
            collection.chunks = {}
