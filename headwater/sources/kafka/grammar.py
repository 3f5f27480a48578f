"""KAFKA in SQL: topics of a broker.

    KAFKA CONNECTION connection ({TOPIC [=] 't' | TOPICS [=] ('t', ...) | TOPIC PATTERN [=] 'regex'}
        [, GROUP ID PREFIX 'x'] [, START OFFSET (n, ...)] [, START TIMESTAMP n]
        [, TOPIC METADATA REFRESH INTERVAL i])

Offsets are those of the partitions, from 0, and of one topic.  A timestamp is in milliseconds, and a
negative one counts back from now.

Not here: what the messages mean (sql/encoding.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor
from headwater.sql.options import duration, integers, string, strings
from headwater.sql.upstream import Grammar


def _offsets(cursor: Cursor) -> tuple[int, ...]:
    position = cursor.error_position()
    offsets = integers(cursor)
    if any(offset < 0 for offset in offsets):
        raise UserError("START OFFSET must be a nonnegative integer", "22023", position=position)
    return offsets


GRAMMAR: Final = Grammar(
    "KAFKA",
    {
        "TOPIC": string,
        "TOPICS": strings,
        "TOPIC PATTERN": string,
        "GROUP ID PREFIX": string,
        "START OFFSET": _offsets,
        "START TIMESTAMP": lambda cursor: cursor.integer(negative=True),
        "TOPIC METADATA REFRESH INTERVAL": duration,
    },
    connected=True,
    single=lambda upstream: upstream.option("TOPIC") is not None,
)
