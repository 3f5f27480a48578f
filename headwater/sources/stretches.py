"""What a stretch of an upstream's log is to one table, without what the table has already.

    messages of the table ──► [shown]      only the columns that the point says nothing of
                          ──► [not shown]  whole rows
                          ──► [emptied]    all rows before are gone, and what was said of them with them

Not here: what the messages say, and in which order their changes count (decode.py of each kind).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.change import Received
from headwater.core.errors import DefiniteError
from headwater.core.points import Point, Widened
from headwater.sources.contract import Export, Reset
from headwater.sources.unforeseen import attempted, end_of

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_TRUNCATED: Final = "the table was truncated while columns were added to it"


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the log a table has already."""

    at: str  # the point at which it was read, as the kind writes it
    columns: tuple[str, ...] | None = None  # only these, of every row; None: all of it

    @staticmethod
    def by(point: Point, name: str) -> Shown:
        """By the point; `name`: under which the kind keeps there what was shown."""
        return Shown(point.at[name], point.columns if isinstance(point, Widened) else None)


class Stretch(Protocol):
    """A stretch of a log, whose messages are numbered."""

    def shown(self, point: Shown, numbers: Integers) -> Booleans:
        """Of each message, whether what was read at a point has it already."""

    def error(self, export: Export, number: int, message: str) -> DefiniteError:
        """A definite error at a message."""

    def batches(
        self, export: Export, numbers: Integers, unsaid: frozenset[str] = frozenset()
    ) -> Iterator[pa.RecordBatch | Received]:
        """The changes that messages are to a table; they say nothing of the columns in `unsaid`."""


def changes(
    stretch: Stretch, export: Export, numbers: Integers, emptied: int | None, point: Shown | None
) -> Iterator[pa.RecordBatch | Reset | Received | DefiniteError]:
    """Those of one table; `numbers`: of the messages that change its rows; `emptied`: of the last one that
    takes all of them away; `point`: where it was read, while that may matter.  Errors are the table's."""
    found = _changes(stretch, export, numbers, emptied, point)
    try:
        while (made := attempted(partial(next, found, None))) is not None:
            if isinstance(made, Exception):
                first = int(numbers[0]) if len(numbers) else emptied
                position = "" if first is None else stretch.error(export, first, "").position
                ended = end_of(export, made, place=(position, f" (from {position} on)" if position else ""))
                yield ended.error
                yield ended.told
                return
            yield made
    except DefiniteError as error:
        yield error


def _changes(
    stretch: Stretch, export: Export, numbers: Integers, emptied: int | None, point: Shown | None
) -> Iterator[pa.RecordBatch | Reset | Received]:
    shown: Integers = numbers[:0]
    if point is not None:
        known = stretch.shown(point, numbers)
        shown, numbers = numbers[known], numbers[~known]
        if emptied is not None and stretch.shown(point, np.array([emptied]))[0]:
            if point.columns is not None:
                raise stretch.error(export, emptied, _TRUNCATED)
            emptied = None
    if emptied is not None:
        yield Reset()
        numbers, shown = numbers[numbers > emptied], shown[shown > emptied]
    if point is not None and point.columns is not None:
        yield from stretch.batches(export, shown, frozenset(point.columns))
    yield from stretch.batches(export, numbers)
