"""PostgreSQL as an upstream: one slot and one stream per source, snapshots beside it.

connection.py session_settings.py        how it is reached, and what a session there is set to
types.py facts.py inspect.py pin.py      what it has, and what a table of ours takes of it
publication.py                 whether it has sent all that happened to that
frontier.py                    positions in the log, and of which history they are
slot.py reader.py spool.py     the slot, and the stream as it comes from it: keepalives, whole transactions
pgoutput.py decode.py          a stretch of the stream -> changes, column-wise
seen.py watch.py               what the stream does not say, found in the catalog at each stretch
identity.py                    whether changes still carry the key by which rows are followed
snapshot.py visibility.py      rows as of one moment, and which transactions they show
"""

from __future__ import annotations

from typing import Any

from headwater.core.frontier import Frontier
from headwater.core.relation import Column
from headwater.core.types import UINT8
from headwater.sources.contract import SourceType
from headwater.sources.postgres.decode import read
from headwater.sources.postgres.frontier import LsnFrontier
from headwater.sources.postgres.inspect import references
from headwater.sources.postgres.pin import pin
from headwater.sources.postgres.reader import SOURCE_TYPE, PostgresReader
from headwater.sources.postgres.slot import drop_slot
from headwater.sources.postgres.snapshot import PostgresPoint, Reading, covers

__all__ = ["POSTGRES"]


def _progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    return [(LsnFrontier.from_json(frontier).lsn,)]


def _offset(frontier: Frontier) -> int | None:
    return frontier.lsn if isinstance(frontier, LsnFrontier) else None


POSTGRES = SourceType(
    name=SOURCE_TYPE,
    title=lambda options: "Postgres",
    progress_columns=(Column("lsn", UINT8),),
    progress_rows=_progress_rows,
    frontier_from_json=LsnFrontier.from_json,
    offset=_offset,
    references=references,
    open=PostgresReader,
    read=read,
    prepare_snapshot=PostgresPoint,
    covers=covers,
    reading=Reading,
    drop=drop_slot,
    pin=pin,
)
