"""Load generators: upstreams that are arithmetic.

A generator is a sequence of transactions numbered by offset 0, 1, 2, ...; the
number of those that exist follows the wall clock from the moment of creation, so
the upstream goes on while nobody reads it, as a real one does.

    grammar.py dialect.py options.py     what is written in SQL -> the facts kept in the catalog
    references.py   what a generator has
    pace.py         wall clock <-> offsets
    generator.py    what a generator is: outputs, each a function of offsets
    read.py         cut ranges into parts, make batches (the contract's functions)
    generators.py   the list of them; one file each
    chance.py deck.py columns.py lexicon.py      random numbers, sizes, Arrow columns, words

Every value is a function of (seed, offset): nothing is remembered between two
rows, so any range can be made anywhere, again, and is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import nullcontext
from typing import Any

from headwater.core.errors import DefiniteError
from headwater.core.frontier import Frontier, OffsetFrontier
from headwater.core.points import Point, Read
from headwater.core.relation import Column
from headwater.core.types import UINT8
from headwater.sources.contract import (
    Export,
    Looked,
    Options,
    ReadPart,
    SnapshotChunk,
    SourceType,
    Taken,
)
from headwater.sources.load_generator import read
from headwater.sources.load_generator.options import OPTION_NAMES, OPTIONS_BY_GENERATOR, resolve_options
from headwater.sources.load_generator.references import metadata_columns, references, single_output

__all__ = [
    "KIND",
    "OPTIONS_BY_GENERATOR",
    "OPTION_NAMES",
    "metadata_columns",
    "references",
    "resolve_options",
]


class _Reader:
    """Nothing is held open: where a generator stands follows from its options and the clock."""

    def __init__(self, options: Options) -> None:
        self.start: Frontier = OffsetFrontier(0)
        self.continues = True
        self.waiting: tuple[str, str] | None = None
        self._options = options

    def probe(self, now_ms: int) -> Frontier:
        return read.probe(self._options, now_ms)

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, Point],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        return read.plan_read(self._options, start, end, exports, rows_max)

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        return {}

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        return Looked(end)

    def acknowledge(self, frontier: Frontier) -> None:
        pass

    def close(self) -> None:
        pass


class _Point:
    """The state after the first so many offsets: a point never passes."""

    def __init__(self, options: Options, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._exports = exports

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        at = Read({"at": frontier.to_json(), "rows": rows})
        ids = [export.table_id for export in self._exports]
        return Taken({id_: before.get(id_, at) for id_ in ids}, frozenset(before))

    def settle(self) -> None:
        """Nothing can be lost."""

    def held(self) -> None:
        """A point never passes."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        at = OffsetFrontier.from_json(point.at["at"])
        planned = read.plan_snapshot(self._options, export, at, point.at["rows"])
        return tuple(chunk for chunk in planned if chunk.index not in done)

    def close(self) -> None:
        pass


def _progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    return [(OffsetFrontier.from_json(frontier).offset,)]


def _position_from_text(options: Options, text: str) -> Frontier:
    if not text.isascii() or not (text.isdigit() or text == str(OffsetFrontier(None))):
        raise ValueError("a count of offsets, as the source's own relation has it")
    return OffsetFrontier(int(text) if text.isdigit() else None)


KIND = SourceType(
    name=read.SOURCE_TYPE,
    namespace="generator",
    title=lambda options: "load generator" if single_output(options) else "multi-output load generator",
    progress_columns=lambda options: (Column("offset", UINT8),),
    progress_rows=_progress_rows,
    frontier_from_json=OffsetFrontier.from_json,
    offset=read.offset_of,
    references=lambda options, secrets, name: references(options),
    open=lambda options, secrets, stands_at, folder, stopping: _Reader(options),
    read=lambda part, secrets, answers: read.read(part),
    prepare_snapshot=lambda options, secrets, exports: _Point(options, exports),
    covers=lambda frontier, at: True,
    reading=lambda secrets, answers: nullcontext(read.snapshot),
    position=lambda options, secrets, now_ms: read.probe(options, now_ms),
    position_from_text=_position_from_text,
    reached=lambda frontier, position: position <= frontier,
    single_output=single_output,
    metadata_columns=metadata_columns,
)
