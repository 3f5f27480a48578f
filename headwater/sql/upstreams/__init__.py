"""Upstreams: what may follow FROM in CREATE SOURCE, one file for each kind.

A kind is its words and a reader of what comes after them.  Kinds that we know by
name only are refused here, so that nothing else has to know of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor
from headwater.sql.upstreams import kafka, load_generator, mysql, postgres
from headwater.sql.upstreams.kafka import Kafka
from headwater.sql.upstreams.load_generator import LoadGenerator
from headwater.sql.upstreams.mysql import MySql
from headwater.sql.upstreams.postgres import Postgres
from headwater.sql.words import Branch, tree

Upstream = LoadGenerator | Postgres | MySql | Kafka
"""Any upstream; each has `render()`."""


_KINDS: Final[Branch[Callable[[Cursor], Upstream] | str]] = tree(
    [
        ("LOAD GENERATOR", load_generator.parse),
        ("POSTGRES", postgres.parse),
        ("MYSQL", mysql.parse),
        ("SQL SERVER", "SQL SERVER sources not supported"),
        ("KAFKA", kafka.parse),
        ("WEBHOOK", "WEBHOOK sources not yet supported"),
    ]
)


def parse_upstream(cursor: Cursor) -> Upstream:
    """What comes after FROM."""
    position = cursor.error_position()
    kind = cursor.choose(_KINDS)
    if isinstance(kind, str):
        raise UserError(kind, "0A000", position=position)
    return kind(cursor)
