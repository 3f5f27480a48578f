"""Kafka as an upstream: one topic a source, any number of tables that are its shapes.

grammar.py connection_kind.py dialect.py relations.py    what is written and shown of it in SQL
connection.py topic.py registry.py     brokers, topics and schema registries: short questions
frontier.py                            offsets of all partitions, and of which topic
shape.py schemas.py                    what FORMAT, INCLUDE and ENVELOPE make of messages; pinned
reader.py snapshot.py                  in the driver: how far, in which parts; where a table joins
consume.py read.py rows.py             in tasks: messages -> changes of all tables, fetched once
"""

from __future__ import annotations

from typing import Any

from headwater.core.frontier import Frontier
from headwater.core.relation import Column
from headwater.core.types import UINT8, SqlType
from headwater.sources.contract import Options, Secrets, SourceType
from headwater.sources.kafka.connection import NAMESPACE
from headwater.sources.kafka.dialect import references
from headwater.sources.kafka.frontier import Offsets, position_from_text, progress_rows
from headwater.sources.kafka.read import read, reading
from headwater.sources.kafka.reader import SOURCE_TYPE, KafkaReader, offsets_of
from headwater.sources.kafka.shape import NONE, encoded
from headwater.sources.kafka.snapshot import KafkaPoint

__all__ = ["KIND"]


def _position(options: Options, secrets: Secrets, now_ms: int) -> Frontier:
    reader = KafkaReader(options, secrets, None, None, lambda message, hint: False)
    return reader.probe(now_ms)


def _covers(frontier: Frontier, at: Any) -> bool:
    return Offsets.from_json(at["at"]) <= offsets_of(frontier)


KIND = SourceType(
    name=SOURCE_TYPE,
    namespace=NAMESPACE,
    title=lambda options: "Kafka",
    progress_columns=(Column("partition", SqlType("numrange"), False), Column("offset", UINT8)),
    progress_rows=progress_rows,
    frontier_from_json=Offsets.from_json,
    offset=lambda frontier: frontier.total() if isinstance(frontier, Offsets) else None,
    references=references,
    open=KafkaReader,
    read=read,
    prepare_snapshot=KafkaPoint,
    covers=_covers,
    reading=reading,
    position=_position,
    position_from_text=position_from_text,
    reached=lambda frontier, position: offsets_of(position) <= offsets_of(frontier),
    single_output=lambda options: True,
    encode=encoded,
    snapshots_are_changes=lambda export: export.pinned.reference["envelope"] != NONE,
)
