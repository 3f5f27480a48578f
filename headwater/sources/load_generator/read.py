"""Reading a generator: cut a range of offsets into parts, and make their batches.

    plan_read    [start, end) ──cut at rows_max──► offset 0 | ticks ──shares──► parts
    read         a share of units ──► Changes ──► columns that an export wants ──► batches

Work is addressed in units, never in rows already made: a part says "share 3 of 8",
and that share is computed on its own.  Offset 0 can be large (TPCH's initial data),
so it is shared out like anything else.

Not here: what the rows are (one file per generator).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from headwater.core import limits
from headwater.core.change import DELETE, INSERT
from headwater.core.errors import InvariantViolation
from headwater.core.frontier import Frontier, OffsetFrontier
from headwater.core.points import Read
from headwater.formats.arrow import read_schema, state_schema
from headwater.sources.contract import Export, Options, ReadPart, SnapshotChunk
from headwater.sources.load_generator import pace
from headwater.sources.load_generator.chance import BoolArray
from headwater.sources.load_generator.generator import Changes, Generator, Output
from headwater.sources.load_generator.generators import generator_of, output_of

SOURCE_TYPE = "load-generator"

_OPS = pa.array([INSERT, DELETE], pa.string())


def probe(options: Options, now_ms: int) -> Frontier:
    """How many offsets exist now; the end once all there will ever be exist."""
    generator = generator_of(options)
    existing = pace.available(options, generator.at_once(options), now_ms)
    end = generator.end(options)
    return OffsetFrontier(None if end is not None and existing >= end else existing)


def plan_read(
    options: Options, start: Frontier, end: Frontier, exports: tuple[Export, ...], rows_max: int
) -> tuple[Frontier, tuple[ReadPart, ...]]:
    """The end after cutting, and the parts; none when nothing in the range concerns an export."""
    generator = generator_of(options)
    if offset_of(start) is None:
        return end, ()
    first, last = _resolved(options, offset_of(start)), _resolved(options, offset_of(end))
    outputs = [(export, _checked_output(options, export)) for export in exports]
    if first > 0:
        outputs = [(export, output) for export, output in outputs if output.rows_per_offset > 0]
    if last <= first or not outputs:
        return end, ()

    row_bytes = generator.row_bytes(options)
    rows_max = min(rows_max, limits.GENERATOR_TICK_BYTES_MAX // row_bytes)
    initial = sum(_state_rows(options, output, 1) for _, output in outputs) if first == 0 else 0
    per_offset = sum(output.rows_per_offset for _, output in outputs)
    cut = _cut(first, last, initial, per_offset, rows_max)
    ticks = (cut - max(first, 1)) * per_offset
    counts = _task_counts(initial, ticks, row_bytes, first, cut)
    parts = _parts(options, first, cut, tuple(export for export, _ in outputs), counts)
    return (end if cut == last else OffsetFrontier(cut)), parts


def _cut(first: int, last: int, initial: int, per_offset: float, rows_max: int) -> int:
    """The end of a tick of at most about `rows_max` rows; one offset is always taken."""
    if per_offset == 0:
        return last
    fitting = int((rows_max - initial) / per_offset)
    return min(last, first + 1 + max(0, fitting) if first == 0 else first + max(1, fitting))


def _task_counts(initial: float, ticks: float, row_bytes: int, first: int, cut: int) -> tuple[int, int]:
    """How many tasks offset 0 and the ticks after it get; (0, 1) is one task for all."""
    rows = initial + ticks
    wanted = max(
        min(limits.TICK_TASKS_MAX, int(rows // limits.GENERATOR_PART_ROWS_MIN)),
        int(rows * row_bytes // limits.GENERATOR_PART_BYTES_MAX),
    )
    if wanted <= 1:
        return 0, 1
    if first > 0:
        return 0, wanted
    if cut <= 1:
        return wanted, 0
    of_initial = min(wanted - 1, max(1, round(wanted * initial / rows)))
    return of_initial, wanted - of_initial


def _parts(
    options: Options, first: int, cut: int, exports: tuple[Export, ...], counts: tuple[int, int]
) -> tuple[ReadPart, ...]:
    of_initial, of_ticks = counts
    ranges = [(0, 1, [i, of_initial]) for i in range(of_initial)]
    start = max(first, 1) if of_initial else first
    ranges += [(start, cut, [i, of_ticks]) for i in range(of_ticks)]
    return tuple(
        ReadPart(SOURCE_TYPE, options, start, end, exports, index, share)
        for index, (start, end, share) in enumerate(ranges)
    )


def read(part: ReadPart) -> Iterator[tuple[Export, pa.RecordBatch]]:
    """The changes of a part, export by export."""
    options = part.options
    generator = generator_of(options)
    start, end = _resolved(options, part.start), _resolved(options, part.end)
    for export in part.exports:
        output = _checked_output(options, export)
        sequence = 0
        for changes in _changes(options, generator, output, start, end, part.details or [0, 1]):
            batch = _change_batch(options, output, export, changes, sequence)
            sequence += batch.num_rows
            if batch.num_rows:
                yield export, batch


def _changes(
    options: Options, generator: Generator, output: Output, start: int, end: int, share: list[int]
) -> Iterator[Changes]:
    if start == 0 and end > 0:
        for low, high in _steps(
            options, generator, _shared(0, output.units(options, 1), share), output.rows_per_unit
        ):
            rows = output.rows(options, 1, low, high)
            yield Changes(rows)
    if output.rows_per_offset == 0 or end <= 1:
        return
    per_offset = generator.units_per_offset(options)
    units = _shared(max(start, 1) * per_offset, end * per_offset, share)
    for low, high in _steps(options, generator, units, output.rows_per_offset / per_offset):
        yield output.changes(options, low, high)


def _change_batch(
    options: Options, output: Output, export: Export, changes: Changes, sequence: int
) -> pa.RecordBatch:
    count = len(changes.rows[0])
    deletes = changes.deletes
    ops = (
        pa.nulls(count, pa.string()).fill_null(INSERT)
        if deletes is None
        else _OPS.take(pa.array(deletes.view(np.int8)))
    )
    if deletes is not None and export.discipline == "keyed" and deletes.any():
        columns = _columns_with_bare_keys(options, output, export, changes, deletes)
    else:
        columns = [output.fill_of(name)(options, changes.rows) for name in export.columns]
    return pa.RecordBatch.from_arrays(
        [
            *columns,
            ops,
            pa.array(np.arange(sequence, sequence + count, dtype=np.int64)),
        ],
        schema=read_schema(export.relation),
    )


def _columns_with_bare_keys(
    options: Options, output: Output, export: Export, changes: Changes, deletes: BoolArray
) -> list[pa.Array]:
    """A keyed delete says only which key: its other columns are NULL and are not computed."""
    kept = tuple(row[~deletes] for row in changes.rows)
    places = pa.array(np.cumsum(~deletes) - 1, mask=deletes)
    keys = output.key_names()
    return [
        output.fill_of(name)(options, changes.rows)
        if name in keys
        else output.fill_of(name)(options, kept).take(places)
        for name in export.columns
    ]


def plan_snapshot(
    options: Options, export: Export, at: Frontier, chunk_rows: int
) -> tuple[SnapshotChunk, ...]:
    """Chunks of about `chunk_rows` rows; none when the output is empty at that frontier."""
    output = _checked_output(options, export)
    frontier = _resolved(options, offset_of(at))
    units = output.units(options, frontier)
    row_bytes = generator_of(options).row_bytes(options)
    chunk_rows = max(1, min(chunk_rows, limits.GENERATOR_CHUNK_BYTES_MAX // row_bytes))
    rows = _state_rows(options, output, frontier)
    count = min(units, max(1, -(-rows // chunk_rows)))
    return tuple(
        SnapshotChunk(
            SOURCE_TYPE,
            options,
            Read(at.to_json()),
            export,
            index,
            rows * (index + 1) // count - rows * index // count,
            [units * index // count, units * (index + 1) // count],
        )
        for index in range(count)
    )


def snapshot(chunk: SnapshotChunk) -> Iterator[pa.RecordBatch]:
    """The rows of a chunk."""
    options = chunk.options
    generator = generator_of(options)
    output = _checked_output(options, chunk.export)
    at = _resolved(options, chunk.point.at)
    start, end = chunk.details
    for low, high in _steps(options, generator, (start, end), output.rows_per_unit):
        rows = output.rows(options, at, low, high)
        if len(rows[0]):
            yield pa.RecordBatch.from_arrays(
                [output.fill_of(name)(options, rows) for name in chunk.export.columns],
                schema=state_schema(chunk.export.relation),
            )


def offset_of(frontier: Frontier) -> int | None:
    """The offset of a frontier; None at the end."""
    if not isinstance(frontier, OffsetFrontier):
        raise InvariantViolation(f"a load generator was given the frontier {frontier}")
    return frontier.offset


def _resolved(options: Options, offset: int | None) -> int:
    """The offset, or the one at which the upstream ends."""
    if offset is not None:
        return offset
    end = generator_of(options).end(options)
    if end is None:
        raise InvariantViolation(f"load generator {options['generator']} was read to an end that it has not")
    return end


def _checked_output(options: Options, export: Export) -> Output:
    """The output behind an export, whose way of keeping rows must fit what the output emits."""
    output = output_of(options, export.reference)
    if export.discipline != output.discipline and (export.discipline, output.discipline) != (
        "counted",
        "appended",
    ):
        raise InvariantViolation(
            f"table {export.table_id} keeps {'.'.join(export.reference)} {export.discipline}, "
            f"but its changes are {output.discipline}"
        )
    return output


def _state_rows(options: Options, output: Output, at: int) -> int:
    return round(output.units(options, at) * output.rows_per_unit)


def _shared(start: int, end: int, share: list[int]) -> tuple[int, int]:
    index, count = share
    return start + (end - start) * index // count, start + (end - start) * (index + 1) // count


def _steps(
    options: Options, generator: Generator, units: tuple[int, int], rows_per_unit: float
) -> Iterator[tuple[int, int]]:
    """Ranges of units that make a batch each."""
    start, end = units
    rows = min(
        limits.GENERATOR_BATCH_ROWS, max(1, limits.GENERATOR_BATCH_BYTES // generator.row_bytes(options))
    )
    step = max(1, int(rows / rows_per_unit))
    for low in range(start, end, step):
        yield low, min(end, low + step)
