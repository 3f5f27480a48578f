"""What is said to a server to have its binary log, and what its packets are.

    packet    size:3 number:1, then 0 event | 255 code:2 #state:5 text | 254 the end

A packet of the greatest size goes on in the next one.

    MySQL     COM_BINLOG_DUMP_GTID: everything that is not in a set
    MariaDB   COM_BINLOG_DUMP, with the position in a variable of the session

Not here: the events (stream.py).
"""

from __future__ import annotations

import re
import struct
import uuid
from itertools import groupby
from typing import Final

import pymysql

from headwater.core.limits import BINLOG_EVENT_BYTES_MAX, BINLOG_HEARTBEAT_S
from headwater.sources.mysql.gtid import GtidPosition, GtidSet, Interval

_REGISTER, _DUMP, _DUMP_GTID = 0x15, 0x12, 0x1E
_THROUGH_GTID: Final = 0x04
_BEGIN: Final = 4  # where the first event of a log is
_PACKET_MAX: Final = 0xFFFFFF
_FATAL: Final = 1236
_PURGED: Final = re.compile(r"purged|too old", re.IGNORECASE)
_DIVERGED: Final = re.compile(r"more GTIDs than|not in the master's binlog|diverged", re.IGNORECASE)
_NAMELESS: Final = re.compile(r"anonymous transaction", re.IGNORECASE)
_TAKEN: Final = re.compile(r"same server_?(?:uu)?id", re.IGNORECASE)


class StreamError(Exception):
    """The server sends no more of its log."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.code = code  # the server's, 0: it did not say anything


class Ended(StreamError):
    """The connection is gone, or the server says nothing any more."""


class Damaged(StreamError):
    """What came is not what the server wrote."""


class Purged(StreamError):
    """The server does not have any more what comes next."""


class Diverged(StreamError):
    """The server does not have what was read already."""


class Nameless(StreamError):
    """There is a transaction in the log that has no GTID."""


class ServerIdTaken(StreamError):
    """Somebody else has come with our number."""


def refused(code: int, text: str) -> StreamError:
    """What a server says, as an error."""
    if _TAKEN.search(text):
        return ServerIdTaken(text, code)
    if code == _FATAL:
        for pattern, kind in ((_DIVERGED, Diverged), (_PURGED, Purged), (_NAMELESS, Nameless)):
            if pattern.search(text):
                return kind(text, code)
    return StreamError(text, code)


def begin(connection: pymysql.Connection, after: GtidSet | GtidPosition, server_id: int) -> bool:
    """Has the server send its log; whether what it sends has checksums at first."""
    mariadb = isinstance(after, GtidPosition)
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@global.binlog_checksum")
        row = cursor.fetchone()
        checksum = str(row[0]) if row else "NONE"
        heartbeat_ns = BINLOG_HEARTBEAT_S * 1_000_000_000
        settings = {
            # Servers know themselves and who reads along by the old names, by the new ones, or both.
            "@master_binlog_checksum": checksum,
            "@source_binlog_checksum": checksum,
            "@master_heartbeat_period": heartbeat_ns,
            "@source_heartbeat_period": heartbeat_ns,
        }
        if mariadb:
            settings |= {
                "@mariadb_slave_capability": 4,
                "@slave_connect_state": str(after),
                "@slave_gtid_strict_mode": 0,
                "@slave_gtid_ignore_duplicates": 0,
            }
        else:
            name = str(uuid.uuid4())
            settings |= {"@slave_uuid": name, "@replica_uuid": name}
        cursor.execute("SET " + ", ".join(f"{name} = %s" for name in settings), tuple(settings.values()))
    if isinstance(after, GtidPosition):
        _register(connection, server_id)
        connection._execute_command(_DUMP, struct.pack("<IHI", _BEGIN, 0, server_id))
    else:
        told = encoded(after)
        head = struct.pack("<HIIQI", _THROUGH_GTID, server_id, 0, _BEGIN, len(told))
        connection._execute_command(_DUMP_GTID, head + told)
    return checksum != "NONE"


def _register(connection: pymysql.Connection, server_id: int) -> None:
    # Its name, user and password, which only show in SHOW SLAVE HOSTS, then its port, rank and primary.
    told = struct.pack("<I", server_id) + bytes(3) + struct.pack("<HII", 0, 0, 0)
    connection._execute_command(_REGISTER, told)
    connection._read_packet()


def encoded(gtids: GtidSet) -> bytes:
    """A set as servers write it; with tags it has another form."""
    tagged = any(":" in source for source in gtids.intervals)
    count = len(gtids.intervals)
    told = [struct.pack("<Q", 1 << 56 | count << 8 | 1 if tagged else count)]
    for name, sources in groupby(gtids.intervals, lambda source: source.partition(":")[0]):
        for source in sources:
            told.append(uuid.UUID(name).bytes)
            if tagged:
                tag = source[len(name) + 1 :].encode()
                told += [bytes([len(tag) << 1]), tag]
            told.append(_intervals(gtids.intervals[source]))
    return b"".join(told)


def _intervals(intervals: tuple[Interval, ...]) -> bytes:
    numbers = [number for first, last in intervals for number in (first, last + 1)]
    return struct.pack(f"<Q{len(numbers)}q", len(intervals), *numbers)


class Packets:
    """Takes packets apart as their bytes come in."""

    def __init__(self) -> None:
        self._rest = b""
        self._begun: list[bytes] = []  # of one that goes on in the next
        self._begun_bytes = 0

    def events(self, data: bytes) -> list[memoryview]:
        """The whole events that are there now; StreamError if the server ends.

        What an error follows is handed out, and the error with the next call.
        """
        data = self._rest + data if self._rest else data
        events: list[memoryview] = []
        view, at, total = memoryview(data), 0, len(data)
        unpack = struct.Struct("<I").unpack_from
        while at + 4 < total:
            size = unpack(data, at)[0] & _PACKET_MAX
            end = at + 4 + size
            if end > total:
                break
            if size == _PACKET_MAX or self._begun:
                packet = self._joined(view[at + 4 : end])
            elif data[at + 4] == 0:
                packet = view[at + 4 : end]
            elif events:
                break
            else:
                raise _told(data[at + 4 : end])
            if packet is not None:
                events.append(packet[1:])
            at = end
        self._rest = data[at:]
        return events

    def _joined(self, piece: memoryview) -> memoryview | None:
        self._begun.append(bytes(piece))
        self._begun_bytes += len(piece)
        if self._begun_bytes > BINLOG_EVENT_BYTES_MAX:
            raise Damaged(f"an event of the binary log has more than {BINLOG_EVENT_BYTES_MAX} bytes")
        if len(piece) == _PACKET_MAX:
            return None
        whole = b"".join(self._begun)
        self._begun, self._begun_bytes = [], 0
        if whole[:1] != b"\0":
            raise Damaged("a packet of the server is none of its binary log")
        return memoryview(whole)


def _told(packet: bytes) -> StreamError:
    if packet[:1] == b"\xff" and len(packet) >= 3:
        code, text = int.from_bytes(packet[1:3], "little"), packet[3:]
        return refused(code, (text[6:] if text[:1] == b"#" else text).decode(errors="replace"))
    if packet[:1] == b"\xfe":
        return Ended("the server has ended its binary log")
    return Damaged("a packet of the server is none of its binary log")
