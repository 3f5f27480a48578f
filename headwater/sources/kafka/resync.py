"""A source that begins anew: with the topics that are there now, and with what they still have.

A topic that was made again has another id, and tables are tied to ids; one that has lost messages has the
same.  So a source has generations: frontiers say of which they are, and one of an earlier leads nowhere.

    resync      what is other in the options: where the source begins in each topic, and the next generation
    retied      a table, as one of the topic that has its topic's name now
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.core.errors import UserError
from headwater.core.export import Pinned
from headwater.sources.contract import Options, Secrets
from headwater.sources.kafka import matching
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.topic import Topic, answered, beginnings, starts


def resync(options: Options, secrets: Secrets) -> Options:
    """Topics that are the same begin where they did, or with the first message that is left."""
    admin = Admin(options["connection"], secrets)
    found = matching.found(options, admin, matching.named(options, admin))
    topics = [topic for topic in found.values() if isinstance(topic, Topic) and topic.readable]
    missing = sorted(set(options["topics"]) - {topic.name for topic in topics})
    if missing and not options["several"]:
        raise UserError(
            f'topic "{missing[0]}" does not exist, or may not be read',
            "42704",
            hint="Make it at the broker first, and allow the connection's user READ and DESCRIBE on it.",
        )
    low, begins = beginnings(admin, topics), starts(admin, topics, options["start_ms"])
    known: dict[str, Any] = {}
    for topic in topics:
        before = options["known"].get(topic.name, {"id": "", "start": []})
        start = list(answered(admin, topic.name, begins[topic.name]).offsets)
        if before["id"] == topic.id:
            first = answered(admin, topic.name, low[topic.name]).offsets
            was = [*before["start"], *[0] * (len(first) - len(before["start"]))]
            start = [max(one, other) for one, other in zip(first, was, strict=True)]
        known[topic.name] = {"id": topic.id, "start": start}
    return {"known": known, "generation": options.get("generation", 0) + 1}


def retied(options: Options, secrets: Secrets, tables: tuple[Pinned, ...]) -> tuple[Pinned, ...]:
    """What is pinned of tables of a source that begins anew."""
    return tuple(_tied(options, pinned) for pinned in tables)


def _tied(options: Options, pinned: Pinned) -> Pinned:
    now = options["known"].get(pinned.reference["topic"])
    if now is None:
        return pinned
    return replace(pinned, reference={**pinned.reference, "topic_id": now["id"]})
