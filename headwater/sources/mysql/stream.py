"""The binary log of a server as it comes: whole events, checked, and nothing but what matters.

What servers tell of themselves (which file, which form, that they are still there) ends here, and so do
checksums and compression.

Not here: which of the events are wanted, and where they are kept (reader.py, spool.py).
"""

from __future__ import annotations

import select
import socket
import zlib
from collections import deque
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import pymysql

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import BINLOG_PIECE_BYTES, BINLOG_SILENCE_S_MAX
from headwater.sources.mysql import events as kinds
from headwater.sources.mysql.events import ARTIFICIAL, HEADER, Events
from headwater.sources.mysql.expand import expanded
from headwater.sources.mysql.gtid import GtidPosition, GtidSet
from headwater.sources.mysql.protocol import Damaged, Ended, Packets, begin, refused

_RECEIVE_BYTES: Final = 256 * 1024
_CHECKSUM_BYTES: Final = 4
_NONE, _CRC32 = 0, 1
_IGNORABLE: Final = 0x80
_DROPPED: Final = frozenset({
    3, 9, 11, 17, kinds.ROTATE, kinds.FORMAT_DESCRIPTION, kinds.HEARTBEAT, kinds.HEARTBEAT_V2,
    28, kinds.ROWS_QUERY, 35, 36, 37, kinds.ANNOTATE_ROWS, 161, kinds.MARIADB_GTID_LIST, 164,
})  # fmt: skip
"""Also stops, files to load, other remarks, groups of servers, what a file follows, how it is encrypted."""
_TAKEN: Final = frozenset({
    kinds.QUERY, kinds.XID, kinds.TABLE_MAP, kinds.INCIDENT, kinds.XA_PREPARE, kinds.TRANSACTION_PAYLOAD,
    kinds.INTVAR, kinds.RAND, kinds.USER_VAR, kinds.EXECUTE_LOAD,
    *kinds.WRITES, *kinds.UPDATES, *kinds.DELETES, *kinds.GTIDS, *range(165, 172),
})  # fmt: skip


class File(NamedTuple):
    """One of those that a log is made of."""

    number: int
    begun_s: int  # when, in seconds since 1970


def open_stream(
    connection: pymysql.Connection, after: GtidSet | GtidPosition, server_id: int
) -> BinlogStream:
    """All transactions but these, over a connection that is used for nothing else from now on."""
    try:
        return BinlogStream(connection, begin(connection, after, server_id))
    except pymysql.MySQLError as error:
        code, text = (*error.args, "")[:2] if error.args else (0, str(error))
        raise refused(code if isinstance(code, int) else 0, str(text)) from error
    except OSError as error:
        raise Ended(str(error)) from error


class BinlogStream:
    """A binary log that is being sent; read by one thread, and closed by any."""

    def __init__(self, connection: Any, checksums: bool) -> None:
        self._connection = connection
        self._socket: socket.socket = connection._sock
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._checker = Checker(checksums)
        self._packets = Packets()
        self._ready: deque[Events] = deque()
        self.heard_at = SYSTEM_CLOCK.monotonic_s()

    @property
    def file(self) -> File | None:
        """Which of the log's files is being sent; None: the server has not said it yet."""
        return self._checker.file

    def read(self, wait_s: float) -> Events | None:
        """What comes next; None if nothing has come in this time.  StreamError if nothing will."""
        if self._ready:
            return self._ready.popleft()
        data = self._receive(wait_s)
        if data is None:
            if SYSTEM_CLOCK.monotonic_s() - self.heard_at > BINLOG_SILENCE_S_MAX:
                raise Ended("the server has not sent anything for too long")
            return None
        self.heard_at = SYSTEM_CLOCK.monotonic_s()
        events = self._checker.checked(self._packets.events(data))
        try:
            self._ready.extend(piece for piece in expanded(events) if len(piece))
        except ValueError as error:
            raise Damaged(str(error)) from error
        return self._ready.popleft() if self._ready else None

    def _receive(self, wait_s: float) -> bytes | None:
        """What has come, up to about a piece; None: nothing."""
        pieces: list[bytes] = []
        size = 0
        try:
            while size < BINLOG_PIECE_BYTES and self._readable(0 if pieces else wait_s):
                data = self._socket.recv(_RECEIVE_BYTES)
                if not data:
                    break
                pieces.append(data)
                size += len(data)
            else:
                return b"".join(pieces) if pieces else None
        except OSError as error:
            raise Ended(f"the connection to the server was lost: {error}") from error
        if pieces:
            return b"".join(pieces)
        raise Ended("the server has closed the connection")

    def _readable(self, wait_s: float) -> bool:
        pending = getattr(self._socket, "pending", None)  # what TLS has deciphered already
        if pending is not None and pending():
            return True
        return bool(self._poll.poll(wait_s * 1000))

    def close(self) -> None:
        """Wakes up whoever reads."""
        with suppress(OSError):
            # Not that of TLS, which would wait for the other side.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        self._connection._force_close()


class Checker:
    """Verifies checksums and leaves out what is of no use."""

    def __init__(self, checksums: bool) -> None:
        self._checksums = checksums
        self._number = 0
        self.file: File | None = None

    def checked(self, events: list[memoryview]) -> Events:
        """Those that matter, without their checksums; Damaged if one is not what its checksum says."""
        wanted: list[memoryview] = []
        crc32, from_bytes = zlib.crc32, int.from_bytes
        for event in events:
            if len(event) < HEADER:
                raise Damaged("an event of the binary log ends within its header")
            kind = event[4]
            if kind == kinds.ROTATE:
                self._named(event)
            elif kind == kinds.FORMAT_DESCRIPTION:
                self._format(event)
            if kind in _DROPPED:
                continue
            flags = event[17]
            if kind not in _TAKEN:
                if flags & _IGNORABLE:
                    continue
                raise Damaged(f"the binary log has an event of kind {kind}, which is not known")
            if flags & ARTIFICIAL:
                continue
            if self._checksums:
                event, checksum = event[:-_CHECKSUM_BYTES], event[-_CHECKSUM_BYTES:]
                if crc32(event) != from_bytes(checksum, "little"):
                    raise Damaged("an event of the binary log is not what its checksum says")
            wanted.append(event)
        return Events.of(wanted) if wanted else Events(b"", np.empty(0, np.int64))

    def _named(self, event: memoryview) -> None:
        """Which file comes next."""
        name = bytes(event[HEADER + 8 : -_CHECKSUM_BYTES if self._checksums else None])
        _, _, number = name.rpartition(b".")
        self._number = int(number) if number.isdigit() else 0

    def _format(self, event: memoryview) -> None:
        """How the events behind it are, which differs by file."""
        self.file = File(self._number, int.from_bytes(event[:4], "little"))
        algorithm = event[-_CHECKSUM_BYTES - 1]
        if algorithm not in (_NONE, _CRC32):
            raise Damaged(f"the binary log has checksums of kind {algorithm}, which is not known")
        self._checksums = algorithm == _CRC32
