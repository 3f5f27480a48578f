"""What tasks do: read stretches of topics, and make the changes of all tables from the same messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from headwater.core.change import Received
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.limits import KAFKA_ABSENT_S
from headwater.sources.contract import (
    Answers,
    Export,
    Options,
    ReadChunk,
    ReadPart,
    Reset,
    Secrets,
    SnapshotChunk,
)
from headwater.sources.kafka.connection import NAMESPACE, Admin, fingerprint, settings
from headwater.sources.kafka.consume import Messages, Stretch, Truncated, consumption
from headwater.sources.kafka.reader import ANOTHER_TABLE
from headwater.sources.kafka.rows import Rows
from headwater.sources.kafka.topic import Topic, describe
from headwater.sources.kafka.unforeseen import ended
from headwater.sources.unforeseen import attempted

Found: TypeAlias = pa.RecordBatch | Reset | Received | DefiniteError

_AGAIN_S: Final = 0.5
_ADMINS_KEPT_MAX: Final = 8
_admins: dict[str, Admin] = {}


def read(part: ReadPart, secrets: Secrets, answers: Answers) -> Iterator[tuple[Export, Found]]:
    """The changes of a part: every message is fetched once, for all tables of its topic."""
    ids: Mapping[str, str] = part.details["ids"]
    stretches: list[Stretch] = [
        (t, p, start, end, epoch) for t, p, start, end, epoch in part.details["stretches"]
    ]
    share = ",".join(f"{topic} {ids[topic]} {number}" for topic, number, *_ in stretches)
    received = {export.table_id: Received() for export in part.exports}
    making: dict[str, dict[str, Rows]] = {name: {} for name in ids}
    for export in part.exports:
        made = attempted(partial(Rows, export, secrets, answers))
        if isinstance(made, Exception):
            yield from ended(export, None, made)
        else:
            making[export.reference[-1]][export.table_id] = made
    for lost in _replaced(part, secrets, stretches):
        tables = making[lost.topic]
        yield from [(rows.export, _truncated(lost)) for rows in tables.values()]
        tables.clear()
    number = _numbering(stretches)
    with consumption(part.options, secrets, keep=True, share=share) as consumer:
        for found in consumer.read(stretches):
            tables = making[found.topic]
            if isinstance(found, Truncated):
                yield from [(rows.export, _truncated(found)) for rows in tables.values()]
                tables.clear()
                continue
            sequence = number(found)
            for id_, rows in list(tables.items()):
                changes = attempted(partial(rows.made_of, found, sequence))
                if isinstance(changes, Exception):
                    del tables[id_]
                    yield from ended(rows.export, found, changes)
                    continue
                batch, error, told = changes
                received[id_] += told
                if error is not None:
                    del tables[id_]
                    yield rows.export, error
                    yield rows.export, received[id_]
                elif batch is not None:
                    yield rows.export, batch
    # A topic of which nothing was wanted may have gone: that is found out before it is read again, and
    # others do not wait for it.
    asked = {topic: ids[topic] for topic, _, start, end, _ in stretches if start < end}
    check_topics(part.options, secrets, asked)
    for tables in making.values():
        for rows in tables.values():
            yield rows.export, received[rows.export.table_id]


def _replaced(part: ReadPart, secrets: Secrets, stretches: Sequence[Stretch]) -> Iterator[Truncated]:
    """Partitions with another leader since they were read, who has other messages there."""
    anew = [tuple(place) for place in part.details["led_anew"]]
    for topic, number, start, _, epoch in stretches:
        if (topic, number) in anew and start:
            with consumption(part.options, secrets, keep=False) as consumer:
                if consumer.replaced(topic, number, start, epoch):
                    yield Truncated(topic, number, start)


def _truncated(found: Truncated) -> DefiniteError:
    return DefiniteError(
        found.topic,
        f"{found.partition}:{found.start}",
        f'messages of partition {found.partition} of topic "{found.topic}" that were read before offset'
        f" {found.start} are there no more: another leader has other ones",
        hint=f"{ANOTHER_TABLE} Only leaders that had all messages are elected where"
        " unclean.leader.election.enable is off.",
    )


def _numbering(stretches: Sequence[Stretch]) -> Callable[[Messages], pa.Array]:
    """The order of changes: partition by partition, and in each as they stand there."""
    before: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    passed = 0
    for topic, partition, start, end, _ in stretches:
        if topic not in before:
            size = max(number for name, number, *_ in stretches if name == topic) + 1
            before[topic] = np.zeros(size, np.int64)
        before[topic][partition] = passed - start
        passed += end - start

    def number(found: Messages) -> pa.Array:
        return pa.array(before[found.topic][found.partitions.to_numpy()] + found.offsets.to_numpy())

    return number


def check_topics(options: Options, secrets: Secrets, ids: Mapping[str, str]) -> None:
    """What was read is of the topics that it should be of: they are still there, with the same ids."""
    strange = _strange(options, secrets, ids)
    if strange is not None:
        raise TransientError(f'{NAMESPACE}: topic "{strange}" went away while it was read')


def _strange(options: Options, secrets: Secrets, ids: Mapping[str, str]) -> str | None:
    """A topic that is not there any more, or another one."""
    key = fingerprint(settings(options["connection"], secrets))
    admin = _admins.pop(key, None) or Admin(options["connection"], secrets)
    described = describe(admin, ids)  # one that fails is not kept: it may ask a broker that is gone, for ever
    while len(_admins) >= _ADMINS_KEPT_MAX:
        _admins.pop(next(iter(_admins)))
    _admins[key] = admin
    return next((name for name, topic in described.items() if _id(topic) != ids[name]), None)


def _id(topic: object) -> str | None:
    return topic.id if isinstance(topic, Topic) else None


@contextmanager
def reading(secrets: Secrets, answers: Answers) -> Iterator[ReadChunk]:
    """Chunks of snapshots: a stretch of one partition each."""
    yield lambda chunk: _chunk(chunk, secrets, answers)


def _chunk(chunk: SnapshotChunk, secrets: Secrets, answers: Answers) -> Iterator[pa.RecordBatch | Received]:
    topic, topic_id, partition, start, end = chunk.details
    stretches: list[Stretch] = [(topic, partition, start, end, -1)]
    rows, number = Rows(chunk.export, secrets, answers), _numbering(stretches)
    received = Received()
    try:
        with consumption(chunk.options, secrets, keep=False) as consumer:
            for found in consumer.read(stretches):
                if isinstance(found, Truncated):
                    raise TransientError(_truncated(found).message)
                batch, error, told = rows.made_of(found, number(found))
                received += told
                if error is not None:
                    raise error
                if batch is not None:
                    yield batch
        check_topics(chunk.options, secrets, {topic: topic_id})
    except TransientError:
        _check_comes_again(chunk.options, secrets, topic, topic_id)
        raise
    yield received


def _check_comes_again(options: Options, secrets: Secrets, name: str, topic_id: str) -> None:
    """DefiniteError if a topic is gone for good: nobody can read the rest of it."""
    deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_ABSENT_S
    while _strange(options, secrets, {name: topic_id}) is not None:
        if SYSTEM_CLOCK.monotonic_s() > deadline:
            text = f'topic "{name}" went away before all of it was read'
            raise DefiniteError(name, "", text, hint=ANOTHER_TABLE)
        SYSTEM_CLOCK.sleep(_AGAIN_S)
