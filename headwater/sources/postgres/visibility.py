"""Which transactions a snapshot of PostgreSQL shows.

    xmin:xmax:xip     as pg_current_snapshot() prints it

A transaction is visible if it began before `xmax` and is not among those in progress.
The numbers are of 64 bits; the replication stream has only the lower 32 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_WRAP = 2**32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was committed at one moment."""

    xmin: int
    xmax: int
    in_progress: tuple[int, ...]

    @staticmethod
    def from_text(text: str) -> Snapshot:
        xmin, xmax, listed = text.split(":")
        return Snapshot(int(xmin), int(xmax), tuple(int(xid) for xid in listed.split(",") if xid))

    def shows(self, xids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """For each transaction, by the lower 32 bits of its number."""
        # The number nearest to xmax with these lower bits: no transaction lives for half of all numbers.
        distance = (xids - self.xmax % _WRAP + _WRAP // 2) % _WRAP - _WRAP // 2
        full = self.xmax + distance
        shown: npt.NDArray[np.bool_] = full < self.xmax
        if self.in_progress:
            shown &= ~np.isin(full, np.array(self.in_progress, dtype=np.int64))
        return shown
