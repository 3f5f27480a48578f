"""Where values that came along with changed keys are from: a kernel over the columns of `found`.

persist/carried.py says which change leads to which.  DuckDB follows that by itself; Spark would need a job
for each step, so here all steps are taken at once: every change is led on to where the one that it leads to
leads, which doubles the length of the way each time.

    (_rank, _kind, _column, _from)  -->  (_id, _column, _via, _from)

Ranks are text: they have more digits than a number of Arrow's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.persist.carried import ASKED, MOVE

ORIGIN: Final = "_id string, _column string, _via string, _from string"
_NAMES: Final = ("_id", "_column", "_via", "_from")


def follow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`origins` of all of `found`, which must come as one."""
    came = list(batches)
    if came:
        yield from origins(pa.Table.from_batches(came)).to_batches()


def origins(found: pa.Table) -> pa.Table:
    """Where the way of each key and column that is asked for ends, if it leads over another key at all."""
    rank, kind, column, leads_to = (chunked.combine_chunks() for chunked in found.columns)
    parts = []
    for name in pc.unique(column):
        mine = pc.equal(column, name)
        moves, asked = (pc.and_(mine, pc.equal(kind, which)) for which in (MOVE, ASKED))
        known, onward = rank.filter(moves), leads_to.filter(moves)
        if not len(known):
            continue
        last = _ends(_indices(onward, known))
        first = _indices(leads_to.filter(asked), known)
        over = first >= 0
        via = pa.array(last[first[over]])
        ids = rank.filter(asked).filter(pa.array(over))
        columns = pa.array([name.as_py()] * len(ids), pa.string())
        parts.append(pa.table([ids, columns, known.take(via), onward.take(via)], names=list(_NAMES)))
    empty = pa.table([pa.array([], pa.string())] * len(_NAMES), names=list(_NAMES))
    return pa.concat_tables([empty, *parts])


def _indices(values: pa.Array, among: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Where each value is among others; -1: it is not."""
    found = pc.index_in(values, value_set=among)
    return np.asarray(pc.fill_null(pc.cast(found, pa.int64()), -1).to_numpy(zero_copy_only=False), np.int64)


def _ends(
    parents: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The last one on the way from each, where `parents` has the next one, or -1."""
    ends = np.where(parents >= 0, parents, np.arange(len(parents)))
    while True:
        further = ends[ends]
        if np.array_equal(further, ends):
            return ends
        ends = further
