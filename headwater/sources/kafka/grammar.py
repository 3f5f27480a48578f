"""KAFKA in SQL: one topic of a broker.

    KAFKA CONNECTION connection (TOPIC [=] 't' [, GROUP ID PREFIX 'x'] [, START OFFSET (n, ...)]
        [, START TIMESTAMP n] [, TOPIC METADATA REFRESH INTERVAL i])

Offsets are those of the partitions, from 0.  A timestamp is in milliseconds, and a negative
one counts back from now.

Not here: what the messages mean (sql/encoding.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor
from headwater.sql.options import duration, integers, string
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
        "GROUP ID PREFIX": string,
        "START OFFSET": _offsets,
        "START TIMESTAMP": lambda cursor: cursor.integer(negative=True),
        "TOPIC METADATA REFRESH INTERVAL": duration,
    },
    connected=True,
    single=lambda variant: True,
)
