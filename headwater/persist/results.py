"""Rows of a query on Spark that are too many for a message, on their way to the client.

    scratch/results/<peek id>.<attempt>/<unique>.arrow      in Arrow's own format, batch after batch

Tasks write them, the environment reads them and takes them away.  So a client that takes its
time costs disk and not memory, and no row passes through the driver.  Nothing of it has to
outlive a process: the environment empties the folder when it starts (retention.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.persist.layout import SCRATCH

_ROOT = f"{SCRATCH}/results"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def result_folder(peek_id: str, attempt: int) -> str:
    """Where the rows of a query lie, relative to the data directory."""
    return f"{_ROOT}/{peek_id}.{attempt}"


def write_result(
    data_dir: Path, folder: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema
) -> tuple[str, int]:
    """Write rows of a result; their file, relative to the data directory, and how many they are."""
    rows = 0
    path = f"{folder}/{unique_name()[:12]}.arrow"
    target = data_dir / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as sink, pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
    except OSError as error:
        raise UserError(
            f'could not write "{target}": {error.strerror or error}',
            "53100",
            hint="Free space where the data directory is, or ask for fewer rows.",
        ) from error
    return path, rows


def read_result(data_dir: Path, path: str, rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of a file, batch by batch; an error if they are not as many as were written."""
    try:
        with pa.OSFile(str(data_dir / path)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                rows -= batch.num_rows
                yield batch
        if rows:  # Arrow takes a file that was cut between two batches for a whole one
            raise EOFError
    except (OSError, EOFError, pa.ArrowException) as error:
        raise UserError(
            f'could not read "{data_dir / path}", where the result was kept', "58030", hint="Run it again."
        ) from error


def remove_result(data_dir: Path, peek_id: str, attempt: int | None = None) -> None:
    """Take away what there is of a result, or of one attempt at it; harmless when there is nothing."""
    for folder in (data_dir / _ROOT).glob(f"{peek_id}.{attempt or '*'}"):
        shutil.rmtree(folder, ignore_errors=True)
