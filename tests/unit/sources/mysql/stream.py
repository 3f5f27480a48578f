"""A binary log of MariaDB's as a test needs it, event by event, and the table that it is of."""

from __future__ import annotations

import struct

from headwater.sources.contract import Export
from headwater.sources.mysql import events as log
from headwater.sources.mysql.events import HEADER
from headwater.sources.mysql.facts import ColumnFacts, KeyFacts, ServerFacts, TableFacts
from headwater.sources.mysql.grants import Grants
from headwater.sources.mysql.pin import Rights, pin, reference_of

_ALL = Rights(Grants.parse(["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`"]))
_COLUMNS = (
    ColumnFacts("id", "int", "int", nullable=False, precision=10, scale=0),
    ColumnFacts("name", "varchar", "varchar(40)", length=40, charset="utf8mb4", place=1),
)
_KINDS, _DETAILS, _COLLATION, _NAMES = bytes((3, 15)), bytes((160, 0)), bytes((2, 1, 45)), b"\x02id\x04name"


def export() -> Export:
    """Of table `s.t`."""
    facts = TableFacts("s", "t", _COLUMNS, (KeyFacts("PRIMARY", ("id",), True),))
    server = ServerFacts("mariadb", (10, 11, 6), 1, {"binlog_row_metadata": "FULL"})
    made = pin(reference_of(server, _ALL, facts))
    return Export("u1", ("s", "t"), made.relation, ("id", "name"), made.discipline, pinned=made.pinned)


def event(kind: int, body: bytes) -> bytes:
    return struct.pack("<IBIIIH", 1_700_000_000, kind, 1, HEADER + len(body), 4, 0) + body


def begin(number: int) -> bytes:
    return event(log.MARIADB_GTID, struct.pack("<QIB6x", number, 0, 0))


def shape(table: str) -> bytes:
    """Of a table that has a number by its name."""
    names = b"".join(bytes((len(part),)) + part.encode() + b"\0" for part in ("s", table))
    told = bytes((2,)) + _KINDS + bytes((len(_DETAILS),)) + _DETAILS + b"\x02"
    return event(log.TABLE_MAP, _id(table) + names + told + _COLLATION + bytes((4, len(_NAMES))) + _NAMES)


def unreadable_shape(table: str) -> bytes:
    """Of a table that has a column of a kind with more details than there are."""
    names = b"".join(bytes((len(part),)) + part.encode() + b"\0" for part in ("s", table))
    return event(log.TABLE_MAP, _id(table) + names + b"\1\x0f\0\0")


def insert(table: str, *ids: int) -> bytes:
    rows = b"".join(b"\xfc" + struct.pack("<i", id_) + b"\x03new" for id_ in ids)
    return event(log.WRITE_ROWS_V1, _id(table) + b"\x02\xff" + rows)


def query(sql: bytes, session: bytes = b"") -> bytes:
    """A statement; `session`: what is told of who has sent it."""
    return event(log.QUERY, struct.pack("<IIBHH", 1, 0, 1, 0, len(session)) + session + b"s\0" + sql)


def _id(table: str) -> bytes:
    return struct.pack("<Q", ord(table))[:6] + b"\0\0"


COMMIT = event(log.XID, bytes(8))
