"""How the rows of a query leave Spark: few come with the answer of the job, many lie in files.

    rows of a partition --Keep, in a Python worker--> one piece: its rows, or the file they are in

Spark itself would gather every partition in the driver's memory before the first row is seen,
and a large table would end the driver, with all that is being ingested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from headwater.core.errors import UserError
from headwater.core.limits import RESULT_INLINE_BYTES_MAX
from headwater.core.relation import Relation
from headwater.formats.arrow import state_schema
from headwater.persist.results import write_result
from headwater.persist.store import DataStore

PIECE = "partition INT, stream BINARY, path STRING, rows BIGINT, failure STRING, hint STRING"
"""What is known of a partition's rows: an Arrow stream, or a file, or why neither."""
_PIECE_TYPES = (pa.int32(), pa.binary(), pa.string(), pa.int64(), pa.string(), pa.string())
_PIECE_NAMES = [column.split()[0] for column in PIECE.split(", ")]


@dataclass(frozen=True, slots=True)
class Keep:
    """What becomes of one partition; an error of ours comes back as a value, as from other tasks."""

    store: DataStore
    folder: str
    columns: dict[str, Any]  # the result as a Relation

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = state_schema(Relation.from_json(self.columns))
        kept: tuple[Any, ...]
        try:
            kept = (*self._keep((_declared(batch, schema) for batch in batches), schema), None, None)
        except UserError as error:
            kept = (None, None, None, error.message, error.hint)
        task = TaskContext.get()
        piece = (task.partitionId() if task is not None else 0, *kept)
        arrays = [pa.array([value], type_) for value, type_ in zip(piece, _PIECE_TYPES, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, _PIECE_NAMES)

    def _keep(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> tuple[bytes | None, str | None, int | None]:
        first: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            first.append(batch)
            size += batch.nbytes
            if size > RESULT_INLINE_BYTES_MAX:
                rows = chain(first, batches)
                return None, *write_result(self.store, self.folder, rows, schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            for batch in first:
                writer.write_batch(batch)
        return sink.getvalue().to_pybytes(), None, None


def _declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if not schema.names:
        return batch.select([])  # rows without columns: Spark had to be given one
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
