"""PostgreSQL as an upstream: one slot and one stream per source, snapshots beside it.

grammar.py connection_kind.py dialect.py  what is written of it in SQL
connection.py session_settings.py        how it is reached, and what a session there is set to
types.py facts.py inspect.py pin.py      what it has, and what a table of ours takes of it
unlisted.py                    why something that it has cannot be taken
publication.py                 whether it has sent all that happened to that
frontier.py                    positions in the log, and of which history they are
position.py retained.py        where the server is and what it keeps for us, asked beside the stream
slot.py reader.py spool.py     the slot, and the stream as it comes from it: keepalives, whole transactions
pgoutput.py decode.py          a stretch of the stream -> changes, column-wise
altered.py                     what became of a table's columns and keys, in words
resync.py                      beginning anew, also with tables that were created again
seen.py watch.py               what the stream does not say, found in the catalog at each stretch
identity.py                    whether changes still carry the key by which rows are followed
snapshot.py visibility.py      rows as of one moment, and which transactions they show
"""

from __future__ import annotations

from typing import Any

from headwater.core.frontier import Frontier
from headwater.core.relation import Column
from headwater.core.types import UINT8
from headwater.sources.column_options import taken_as_text
from headwater.sources.contract import SourceType
from headwater.sources.postgres.decode import read
from headwater.sources.postgres.frontier import LsnFrontier
from headwater.sources.postgres.inspect import references
from headwater.sources.postgres.pin import check_access, pin, same_reference
from headwater.sources.postgres.position import position, position_from_text, reached
from headwater.sources.postgres.reader import SOURCE_TYPE, PostgresReader
from headwater.sources.postgres.resync import resync, retied
from headwater.sources.postgres.retained import retained
from headwater.sources.postgres.slot import drop_slot
from headwater.sources.postgres.snapshot import PostgresPoint, Reading, covers
from headwater.sources.postgres.unlisted import unlisted

__all__ = ["KIND"]


def _progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    return [(LsnFrontier.from_json(frontier).lsn,)]


def _offset(frontier: Frontier) -> int | None:
    return frontier.lsn if isinstance(frontier, LsnFrontier) else None


KIND = SourceType(
    name=SOURCE_TYPE,
    namespace=SOURCE_TYPE,
    title=lambda options: "Postgres",
    progress_columns=lambda options: (Column("lsn", UINT8),),
    progress_rows=_progress_rows,
    frontier_from_json=LsnFrontier.from_json,
    offset=_offset,
    references=references,
    unlisted=unlisted,
    open=PostgresReader,
    read=lambda part, secrets, answers: read(part),
    prepare_snapshot=PostgresPoint,
    covers=covers,
    reading=lambda secrets, answers: Reading(secrets),
    position=position,
    position_from_text=lambda options, text: position_from_text(text),
    reached=reached,
    retained=retained,
    drop=drop_slot,
    resync=resync,
    retied=retied,
    pin=pin,
    same_reference=same_reference,
    taken_as_text=taken_as_text,
    check_access=check_access,
    chooses_columns=True,
)
