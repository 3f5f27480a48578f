"""Rows that somebody left half read, out of memory until they are asked for again.

    scratch/aside/<unique>.arrow      in Arrow's own format, batch after batch

A few rows stay in memory, but packed: a slice would keep all of the batch that it was cut from.
A file is opened for each batch and closed again, since there may be thousands of them.  Nothing of it
has to outlive the process: the folder is emptied when the environment starts (retention.py).
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.core.limits import RESULT_ASIDE_MEMORY_BYTES_MAX

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Aside:
    """Rows in the order in which they were added; `close` takes them away."""

    def __init__(self, scratch: Path) -> None:
        self._path = scratch / "aside" / f"{unique_name()[:12]}.arrow"
        self._few: list[pa.RecordBatch] = []
        self._writer: pa.RecordBatchFileWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._packed: pa.Buffer | None = None
        self._count = 0
        self._taken = 0  # batches
        self._skipped = 0  # rows of the next batch that were taken already
        self._last = 0  # rows of the last batch
        self.size = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows; not any more once they are read."""
        self._count += 1
        self._few.append(batch)
        self.size += batch.nbytes
        if self._writer is not None or self.size > RESULT_ASIDE_MEMORY_BYTES_MAX:
            try:
                self._flush(batch.schema)
            except OSError as error:
                raise UserError(
                    f'could not write "{self._path}": {error.strerror or error}',
                    "53100",
                    hint="Free space where the data directory is, or leave fewer results half read.",
                ) from error

    def _flush(self, schema: pa.Schema) -> None:
        if self._writer is None or self._sink is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._sink = pa.OSFile(str(self._path), "wb")
            self._writer = pa.ipc.new_file(self._sink, schema, options=_OPTIONS)
        for batch in self._few:
            self._writer.write_batch(batch)
        self._few.clear()
        self.size = self._sink.tell()

    def end(self) -> None:
        """All rows were added."""
        if self._writer is not None and self._sink is not None:
            self._writer.close()
            self._sink.close()
            self._writer = self._sink = None
        elif self._few:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_file(sink, self._few[0].schema) as writer:
                for batch in self._few:
                    writer.write_batch(batch)
            self._packed = sink.getvalue()
            self._few.clear()

    def next(self) -> pa.RecordBatch | None:
        """The next rows; None after the last."""
        if self._taken == self._count:
            return None
        try:
            if self._packed is not None:
                batch = pa.ipc.open_file(self._packed).get_batch(self._taken)
            else:
                with pa.OSFile(str(self._path)) as file:
                    batch = pa.ipc.open_file(file).get_batch(self._taken)
        except (OSError, pa.ArrowException) as error:
            raise UserError(
                f'could not read "{self._path}", where the result was kept', "58030", hint="Run it again."
            ) from error
        part = batch.slice(self._skipped)
        self._last, self._taken, self._skipped = batch.num_rows, self._taken + 1, 0
        return part

    def give_back(self, row_count: int) -> None:
        """So many rows of the last ones were not wanted yet."""
        if row_count:
            self._taken -= 1
            self._skipped = self._last - row_count

    def close(self) -> None:
        self._few.clear()
        self._packed = None
        if self._sink is not None:
            self._sink.close()
            self._writer = self._sink = None
        self._path.unlink(missing_ok=True)
