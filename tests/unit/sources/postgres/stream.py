"""Writes pgoutput messages, the plain way: the counterpart of what is tested."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from headwater.core.change import Discipline
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.sources.contract import Export, Pinned
from headwater.sources.postgres.decode import Segment
from headwater.sources.spooled import Stored

OID = 16_384
UNCHANGED = object()
Row = Sequence[object]


def begin(lsn: int, xid: int) -> bytes:
    return b"B" + struct.pack(">QQI", lsn, 0, xid)


def commit(lsn: int, end: int) -> bytes:
    return b"C" + struct.pack(">BQQQ", 0, lsn, end, 0)


def relation(
    columns: Sequence[tuple[str, int]],
    oid: int = OID,
    name: str = "t",
    schema: str = "public",
    identity: Sequence[str] | None = None,
) -> bytes:
    """A table's shape; its replica identity has these columns, or all."""
    text = b"R" + struct.pack(">I", oid) + schema.encode() + b"\0" + name.encode() + b"\0d"
    text += struct.pack(">H", len(columns))
    for column, type_oid in columns:
        text += (
            bytes([identity is None or column in identity])
            + column.encode()
            + b"\0"
            + struct.pack(">Ii", type_oid, -1)
        )
    return text


def row(values: Row) -> bytes:
    text = struct.pack(">H", len(values))
    for value in values:
        if value is None:
            text += b"n"
        elif value is UNCHANGED:
            text += b"u"
        else:
            data = value if isinstance(value, bytes) else str(value).encode()
            text += b"t" + struct.pack(">I", len(data)) + data
    return text


def insert(values: Row, oid: int = OID) -> bytes:
    return b"I" + struct.pack(">I", oid) + b"N" + row(values)


def update(values: Row, key: Row | None = None, old: Row | None = None, oid: int = OID) -> bytes:
    before = b"K" + row(key) if key is not None else b"O" + row(old) if old is not None else b""
    return b"U" + struct.pack(">I", oid) + before + b"N" + row(values)


def delete(key: Row | None = None, old: Row | None = None, oid: int = OID) -> bytes:
    before = b"K" + row(key) if key is not None else b"O" + row(old or ())
    return b"D" + struct.pack(">I", oid) + before


def truncate(*oids: int) -> bytes:
    return b"T" + struct.pack(f">IB{len(oids)}I", len(oids), 0, *oids)


def segment(messages: Sequence[bytes], **more: object) -> Segment:
    facts: dict[str, object] = {
        "relations": (),
        "transaction": (0, 0),
        "first": 0,
        "points": {},
    } | more
    lengths = np.array([len(message) for message in messages], np.uint32)
    return Segment(Stored(b"".join(messages)), lengths, **facts)  # type: ignore[arg-type]


def export(discipline: Discipline = "keyed", table_id: str = "u1", oid: int = OID) -> Export:
    """A table (id int, name text) of `public.t`."""
    columns = (Column("id", INT4, nullable=False), Column("name", TEXT))
    return Export(
        table_id,
        ("db", "public", "t"),
        Relation(columns, ((0,),) if discipline == "keyed" else ()),
        ("id", "name"),
        discipline,
        pinned=Pinned(
            (
                {"name": "id", "attnum": 1, "type_oid": 23, "typmod": -1, "not_null": True, "text": False},
                {"name": "name", "attnum": 2, "type_oid": 25, "typmod": -1, "not_null": False, "text": False},
            ),
            {
                "oid": oid,
                "schema": "public",
                "table": "t",
                "relkind": "r",
                "identity": "d",
                "row_filter": None,
            },
        ),
    )


SHAPE = relation([("id", 23), ("name", 25)])
