"""Which topics a source is of: one, several that are named, or all that a pattern matches.

A pattern is a regular expression in the syntax of RE2, and matches anywhere in a name: `^` and `$` say
where it begins and ends.  Topics that are the brokers' own never match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError

from headwater.core.errors import UserError
from headwater.sources.contract import Options
from headwater.sources.kafka.connection import Admin
from headwater.sources.kafka.topic import Topic, describe, names, unknown

OWN: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics of brokers; a broker says so too, of those that it knows."""


def check_pattern(pattern: str) -> None:
    """UserError unless it is a regular expression."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).rpartition("Invalid regular expression: ")[2]
        raise UserError(
            f'invalid TOPIC PATTERN: "{pattern}"',
            "2201B",
            detail=f"{reason}.",
            hint="It is a regular expression in the syntax of RE2, as in '^orders_.*$'.",
        ) from None


def matching(pattern: str, among: Iterable[str]) -> list[str]:
    """Those names that a pattern matches, in their order."""
    found = sorted({*among} - OWN)
    if not found:
        return []
    return [str(name) for name in pa.array(found).filter(pc.match_substring_regex(pa.array(found), pattern))]


def named(options: Options, admin: Admin) -> list[str]:
    """The names of a source's topics now; whether there are topics under them is another question."""
    pattern = options["pattern"]
    return list(options["topics"]) if pattern is None else matching(pattern, names(admin))


def names_one(options: Options, name: str) -> bool:
    """Whether a topic of this name belongs to a source."""
    pattern = options["pattern"]
    return name in options["topics"] if pattern is None else bool(matching(pattern, [name]))


def found(options: Options, admin: Admin, wanted: Iterable[str]) -> dict[str, Topic | KafkaError]:
    """What is known of these topics of a source; those that are not there are left out."""
    described = describe(admin, wanted)
    return {
        name: topic
        for name, topic in described.items()
        if not unknown(topic) and not (options["pattern"] is not None and _own(topic))
    }


def _own(topic: Topic | KafkaError) -> bool:
    return isinstance(topic, Topic) and topic.internal
