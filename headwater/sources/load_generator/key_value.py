"""KEY VALUE: keys in partitions whose values are written again and again, batch by batch.

Batch g writes slot g mod `slots`: BATCH SIZE neighbouring keys of every partition.
After `slots` batches every key has been written once, which is a round.

    transactional snapshot      offset 0 holds every key; offset 1, 2, ... are batches 0, 1, ...
    otherwise                   offset 0, 1, ... are batches 0, 1, ...; SNAPSHOT ROUNDS rounds exist at once

A transaction shows only what it leaves behind, so a transactional snapshot has
one row per key however many rounds it is made of.  Keys are numbered across
partitions: key k is in partition k mod PARTITIONS.

`Rows` are (key, offset of the write).
"""

from __future__ import annotations

import numpy as np

from headwater.core.relation import Column
from headwater.core.types import BYTEA, UINT8
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns
from headwater.sources.load_generator.chance import Chance, IntArray
from headwater.sources.load_generator.generator import Changes, Generator, Output, Rows

_ROW_BYTES_APART_FROM_VALUE = 48


def _batch_rows(options: Options) -> int:
    """Rows of one batch, over all partitions."""
    return int(options["partitions"]) * int(options["batch_size"])


def _slots(options: Options) -> int:
    """Batches that write every key once."""
    return int(options["keys"]) // _batch_rows(options)


def _snapshot_offsets(options: Options) -> int:
    return 1 if options["transactional_snapshot"] else int(options["snapshot_rounds"]) * _slots(options)


def _keys(options: Options, slots: IntArray, places: IntArray) -> IntArray:
    """The key at a place of a slot; places run through the partitions one after the other."""
    size, partitions = int(options["batch_size"]), int(options["partitions"])
    partition, inner = np.divmod(places, size)
    return (slots * size + inner) * partitions + partition


def _units(options: Options, at: int) -> int:
    if options["transactional_snapshot"]:
        return int(options["keys"]) if at > 0 else 0
    return min(at, _slots(options)) * _batch_rows(options)


def _rows(options: Options, at: int, start: int, end: int) -> Rows:
    """Each key with its last write: slot s was written by the last batch that equals s mod `slots`."""
    slots, places = np.divmod(np.arange(start, end, dtype=np.int64), _batch_rows(options))
    count = _slots(options)
    first = 1 if options["transactional_snapshot"] else 0
    batches = at - first
    last = slots + (batches - 1 - slots) // count * count
    return _keys(options, slots, places), np.where(slots < batches, last + first, 0)


def _changes(options: Options, start: int, end: int) -> Changes:
    offsets, places = np.divmod(np.arange(start, end, dtype=np.int64), _batch_rows(options))
    first = 1 if options["transactional_snapshot"] else 0
    return Changes((_keys(options, (offsets - first) % _slots(options), places), offsets))


def _outputs(options: Options) -> tuple[Output, ...]:
    chance, partitions, width = Chance(options["seed"]), options["partitions"], options["value_size"]
    return (
        Output(
            name="key_value",
            columns=(
                (Column("key", UINT8, False), lambda options, rows: columns.uint8(rows[0])),
                (
                    Column("partition", UINT8, False),
                    lambda options, rows: columns.uint8(rows[0] % partitions),
                ),
                (
                    Column("value", BYTEA, False),
                    lambda options, rows: columns.binary(chance.bytes(width, "value", *rows)),
                ),
            ),
            discipline="keyed",
            keys=((1, 0),),
            units=_units,
            rows=_rows,
            changes=_changes,
            rows_per_unit=1,
            rows_per_offset=_batch_rows(options),
            metadata=((Column("offset", UINT8, False), lambda options, rows: columns.uint8(rows[1])),),
        ),
    )


KEY_VALUE = Generator(
    "key_value",
    _outputs,
    length=lambda options: _snapshot_offsets(options) if options["tick_interval_ms"] is None else None,
    at_once=_snapshot_offsets,
    units_per_offset=_batch_rows,
    row_bytes=lambda options: int(options["value_size"]) + _ROW_BYTES_APART_FROM_VALUE,
)
