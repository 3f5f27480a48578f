"""A folder of JSON lines as an upstream: one file per reference, one line per change.

    {"id": 1, "note": "a"}     the row with this id is so from now on
    {"id": 1}                  it is gone
    {"id": 1, "note": 7}       it is so, but the value cannot be stored: 7 is no text

It has no single line of positions: a frontier is a number of lines for each file, and files may be added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.core import flaws
from headwater.core import points as core_points
from headwater.core.change import DELETE, FLAWS, INSERT
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.relation import Column, Relation
from headwater.core.types import INT8, TEXT, UINT8
from headwater.formats.arrow import read_schema, state_schema
from headwater.sources.contract import (
    Export,
    Looked,
    Options,
    ReadPart,
    Reference,
    Secrets,
    SnapshotChunk,
    SourceType,
    Taken,
)

NAME = "lines"
ROW = Relation((Column("id", INT8, False), Column("note", TEXT)), ((0,),))


@dataclass(frozen=True, slots=True)
class Lines:
    """By file, how many of its lines have been read."""

    counts: Mapping[str, int]

    def __le__(self, other: Lines) -> bool:
        return all(count <= other.counts.get(name, 0) for name, count in self.counts.items())

    def to_json(self) -> object:
        return dict(sorted(self.counts.items()))

    def __str__(self) -> str:
        return json.dumps(self.to_json())


def folder_of(options: Options) -> Path:
    folder = Path(options["connection"]["folder"])
    if not folder.is_dir():
        raise TransientError(f'{NAME}: folder "{folder}" does not exist', "Make the folder again.")
    return folder


def files(options: Options) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder_of(options).glob(f"*{options['suffix']}"))}


def standing(options: Options) -> Lines:
    return Lines({name: path.read_bytes().count(b"\n") for name, path in files(options).items()})


def references(options: Options, secrets: Secrets, name: str | None) -> tuple[Reference, ...]:
    return tuple(Reference(("lines",), found, ROW, "keyed") for found in files(options))


class Reader:
    """Leaves a file in the folder while there is a source."""

    def __init__(
        self, options: Options, secrets: Secrets, stands_at: Frontier | None, folder: Path, waits: Any
    ) -> None:
        self.start: Frontier = Lines({})
        self.continues = True
        self.waiting: tuple[str, str] | None = None
        self._options = options
        (folder_of(options) / f"{options['reader']}.reader").touch()

    def probe(self, now_ms: int) -> Frontier:
        return standing(self._options)

    def plan_read(
        self,
        start: Frontier,
        end: Frontier,
        exports: tuple[Export, ...],
        points: Mapping[str, core_points.Point],
        rows_max: int,
    ) -> tuple[Frontier, tuple[ReadPart, ...]]:
        assert isinstance(start, Lines)
        assert isinstance(end, Lines)
        parts: list[ReadPart] = []
        for export in exports:
            name = export.reference[-1]
            point = points.get(export.table_id)
            shown = 0 if point is None else point.at.get(name, 0)  # by the rows that were read at the point
            first, last = max(start.counts.get(name, 0), shown), end.counts.get(name, 0)
            if first < last:
                parts.append(ReadPart(NAME, self._options, first, last, (export,), len(parts)))
        return end, tuple(parts)

    def check(self, exports: tuple[Export, ...]) -> Mapping[str, DefiniteError]:
        there = files(self._options)
        return {
            export.table_id: DefiniteError(
                export.reference[-1], "", f"file {export.reference[-1]} was removed"
            )
            for export in exports
            if export.reference[-1] not in there
        }

    def look(self, exports: tuple[Export, ...], seen: Mapping[str, Any], end: Frontier) -> Looked:
        return Looked(end)

    def acknowledge(self, frontier: Frontier) -> None:
        pass

    def close(self) -> None:
        pass


class Point:
    """So many lines of each file; they stay."""

    def __init__(self, options: Options, secrets: Secrets, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._exports = exports

    def take(self, frontier: Frontier, before: Mapping[str, core_points.Read], rows: int) -> Taken:
        now = core_points.Read(standing(self._options).to_json())
        return Taken({export.table_id: now for export in self._exports})

    def settle(self) -> None:
        pass

    def chunks(self, export: Export, point: core_points.Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        lines = point.at.get(export.reference[-1], 0)
        chunk = SnapshotChunk(NAME, self._options, point, export, 0, lines)
        return () if 0 in done else (chunk,)

    def held(self) -> None:
        pass

    def close(self) -> None:
        pass


def changes(options: Options, name: str, first: int, last: int) -> list[tuple[int, dict[str, Any]]]:
    lines = files(options)[name].read_text().splitlines()[first:last]
    return [(first + number, json.loads(line)) for number, line in enumerate(lines)]


def columns(
    export: Export, found: list[tuple[int, dict[str, Any]]]
) -> tuple[list[pa.Array], list[str | None]]:
    """The table's columns, and which values could not be stored."""
    values: dict[str, list[Any]] = {
        "id": [change["id"] for _, change in found],
        "note": [note if isinstance(note := change.get("note"), str) else None for _, change in found],
    }
    bad = [
        flaws.to_text(
            flaws.Flaws({"note": flaws.Flaw(json.dumps(change["note"]), "it is no text")}, f"line {line}")
        )
        if "note" in change and not isinstance(change["note"], str)
        else None
        for line, change in found
    ]
    schema = state_schema(export.relation)
    arrays = [pa.array(values[name], schema.field(i).type) for i, name in enumerate(export.columns)]
    return arrays, bad


