"""Parquet files: written whole, made durable, described for the ledger.

A file is complete and on disk before its description is handed out, so a
committed ledger row never names a file that a power cut could take away.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.core.change import INSERT, OP, PARTIAL, FileEntry
from headwater.core.errors import TransientError

_ROW_GROUP_ROWS = 245_760
"""More than the rows of an ordinary batch, which would otherwise leave a small group at its end."""
_DICTIONARY_BYTES_MAX = 65_536
"""Columns with many values are found out early: writing is faster, and files are smaller."""

DAMAGE_HINT = "Restore the file from a backup of the data directory, or drop the table and create it again."


def write_file(data_dir: Path, path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> FileEntry:
    """Write batches to `data_dir/path`, flush it to disk, describe it."""
    target = data_dir / path
    rows = deletes = partials = 0
    has_ops = OP in schema.names
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            target.open("wb") as sink,
            pq.ParquetWriter(
                sink,
                schema,
                compression="snappy",
                version="2.6",
                dictionary_pagesize_limit=_DICTIONARY_BYTES_MAX,
            ) as writer,
        ):
            for batch in batches:
                if batch.num_rows == 0:
                    continue
                writer.write_table(pa.Table.from_batches([batch], schema), row_group_size=_ROW_GROUP_ROWS)
                rows += batch.num_rows
                if has_ops:
                    ops = batch.column(OP)
                    deletes += pc.sum(pc.not_equal(ops, INSERT)).as_py()
                    partials += pc.sum(pc.starts_with(ops, PARTIAL)).as_py()
        flush(target)
        size = target.stat().st_size
    except OSError as error:
        _remove(target)
        raise TransientError(
            f'could not write "{target}": {error.strerror or error}',
            hint="Free space or make the data directory writable; the tick is tried again.",
        ) from error
    except BaseException:
        _remove(target)
        raise
    return FileEntry(path, rows, size, deletes, partials=partials)


def _remove(target: Path) -> None:
    """Best effort: what stays behind is swept."""
    with suppress(OSError):
        target.unlink()


def damage(data_dir: Path, files: Iterable[FileEntry]) -> str | None:
    """What is wrong with the first of these files that is not as it was written; None if all are."""
    for file in files:
        target = data_dir / file.path
        try:
            size = target.stat().st_size
        except OSError as error:
            return f'data file "{target}" cannot be read: {(error.strerror or str(error)).lower()}'
        if size != file.bytes:
            return f'data file "{target}" is {size} bytes long, {file.bytes} were written'
    return None


def flush(target: Path) -> None:
    """Force a file and its directory entry to disk."""
    for name, flags in ((target, os.O_RDONLY), (target.parent, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(name, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def describe_file(data_dir: Path, path: str) -> FileEntry:
    """Describe a state file that another writer (an engine) has left at `path`."""
    target = data_dir / path
    flush(target)
    return FileEntry(path, pq.read_metadata(target).num_rows, target.stat().st_size)
