"""What one generator is: a record of outputs, each a table as a function of offsets.

    offset 0        the initial transaction: whatever an output holds at frontier 1
    offset 1, 2 ... ticks, each a small transaction

An output does not make rows directly.  It names the rows of a range by a few
arrays of numbers (`Rows`: an order's number, a line's number), and every column
is a function of those arrays, so that only the wanted columns are ever computed.

Ranges are given in units, which make any share of the work addressable:

    rows(options, at, start, end)     units of the state at frontier `at`; a unit is a row, or a
                                      thing that has `rows_per_unit` rows on average
    changes(options, start, end)      units of the ticks; `units_per_offset` of them to an offset,
                                      never called for offset 0

Not here: cutting, batching and projecting (read.py); any single generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from headwater.core.change import Discipline
from headwater.core.relation import Column, Relation
from headwater.sources.contract import Options, Reference
from headwater.sources.load_generator.chance import BoolArray, IntArray

NAMESPACE = "mz_load_generators"

Rows: TypeAlias = tuple[IntArray, ...]
Fill: TypeAlias = Callable[[Options, Rows], pa.Array]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes in order; without `deletes` every one of them is a row that comes."""

    rows: Rows
    deletes: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One table of a generator."""

    name: str
    columns: tuple[tuple[Column, Fill], ...]
    discipline: Discipline
    units: Callable[[Options, int], int]  # (options, at) -> units of the state at that frontier
    rows: Callable[[Options, int, int, int], Rows]  # (options, at, start, end)
    changes: Callable[[Options, int, int], Changes]  # (options, start, end)
    rows_per_unit: float
    rows_per_offset: float  # of the ticks, on average; 0 when the output never changes
    keys: tuple[tuple[int, ...], ...] = ()
    metadata: tuple[tuple[Column, Fill], ...] = ()  # columns that exist only for those who ask

    def reference(self, generator: str) -> Reference:
        relation = Relation(tuple(column for column, _ in self.columns), self.keys)
        return Reference((NAMESPACE, generator), self.name, relation, self.discipline)

    def fill_of(self, column: str) -> Fill:
        return next(fill for named, fill in (*self.columns, *self.metadata) if named.name == column)

    def key_names(self) -> frozenset[str]:
        return frozenset(self.columns[i][0].name for i in self.keys[0]) if self.keys else frozenset()


def _as_of_and_one(options: Options) -> int:
    return int(options["as_of"]) + 1


@dataclass(frozen=True, slots=True)
class Generator:
    """A simulated upstream."""

    name: str
    outputs: Callable[[Options], tuple[Output, ...]]
    length: Callable[[Options], int | None] = lambda options: None
    """Offsets there will ever be, apart from UP TO; None is no end."""
    at_once: Callable[[Options], int] = _as_of_and_one
    """Offsets that exist from the moment of creation."""
    units_per_offset: Callable[[Options], int] = lambda options: 1
    row_bytes: Callable[[Options], int] = lambda options: 64

    def end(self, options: Options) -> int | None:
        """The offset at which the upstream ends, if it does."""
        ends = [end for end in (self.length(options), options["up_to"]) if end is not None]
        return min(ends, default=None)


def no_changes(options: Options, start: int, end: int) -> Changes:
    """The changes of an output that is complete after offset 0."""
    return Changes((np.empty(0, np.int64),))


def fixed_output(
    name: str, columns: tuple[tuple[Column, Fill], ...], count: Callable[[Options], int]
) -> Output:
    """An output that holds rows 0 .. count - 1 from offset 0 on, known by its first column."""

    def units(options: Options, at: int) -> int:
        return count(options) if at > 0 else 0

    def rows(options: Options, at: int, start: int, end: int) -> Rows:
        return (np.arange(start, end, dtype=np.int64),)

    return Output(
        name=name,
        columns=columns,
        discipline="appended",
        keys=((0,),),
        units=units,
        rows=rows,
        changes=no_changes,
        rows_per_unit=1,
        rows_per_offset=0,
    )


def one_unit_per_offset(options: Options, at: int) -> int:
    """`units` of an output whose state is listed by the offsets that made it."""
    return at


def interleaved(*parts: IntArray) -> IntArray:
    """a0 b0 a1 b1 ..."""
    return np.stack(parts, axis=1).reshape(-1)