def read(part: ReadPart) -> Iterator[tuple[Export, pa.RecordBatch]]:
    (export,) = part.exports
    found = changes(part.options, export.reference[-1], part.start, part.end)
    arrays, bad = columns(export, found)
    ops = [INSERT if "note" in change else DELETE for _, change in found]
    yield (
        export,
        pa.RecordBatch.from_arrays(
            [*arrays, pa.array(bad, pa.string()), pa.array(ops), pa.array(range(len(found)), pa.int64())],
            schema=read_schema(export.relation, flawed=True),
        ),
    )


def rows(chunk: SnapshotChunk) -> Iterator[pa.RecordBatch]:
    export = chunk.export
    name = export.reference[-1]
    last = {
        change["id"]: (line, change) for line, change in changes(chunk.options, name, 0, chunk.point.at[name])
    }
    found = [(line, change) for line, change in last.values() if "note" in change]
    arrays, bad = columns(export, found)
    schema = state_schema(export.relation).append(pa.field(FLAWS, pa.string()))
    yield pa.RecordBatch.from_arrays([*arrays, pa.array(bad, pa.string())], schema=schema)


def drop(options: Options, secrets: Secrets) -> None:
    (folder_of(options) / f"{options['reader']}.reader").unlink(missing_ok=True)


def covers(frontier: Frontier, at: Any) -> bool:
    return Lines(at) <= frontier if isinstance(frontier, Lines) else False


def position_from_text(options: Options, text: str) -> Frontier:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("an object with the number of lines of each file")
    return Lines(found)


def offset(frontier: Frontier) -> int | None:
    return sum(frontier.counts.values()) if isinstance(frontier, Lines) else None


KIND = SourceType(
    name=NAME,
    namespace=NAME,
    title=lambda options: "JSON lines",
    progress_columns=lambda options: (Column("file", TEXT, False), Column("lines", UINT8)),
    progress_rows=lambda frontier: list(frontier.items()),
    frontier_from_json=Lines,
    offset=offset,
    references=references,
    open=Reader,
    read=lambda part, secrets, answers: read(part),
    prepare_snapshot=Point,
    covers=covers,
    reading=lambda secrets, answers: nullcontext(rows),
    position=lambda options, secrets, now_ms: standing(options),
    position_from_text=position_from_text,
    reached=lambda frontier, position: position <= frontier,
    drop=drop,
)
