"""Parquet files: written whole, made durable, described for the ledger.

A file is complete and on disk before its description is handed out, so a
committed ledger row never names a file that a power cut could take away.
No file tells of floats what readers, ours or others', would skip rows by.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
    leaves = [leaf for field in schema for leaf in _leaves(field.name, field.type)]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            target.open("wb") as sink,
            pq.ParquetWriter(
                sink,
                schema,
                compression="snappy",
                version="2.6",
                write_statistics=_paths(leaves, _Leaf.has_statistics),
                use_dictionary=_paths(leaves, _Leaf.has_dictionary),
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


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column as Parquet sees it: its path, and whether a row may have several of its values."""

    path: str
    type: pa.DataType
    repeated: bool

    def has_statistics(self) -> bool:
        """Not of floats: the greatest leaves NaN out, which in SQL is greater than any other.

        So the rules of Parquet want it, and a reader that trusts it skips rows that it was asked for.
        """
        return not pa.types.is_floating(self.type)

    def has_dictionary(self) -> bool:
        """Not of floats: Java's readers look into it for a value's bits, where -0 is not 0.

        Nor of the numbers in an array: Spark looks a NULL up as well, and in a dictionary of none it fails.
        """
        fixed = not (pa.types.is_string(self.type) or pa.types.is_binary(self.type))
        return not (pa.types.is_floating(self.type) or (self.repeated and fixed))


def _paths(leaves: Sequence[_Leaf], wanted: Callable[[_Leaf], bool]) -> list[str]:
    """The paths of the wanted leaves; "i.days" may be the path of two, and then both must be wanted."""
    unwanted = {leaf.path for leaf in leaves if not wanted(leaf)}
    return [leaf.path for leaf in leaves if leaf.path not in unwanted]


def _leaves(path: str, type_: pa.DataType, repeated: bool = False) -> Iterator[_Leaf]:
    if pa.types.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", type_.key_type, True)
        yield from _leaves(f"{path}.key_value.value", type_.item_type, True)
    elif pa.types.is_list(type_):
        yield from _leaves(f"{path}.list.element", type_.value_type, True)
    elif pa.types.is_struct(type_):
        for field in type_:
            yield from _leaves(f"{path}.{field.name}", field.type, repeated)
    else:
        yield _Leaf(path, type_, repeated)


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
