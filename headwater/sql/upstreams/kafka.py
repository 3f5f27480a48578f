"""KAFKA: one topic of a broker.

    KAFKA CONNECTION connection (TOPIC [=] 't' [, GROUP ID PREFIX 'x'] [, START OFFSET (n, ...)]
        [, START TIMESTAMP n] [, TOPIC METADATA REFRESH INTERVAL i])

Offsets are those of the partitions, from 0.  A timestamp is in milliseconds, and a negative
one counts back from now.

Not here: whether the topic exists and where a timestamp is in it (sources/kafka), what
the messages mean (encoding.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import (
    Duration,
    OptionReader,
    duration,
    integers,
    parse_options,
    render_options,
    string,
)


def _offsets(cursor: Cursor) -> tuple[int, ...]:
    position = cursor.error_position()
    offsets = integers(cursor)
    if any(offset < 0 for offset in offsets):
        raise UserError("START OFFSET must be a nonnegative integer", position=position)
    return offsets


_OPTIONS: Final[dict[str, OptionReader]] = {
    "TOPIC": string,
    "GROUP ID PREFIX": string,
    "START OFFSET": _offsets,
    "START TIMESTAMP": lambda cursor: cursor.integer(negative=True),
    "TOPIC METADATA REFRESH INTERVAL": duration,
}


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic behind a connection; None, and no offset at all, is not said."""

    connection: Name
    topic: str | None = None
    group_id_prefix: str | None = None
    start_offset: tuple[int, ...] = ()
    start_timestamp: int | None = None
    topic_metadata_refresh_interval: Duration | None = None

    def render(self) -> str:
        options = render_options(self, _OPTIONS)
        return f"KAFKA CONNECTION {self.connection}" + (f" ({options})" if options else "")


def parse(cursor: Cursor) -> Kafka:
    """What comes after KAFKA."""
    cursor.expect("CONNECTION")
    connection = cursor.name()
    options = parse_options(cursor, _OPTIONS) if cursor.at_symbol("(") else {}
    return Kafka(connection, **options)
