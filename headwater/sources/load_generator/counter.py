"""COUNTER: 1, 2, 3, ... one number to an offset; with MAX CARDINALITY n only the newest n remain."""

from __future__ import annotations

import numpy as np

from headwater.core.relation import Column
from headwater.core.types import INT8
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns
from headwater.sources.load_generator.generator import Changes, Generator, Output, Rows, interleaved


def _units(options: Options, at: int) -> int:
    most: int | None = options["max_cardinality"]
    return at if most is None else min(at, most)


def _rows(options: Options, at: int, start: int, end: int) -> Rows:
    oldest = at - _units(options, at) + 1
    return (np.arange(oldest + start, oldest + end, dtype=np.int64),)


def _changes(options: Options, start: int, end: int) -> Changes:
    """The number of each offset, followed by the one that it pushes out."""
    offsets = np.arange(start, end, dtype=np.int64)
    most: int | None = options["max_cardinality"]
    if most is None:
        return Changes((offsets + 1,))
    numbers = interleaved(offsets + 1, offsets + 1 - most)
    deletes = np.tile(np.array([False, True]), len(offsets))
    kept = numbers > 0
    return Changes((numbers[kept],), deletes[kept])


def _outputs(options: Options) -> tuple[Output, ...]:
    bounded = options["max_cardinality"] is not None
    return (
        Output(
            name="counter",
            columns=((Column("counter", INT8, False), lambda options, rows: columns.int8(rows[0])),),
            discipline="counted" if bounded else "appended",
            units=_units,
            rows=_rows,
            changes=_changes,
            rows_per_unit=1,
            rows_per_offset=2 if bounded else 1,
        ),
    )


COUNTER = Generator("counter", _outputs)
