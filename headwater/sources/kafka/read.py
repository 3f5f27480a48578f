"""What tasks do: read stretches of a topic, and make the changes of all its tables from the same messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from headwater.core.change import Received
from headwater.core.errors import DefiniteError, TransientError
from headwater.sources.contract import Export, Options, ReadPart, Reset, Secrets, SnapshotChunk
from headwater.sources.kafka.connection import NAMESPACE, Admin, fingerprint, settings
from headwater.sources.kafka.consume import Messages, Stretch, consumption
from headwater.sources.kafka.reader import recreated
from headwater.sources.kafka.rows import Rows
from headwater.sources.kafka.topic import describe

Found: TypeAlias = pa.RecordBatch | Reset | Received | DefiniteError

_ADMINS_KEPT_MAX: Final = 8
_admins: dict[str, Admin] = {}


def read(part: ReadPart, secrets: Secrets) -> Iterator[tuple[Export, Found]]:
    """The changes of a part: every message is fetched once, for all tables."""
    stretches: list[Stretch] = [(p, start, end) for p, start, end in part.details]
    share = ",".join(str(partition) for partition, _, _ in stretches)
    making = {export.table_id: Rows(export, secrets) for export in part.exports}
    received = dict.fromkeys(making, Received())
    number = _numbering(stretches)
    with consumption(part.options, secrets, keep=True, share=share) as consumer:
        for found in consumer.read(stretches):
            sequence = number(found)
            for id_, rows in list(making.items()):
                batch, error, told = rows.made_of(found, sequence)
                received[id_] += told
                if error is not None:
                    del making[id_]
                    yield rows.export, error
                elif batch is not None:
                    yield rows.export, batch
    check_topic(part.options, secrets)
    for rows in making.values():
        yield rows.export, received[rows.export.table_id]


def _numbering(stretches: Sequence[Stretch]) -> Callable[[Messages], pa.Array]:
    """The order of changes: partition by partition, and in each as they stand there."""
    size = max(partition for partition, _, _ in stretches) + 1
    before = np.zeros(size, np.int64)
    passed = 0
    for partition, start, end in stretches:
        before[partition] = passed - start
        passed += end - start

    def number(found: Messages) -> pa.Array:
        return pa.array(before[found.partitions().to_numpy()] + found.offsets().to_numpy())

    return number


def check_topic(options: Options, secrets: Secrets) -> None:
    """What was read is of the topic that it should be of: it is still there, with the same id."""
    name = fingerprint(settings(options["connection"], secrets))
    admin = _admins.get(name)
    if admin is None:
        while len(_admins) >= _ADMINS_KEPT_MAX:
            _admins.pop(next(iter(_admins)))
        admin = _admins[name] = Admin(options["connection"], secrets)
    topic = describe(admin, options["topic"])
    if topic is None:
        raise TransientError(f'{NAMESPACE}: topic "{options["topic"]}" went away while it was read')
    if topic.id != options["topic_id"]:
        raise TransientError(f"{NAMESPACE}: {recreated(topic.name).message}")


@contextmanager
def reading(secrets: Secrets) -> Iterator[Callable[[SnapshotChunk], Iterator[pa.RecordBatch]]]:
    """Chunks of snapshots: a stretch of one partition each."""
    yield lambda chunk: _chunk(chunk, secrets)


def _chunk(chunk: SnapshotChunk, secrets: Secrets) -> Iterator[pa.RecordBatch]:
    partition, start, end = chunk.details
    stretches: list[Stretch] = [(partition, start, end)]
    rows, number = Rows(chunk.export, secrets), _numbering(stretches)
    with consumption(chunk.options, secrets, keep=False) as consumer:
        for found in consumer.read(stretches):
            batch, error, _ = rows.made_of(found, number(found))
            if error is not None:
                raise error
            if batch is not None:
                yield batch
    check_topic(chunk.options, secrets)
