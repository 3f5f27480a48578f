"""The plainest model of the ledger: dictionaries, and nothing is ever forgotten.

Because the model keeps everything, its answer for a timestamp is what a ledger that has
forgotten history must still give, as long as the timestamp is not before `since`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.core.change import Discipline, FileEntry
from headwater.core.errors import DefiniteError
from headwater.core.points import Point
from headwater.persist.ledger import TABLES, ErrorSpan, TailSize


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
    point: Point | None
    hydrated: bool
    refilling: bool = False
    chunks: dict[int, FileEntry] = field(default_factory=dict)
    changes: list[FileEntry] = field(default_factory=list)
    states: dict[int, list[FileEntry]] = field(default_factory=dict)
    errors: dict[int, ErrorSpan] = field(default_factory=dict)
    forgotten_before: int = -1  # the oldest state that is kept

    @property
    def filling(self) -> bool:
        return self.refilling or not self.hydrated

    def fail(self, ts: int, error: DefiniteError) -> None:
        if self.hydrated or not error.heals:
            span = ErrorSpan(ts, error.position, error.message, error.hint)
            self.errors.setdefault(ts, span)
        self.refilling = error.heals and self.hydrated
        if error.heals:
            self.point, self.chunks = None, {}

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
        self.errors = {
            ts: span for ts, span in self.errors.items() if span.until is None or span.until > since
        }
        kept = self.newest_state(since)
        if kept is not None:
            self.forgotten_before = max(self.forgotten_before, kept)

    def tail_size(self, collection_id: str) -> TailSize | None:
        newest = self.newest_state()
        if newest is None or self.refilling:
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
        errors: dict[str, DefiniteError],
    ) -> None:
        writer = self.writers[writer_id]
        writer.ts, writer.frontier = ts, frontier
        if writer_id != TABLES:
            writer.bindings.append((ts, frontier))
        for collection_id, entries in files.items():
            if collection_id in self.collections:
                self.collections[collection_id].changes.extend(entries)
        for collection_id, error in errors.items():
            if collection_id in self.collections:
                self.collections[collection_id].fail(ts, error)

    def rejoin(self, collection_id: str, ts: int, point: Point) -> None:
        collection = self.collections.get(collection_id)
        if collection is not None and collection.filling:
            if collection.refilling:
                stopped = min((s.ts for s in collection.errors.values() if s.until is None), default=ts + 1)
                collection.changes = [c for c in collection.changes if not stopped <= c.ts <= ts]
            collection.joined_ts = ts
            if not collection.hydrated:
                collection.since = ts
            collection.point = point
            collection.chunks = {}

    def repoint(self, collection_id: str, point: Point) -> None:
        collection = self.collections.get(collection_id)
        if collection is not None and collection.filling:
            collection.point = point
            collection.chunks = {chunk: file for chunk, file in collection.chunks.items() if chunk >= 0}

    def fill(self, collection_id: str, since: int, point: Point | None, files: list[FileEntry]) -> None:
        collection = self.collections.get(collection_id)
        if collection is None or not collection.filling or collection.point != point:
            return
        if collection.hydrated:
            collection.changes += [replace(file, ts=collection.joined_ts) for file in files]
            spans = collection.errors.items()
            collection.errors = {
                ts: replace(span, until=since) if span.until is None else span for ts, span in spans
            }
        else:
            collection.since = max(collection.since, since)
            collection.states[collection.joined_ts] = list(files)
        collection.hydrated, collection.refilling = True, False
        collection.chunks = {}
