"""Rows of a query on Spark that are too many for a message, on their way to the client.

    scratch/results/<peek id>.<attempt>/<unique>.arrow      in Arrow's own format, batch after batch

Tasks write them, the environment reads them and takes them away.  So a client that takes its
time costs disk and not memory, and no row passes through the driver.  Nothing of it has to
outlive a process: the environment empties the folder when it starts (retention.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.persist.layout import RESULTS_FOLDER, result_file, result_folder
from headwater.persist.store import DataStore

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def write_result(
    store: DataStore, folder: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema
) -> tuple[str, int]:
    """Write rows of a result; the path of their file, and how many they are."""
    rows = 0
    path = result_file(folder)
    try:
        with (
            store.create(path, durable=False) as sink,
            pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
    except OSError as error:
        raise UserError(
            f'could not write "{store.url(path)}": {error.strerror or error}',
            "53100",
            hint="Free space where the data directory is, or ask for fewer rows.",
        ) from error
    return path, rows


def read_result(store: DataStore, path: str, rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of a file, batch by batch; an error if they are not as many as were written."""
    try:
        with store.open(path) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                rows -= batch.num_rows
                yield batch
        if rows:  # Arrow takes a file that was cut between two batches for a whole one
            raise EOFError
    except (OSError, EOFError, pa.ArrowException) as error:
        raise UserError(
            f'could not read "{store.url(path)}", where the result was kept', "58030", hint="Run it again."
        ) from error


def remove_result(store: DataStore, peek_id: str, attempt: int | None = None) -> None:
    """Take away what there is of a result, or of one attempt at it; harmless when there is nothing."""
    if attempt is not None:
        store.remove_folder(result_folder(peek_id, attempt))
        return
    for name in store.names(RESULTS_FOLDER):
        if name.startswith(f"{peek_id}."):
            store.remove_folder(f"{RESULTS_FOLDER}/{name}")
