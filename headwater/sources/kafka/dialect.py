"""Kafka in SQL: from what was written to what a source keeps, and its own system relations.

What a source keeps of its topics:

    topics    their names, as written          known   by name: its id, and where the source begins in it
    pattern   or what their names must match   several whether it may be more than one
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError

from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.core.export import Pinned
from headwater.core.limits import KAFKA_METADATA_S_MAX
from headwater.core.relation import Relation
from headwater.sources.contract import Options, Reference, Secrets, Unlisted
from headwater.sources.dialect import Dialect, Examined
from headwater.sources.kafka import matching
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.connection_kind import KAFKA, REGISTRY
from headwater.sources.kafka.grammar import GRAMMAR
from headwater.sources.kafka.reader import SOURCE_TYPE
from headwater.sources.kafka.relations import MZ_KAFKA_CONNECTIONS, MZ_KAFKA_SOURCE_TABLES, MZ_KAFKA_SOURCES
from headwater.sources.kafka.topic import Ends, Topic, answered, beginnings, ends, starts
from headwater.sql.upstream import Upstream

PREFIX: Final = "KAFKA source validation: "
_TOPIC_OPTIONS: Final = ("TOPIC", "TOPICS", "TOPIC PATTERN")
_EACH_A_SOURCE: Final = (
    "Write TOPIC 't', and make a source for each topic; or leave the other clauses out, and"
)
_GRANT: Final = "Allow the connection's user READ and DESCRIBE on it."


def _resolve(upstream: Upstream, now_ms: int) -> dict[str, Any]:
    topics, pattern = _topics(upstream)
    offsets, moment = upstream.option("START OFFSET"), upstream.option("START TIMESTAMP")
    if offsets is not None and moment is not None:
        raise UserError("cannot specify START TIMESTAMP and START OFFSET at same time", "22023")
    several = upstream.option("TOPIC") is None
    if offsets is not None and several:
        raise UserError(
            "START OFFSET is not supported with several topics",
            "0A000",
            detail="Its offsets are those of the partitions of one topic.",
            hint="Use START TIMESTAMP, which is a place in each of them, or make a source for each topic.",
        )
    refresh = upstream.option("TOPIC METADATA REFRESH INTERVAL")
    seconds = None if refresh is None else refresh.milliseconds / 1000
    if seconds is not None and seconds > KAFKA_METADATA_S_MAX:
        raise UserError("TOPIC METADATA REFRESH INTERVAL cannot be greater than 1 hour", "22023")
    if seconds is not None and seconds < 1:
        raise UserError("TOPIC METADATA REFRESH INTERVAL must be at least 1 second", "22023")
    prefix = upstream.option("GROUP ID PREFIX") or ""
    return {
        "topics": topics,
        "pattern": pattern,
        "several": several,
        "group_id": f"{prefix}materialize-{unique_name()[:16]}",
        "group_id_prefix": prefix,
        "metadata_s": seconds,
        "start_offset": None if offsets is None else list(offsets),
        "start_ms": moment if moment is None or moment >= 0 else now_ms + moment,
    }


def _topics(upstream: Upstream) -> tuple[list[str], str | None]:
    """The names of topics that were written, or their pattern."""
    written = [name for name in _TOPIC_OPTIONS if upstream.option(name) is not None]
    if not written:
        raise UserError(
            "KAFKA CONNECTION without TOPIC",
            "22023",
            hint="Write TOPIC 't', TOPICS ('t', 'u') or TOPIC PATTERN '^t_'.",
        )
    if len(written) > 1:
        raise UserError(f"cannot specify {written[0]} and {written[1]} at same time", "22023")
    pattern: str | None = upstream.option("TOPIC PATTERN")
    if pattern is not None:
        matching.check_pattern(pattern)
        return [], pattern
    if upstream.option("TOPIC") is not None:
        return [upstream.option("TOPIC")], None
    topics = list(upstream.option("TOPICS"))
    twice = next((name for name in topics if topics.count(name) > 1), None)
    if twice is not None:
        raise UserError(f'topic "{twice}" specified more than once', "42710", hint="Name it once in TOPICS.")
    return topics, None


def _examine(options: Options, secrets: Secrets) -> Examined:
    admin = Admin(options["connection"], secrets)
    found = matching.found(options, admin, matching.named(options, admin))
    _check_there(options, found)
    topics = {name: topic for name, topic in found.items() if isinstance(topic, Topic) and topic.readable}
    learnt = {
        "known": {n: {"id": topics[n].id, "start": s} for n, s in _begins(options, admin, topics).items()}
    }
    warnings = _past_ends(options, admin, topics) if topics else (_nothing_matches(options),)
    return Examined(_references(topics.values()), learnt, warnings)


def _begins(options: Options, admin: Admin, topics: Mapping[str, Topic]) -> dict[str, list[int]]:
    """By topic and partition, where the source begins."""
    told = {
        name: answered(admin, name, at)
        for name, at in starts(admin, topics.values(), options["start_ms"]).items()
    }
    if options["start_offset"] is None:
        return {name: list(at.offsets) for name, at in told.items()}
    low = {name: answered(admin, name, at) for name, at in beginnings(admin, topics.values()).items()}
    return {name: _from_offsets(options, name, at) for name, at in low.items()}


def _check_there(options: Options, found: Mapping[str, Topic | KafkaError]) -> None:
    """UserError unless there are all topics that were named, and they may be read."""
    missing = [f'"{name}"' for name in options["topics"] if name not in found]
    if missing:
        raise UserError(
            f"{PREFIX}Topic does not exist",
            "42704",
            detail=f"There is no topic {', '.join(missing)}." if options["several"] else None,
            hint="Make it at the broker first.",
        )
    for name in options["topics"]:
        topic = found[name]
        if isinstance(topic, KafkaError) or not topic.readable:
            raise UserError(f'{PREFIX}not authorized to read topic "{name}"', "42501", hint=_GRANT)


def _nothing_matches(options: Options) -> tuple[str, str]:
    return (
        f'no topic matches "{options["pattern"]}"',
        "Topics that appear later and match are listed by ALTER SOURCE .. REFRESH REFERENCES. The pattern"
        " matches anywhere in a name; ^ and $ say where it begins and ends.",
    )


def _from_offsets(options: Options, name: str, low: Ends) -> list[int]:
    asked: list[int] = options["start_offset"]
    if len(asked) > len(low.offsets):
        raise UserError(
            f'{PREFIX}START OFFSET has {len(asked)} offsets, but topic "{name}" has'
            f" {len(low.offsets)} partitions",
            "22023",
            hint="Write one for each partition, from 0 on; those that are added later are read as a whole.",
        )
    wanted = [*asked, *[0] * (len(low.offsets) - len(asked))]
    for number, (start, first) in enumerate(zip(wanted, low.offsets, strict=True)):
        if start < first:
            raise UserError(
                f"{PREFIX}Low watermark {first} of kafka topic {name} partition {number} is past"
                f" the start offset/resume upper: {start}",
                "22023",
                hint="Leave START OFFSET out to begin with what the topic still has.",
            )
    return wanted


def _past_ends(options: Options, admin: Admin, topics: Mapping[str, Topic]) -> tuple[tuple[str, str], ...]:
    """Offsets that were written and are still to come: somebody may be mistaken, and would not notice."""
    asked = options["start_offset"]
    if asked is None:
        return ()
    ((name, told),) = ends(admin, topics.values()).items()
    return tuple(
        (
            f'START OFFSET {start} is past the end of partition {number} of topic "{name}", {end}',
            "Messages before it will not be read. Drop the source and create it again if that is not meant.",
        )
        for number, (start, end) in enumerate(zip(asked, answered(admin, name, told).offsets, strict=False))
        if start > end
    )


def references(options: Options, secrets: Secrets, name: str | None) -> tuple[Reference, ...]:
    """The one topic; or those that are there now, or the one with this name."""
    if not options["several"]:
        (topic,) = options["topics"]
        return (_reference(topic, options["known"][topic]["id"]),)
    admin = Admin(options["connection"], secrets)
    if name is None:
        wanted = matching.named(options, admin)
    else:
        wanted = [name] if matching.names_one(options, name) else []
    there = matching.found(options, admin, wanted).values()
    return _references(topic for topic in there if isinstance(topic, Topic) and topic.readable)


def _references(topics: Iterable[Topic]) -> tuple[Reference, ...]:
    return tuple(_reference(topic.name, topic.id) for topic in sorted(topics, key=lambda topic: topic.name))


def _reference(name: str, topic_id: str) -> Reference:
    return Reference((), name, Relation(()), "appended", Pinned((), {"topic_id": topic_id}))


def unlisted(options: Options, secrets: Secrets, name: str) -> tuple[Unlisted, ...]:
    """A topic that there is, and that is none of the source's, or may not be read."""
    found = matching.found(options, Admin(options["connection"], secrets), [name]).get(name)
    if found is None:
        return ()
    if matching.names_one(options, name):
        return (Unlisted((name,), "may not be read by the connection's user", _GRANT),)
    if isinstance(found, KafkaError):
        return ()
    if options["pattern"] is None:
        return (Unlisted((name,), "is none of the source's topics", "Make another source for it."),)
    why = f'is a topic that does not match "{options["pattern"]}"'
    return (Unlisted((name,), why, "Make another source for it."),)


def _check_legacy(upstream: Upstream) -> None:
    written = next((name for name in _TOPIC_OPTIONS[1:] if upstream.option(name) is not None), None)
    if written is not None:
        raise UserError(
            f"{written} is not supported in the legacy syntax",
            "0A000",
            detail="FORMAT, INCLUDE, ENVELOPE and FOR .. of CREATE SOURCE are of one topic.",
            hint=f"{_EACH_A_SOURCE} CREATE TABLE .. FROM SOURCE .. (REFERENCE t) FORMAT .. for each topic.",
        )


def _how_to_name(options: Options) -> str | None:
    if not options["several"]:
        return None
    return "Say which topic is wanted: CREATE TABLE .. FROM SOURCE .. (REFERENCE topic)"


DIALECT: Final = Dialect(
    source_type=SOURCE_TYPE,
    grammar=GRAMMAR,
    resolve=_resolve,
    examine=_examine,
    connections=(KAFKA, REGISTRY),
    relations=(MZ_KAFKA_CONNECTIONS, MZ_KAFKA_SOURCES, MZ_KAFKA_SOURCE_TABLES),
    reference_required=_how_to_name,
    unnamed="missing REFERENCE",
    check_legacy=_check_legacy,
)
