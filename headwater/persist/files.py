"""Parquet files: written whole, made durable, described for the ledger.

A file is complete and durable (store.py) before its description is handed out, so a
committed ledger row never names a file that a power cut could take away.
No file tells of floats what readers, ours or others', would skip rows by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.core.change import CARRIED, INSERT, OP, PARTIAL, FileEntry
from headwater.core.errors import TransientError
from headwater.core.limits import ROW_GROUP_BYTES_MAX
from headwater.formats.arrow import flaws_column
from headwater.formats.batches import cut
from headwater.persist.store import DataStore

_ROW_GROUP_ROWS = 245_760
"""More than the rows of an ordinary batch, which would otherwise leave a small group at its end."""
_WEIGHT = "headwater.weight"
_DICTIONARY_BYTES_MAX = 65_536
"""Columns with many values are found out early: writing is faster, and files are smaller."""

DAMAGE_HINT = "Restore the file from a backup of the data directory, or drop the table and create it again."


def write_file(
    store: DataStore, path: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema
) -> FileEntry:
    """Write batches to a file, make it durable, describe it."""
    rows = deletes = partials = carriers = flawed = 0
    weight = Weight()
    has_ops, flaws = OP in schema.names, flaws_column(schema)
    leaves = [leaf for field in schema for leaf in _leaves(field.name, field.type)]
    try:
        with store.create(path) as sink:
            with pq.ParquetWriter(
                sink,
                schema,
                compression="snappy",
                version="2.6",
                write_statistics=_paths(leaves, _Leaf.has_statistics),
                use_dictionary=_paths(leaves, _Leaf.has_dictionary),
                dictionary_pagesize_limit=_DICTIONARY_BYTES_MAX,
            ) as writer:
                for batch in batches:
                    if batch.num_rows == 0:
                        continue
                    for part in cut(batch, ROW_GROUP_BYTES_MAX):
                        table = pa.Table.from_batches([part], schema)
                        writer.write_table(table, row_group_size=_ROW_GROUP_ROWS)
                        weight += Weight(part.nbytes, 1 + part.nbytes // part.num_rows)
                    rows += batch.num_rows
                    if has_ops:
                        ops = batch.column(OP)
                        deletes += pc.sum(pc.not_equal(ops, INSERT)).as_py()
                        partials += pc.sum(pc.starts_with(ops, PARTIAL)).as_py()
                        carriers += pc.sum(pc.match_substring(ops, CARRIED)).as_py()
                    if flaws is not None:
                        flawed += batch.num_rows - batch.column(flaws).null_count
                writer.add_key_value_metadata({_WEIGHT: f"{weight.bytes} {weight.row_bytes}"})
            size = sink.tell()
    except OSError as error:
        raise TransientError(
            f'could not write "{store.url(path)}": {error.strerror or error}',
            hint="Free space or make the data directory writable; the tick is tried again.",
        ) from error
    return FileEntry(path, rows, size, deletes, partials=partials, carriers=carriers, flawed=flawed)


@dataclass(frozen=True, slots=True)
class Weight:
    """What rows take in memory: all of them, and on average each of those that are the widest."""

    bytes: int = 0
    row_bytes: int = 1

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.bytes + other.bytes, max(self.row_bytes, other.row_bytes))

    def rows(self, bytes_max: int) -> int:
        """How many of the widest have no more than so many bytes; at least one."""
        return max(bytes_max // self.row_bytes, 1)


def weigh(store: DataStore, files: Iterable[FileEntry]) -> Weight:
    """What the rows of these files take once they are read, which compressed bytes do not tell."""
    return sum((_weight(store, file.path) for file in files if file.rows), Weight())


def _weight(store: DataStore, path: str) -> Weight:
    try:
        with store.open(path) as file:
            told = (pq.read_metadata(file).metadata or {}).get(_WEIGHT.encode(), b"0 1")
    except (OSError, pa.ArrowException):
        return Weight()  # whoever reads the rows is told what is wrong
    total, widest = map(int, told.split())
    return Weight(total, widest)


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


def damage(store: DataStore, files: Iterable[FileEntry]) -> str | None:
    """What is wrong with the first of these files that is not as it was written; None if all are."""
    for file in files:
        url = store.url(file.path)
        try:
            size = store.size(file.path)
        except OSError as error:
            return f'data file "{url}" cannot be read: {(error.strerror or str(error)).lower()}'
        if size != file.bytes:
            return f'data file "{url}" is {size} bytes long, {file.bytes} were written'
    return None
