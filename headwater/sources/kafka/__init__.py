"""Kafka as an upstream: topics, and any number of tables that are their shapes.

grammar.py connection_kind.py dialect.py relations.py    what is written and shown of it in SQL
connection.py topic.py registry.py     brokers, topics and schema registries: short questions
frontier.py matching.py                offsets of all partitions of topics; which topics a source is of
shape.py schemas.py growth.py          what FORMAT, INCLUDE and ENVELOPE make of messages; pinned
reader.py ranges.py snapshot.py        in the driver: how far, in which parts; where a table joins
copies.py uncommitted.py resync.py     from whom it has its rows; open transactions; beginning anew
consume.py read.py rows.py headers.py  in tasks: messages -> changes of all tables, fetched once
"""

from __future__ import annotations

from typing import Any

from headwater.core.frontier import Frontier
from headwater.core.relation import Column
from headwater.core.types import TEXT, UINT8, SqlType
from headwater.sources.contract import Options, SourceType
from headwater.sources.kafka.connection import NAMESPACE
from headwater.sources.kafka.copies import places_in
from headwater.sources.kafka.dialect import references, unlisted
from headwater.sources.kafka.frontier import Places, covers, position_from_text, progress_rows, reached
from headwater.sources.kafka.growth import grown
from headwater.sources.kafka.read import read, reading
from headwater.sources.kafka.reader import SOURCE_TYPE, KafkaReader, places_of, position
from headwater.sources.kafka.resync import resync, retied
from headwater.sources.kafka.shape import NONE, encoded
from headwater.sources.kafka.snapshot import KafkaPoint, forgotten

__all__ = ["KIND"]


def _progress_columns(options: Options) -> tuple[Column, ...]:
    places = (Column("partition", SqlType("numrange"), False), Column("offset", UINT8))
    return (Column("topic", TEXT, False), *places) if options["several"] else places


def _covers(frontier: Frontier, at: Any) -> bool:
    return covers(places_of(frontier), at)


KIND = SourceType(
    name=SOURCE_TYPE,
    namespace=NAMESPACE,
    title=lambda options: "Kafka",
    progress_columns=_progress_columns,
    progress_rows=progress_rows,
    frontier_from_json=Places.from_json,
    offset=lambda frontier: frontier.total() if isinstance(frontier, Places) else None,
    references=references,
    open=KafkaReader,
    read=read,
    prepare_snapshot=KafkaPoint,
    covers=_covers,
    reading=reading,
    position=position,
    position_from_text=position_from_text,
    reached=lambda frontier, position: reached(places_of(frontier), places_of(position)),
    single_output=lambda options: not options["several"],
    unlisted=unlisted,
    encode=encoded,
    places_in=places_in,
    grown=grown,
    snapshots_in_positions=True,
    resync=resync,
    retied=retied,
    forgotten=forgotten,
    snapshots_are_changes=lambda export: export.pinned.reference["envelope"] != NONE,
)
