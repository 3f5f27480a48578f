"""Where the values of a column lie among the bytes of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headwater.sources.mysql.events import Booleans, Integers


@dataclass(frozen=True, slots=True)
class TupleColumn:
    """One column of many images; a value that is missing is NULL and has no length."""

    starts: Integers
    lengths: Integers
    missing: Booleans
    diffs: Booleans | None = None  # documents that only say how they differ
    before: TupleColumn | None = None  # from what these differ

    def taken(self, chosen: Booleans | Integers) -> TupleColumn:
        return TupleColumn(
            self.starts[chosen],
            self.lengths[chosen],
            self.missing[chosen],
            None if self.diffs is None else self.diffs[chosen],
            None if self.before is None else self.before.taken(chosen),
        )

    def upon(self, before: TupleColumn) -> TupleColumn:
        """The same, and what its differences are from."""
        return replace(self, before=before)

    @staticmethod
    def concat(columns: Sequence[TupleColumn]) -> TupleColumn:
        """One after the other."""
        if len(columns) == 1:
            return columns[0]
        partial = any(column.diffs is not None for column in columns)
        whole = [column._as_partial() for column in columns] if partial else columns
        return TupleColumn(
            np.concatenate([column.starts for column in whole]),
            np.concatenate([column.lengths for column in whole]),
            np.concatenate([column.missing for column in whole]),
            np.concatenate([column.diffs for column in whole if column.diffs is not None])
            if partial
            else None,
            TupleColumn.concat([column.before for column in whole if column.before is not None])
            if partial
            else None,
        )

    def _as_partial(self) -> TupleColumn:
        if self.diffs is not None:
            return self
        before = TupleColumn(self.starts, self.lengths, self.missing)
        return replace(self, diffs=np.zeros(len(self.starts), bool), before=before)
