"""CLOCK: one row that shows the time; every offset replaces it."""

from __future__ import annotations

import numpy as np

from headwater.core.relation import Column
from headwater.core.types import TIMESTAMPTZ
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns, pace
from headwater.sources.load_generator.generator import Changes, Generator, Output, Rows, interleaved


def _rows(options: Options, at: int, start: int, end: int) -> Rows:
    return (np.full(end - start, at - 1, np.int64),)


def _changes(options: Options, start: int, end: int) -> Changes:
    offsets = np.arange(start, end, dtype=np.int64)
    return Changes(
        (interleaved(offsets - 1, offsets),),
        np.tile(np.array([True, False]), len(offsets)),
    )


_OUTPUT = Output(
    name="clock",
    columns=(
        (
            Column("time", TIMESTAMPTZ, False),
            lambda options, rows: columns.timestamptz(pace.time_us(options, rows[0])),
        ),
    ),
    discipline="counted",
    units=lambda options, at: min(at, 1),
    rows=_rows,
    changes=_changes,
    rows_per_unit=1,
    rows_per_offset=2,
)

CLOCK = Generator("clock", lambda options: (_OUTPUT,))
