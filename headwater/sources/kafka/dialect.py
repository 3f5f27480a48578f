"""Kafka in SQL: from what was written to what a source keeps, and its own system relations."""

from __future__ import annotations

from typing import Any, Final

from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.core.limits import KAFKA_METADATA_S_MAX
from headwater.core.relation import Relation
from headwater.sources.contract import Options, Reference, Secrets
from headwater.sources.dialect import Dialect, Examined
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.connection_kind import KAFKA, REGISTRY
from headwater.sources.kafka.grammar import GRAMMAR
from headwater.sources.kafka.reader import SOURCE_TYPE
from headwater.sources.kafka.relations import MZ_KAFKA_CONNECTIONS, MZ_KAFKA_SOURCE_TABLES, MZ_KAFKA_SOURCES
from headwater.sources.kafka.topic import at_moment, beginnings, describe
from headwater.sql.upstream import Upstream

PREFIX: Final = "KAFKA source validation: "


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    topic = upstream.option("TOPIC")
    if topic is None:
        raise UserError("KAFKA CONNECTION without TOPIC", "22023")
    offsets, moment = upstream.option("START OFFSET"), upstream.option("START TIMESTAMP")
    if offsets is not None and moment is not None:
        raise UserError("cannot specify START TIMESTAMP and START OFFSET at same time", "22023")
    refresh = upstream.option("TOPIC METADATA REFRESH INTERVAL")
    seconds = None if refresh is None else refresh.milliseconds / 1000
    if seconds is not None and seconds > KAFKA_METADATA_S_MAX:
        raise UserError("TOPIC METADATA REFRESH INTERVAL cannot be greater than 1 hour", "22023")
    if seconds is not None and seconds < 1:
        raise UserError("TOPIC METADATA REFRESH INTERVAL must be at least 1 second", "22023")
    prefix = upstream.option("GROUP ID PREFIX") or ""
    return {
        "topic": topic,
        "group_id": f"{prefix}materialize-{unique_name()[:16]}",
        "group_id_prefix": prefix,
        "metadata_s": seconds,
        "start_offset": None if offsets is None else list(offsets),
        "start_ms": moment if moment is None or moment >= 0 else now_ms + moment,
    }


def _examine(options: Options, secrets: Secrets) -> Examined:
    admin = Admin(options["connection"], secrets)
    topic = describe(admin, options["topic"])
    if topic is None:
        raise UserError(f"{PREFIX}Topic does not exist", "42704", hint="Make it at the broker first.")
    low = beginnings(admin, topic)
    start = low
    if options["start_ms"] is not None:
        start = at_moment(admin, topic, options["start_ms"])
    elif options["start_offset"] is not None:
        start = _from_offsets(options, low)
    learnt = {"topic_id": topic.id, "start": list(start)}
    return Examined(references({**options, **learnt}, secrets, None), learnt)


def _from_offsets(options: Options, low: tuple[int, ...]) -> tuple[int, ...]:
    asked: list[int] = options["start_offset"]
    if len(asked) > len(low):
        raise UserError(
            f'{PREFIX}START OFFSET has {len(asked)} offsets, but topic "{options["topic"]}" has'
            f" {len(low)} partitions",
            "22023",
        )
    wanted = (*asked, *[0] * (len(low) - len(asked)))
    for number, (start, first) in enumerate(zip(wanted, low, strict=True)):
        if start < first:
            raise UserError(
                f"{PREFIX}Low watermark {first} of kafka topic {options['topic']} partition {number} is past"
                f" the start offset/resume upper: {start}",
                "22023",
                hint="Leave START OFFSET out to begin with what the topic still has.",
            )
    return wanted


def references(options: Options, secrets: Secrets, name: str | None) -> tuple[Reference, ...]:
    """The one topic."""
    return (Reference((), options["topic"], Relation(()), "appended"),)


DIALECT: Final = Dialect(
    source_type=SOURCE_TYPE,
    grammar=GRAMMAR,
    resolve=_resolve,
    examine=_examine,
    connections=(KAFKA, REGISTRY),
    relations=(MZ_KAFKA_CONNECTIONS, MZ_KAFKA_SOURCES, MZ_KAFKA_SOURCE_TABLES),
)
