"""A small SQL client over one blocking socket: PostgreSQL's simple query protocol, or a websocket.

Enough for `headwater sql` and `headwater demo`, which must work where no psql is
installed.  What the server says becomes events, in order:

    Columns, Row, Row, ..., Done        a statement that returns rows
    Done                                one that does not
    Copied, Copied, ..., Done           COPY ... TO STDOUT
    Notice                              anywhere

An error of the server is raised as the `UserError` it was over there.

Not here: the extended protocol, COPY FROM STDIN; over PostgreSQL's protocol passwords and TLS.  Programs
use a real driver.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException
from websockets.sync.client import connect

from headwater.core.errors import TransientError, UserError
from headwater.core.limits import CLIENT_CONNECT_S_MAX, MESSAGE_BYTES_MAX
from headwater.options import Address

USER: Final = "materialize"
DATABASE: Final = "materialize"
PROTOCOL_3_0: Final = 196_608


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of the rows that follow."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row in text form; None is NULL."""

    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """A piece of a COPY ... TO STDOUT."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """A statement has ended; its tag."""

    tag: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that is not an error."""

    severity: str
    message: str
    hint: str | None


Event = Columns | Row | Copied | Done | Notice


class Client:
    """A connection.  One statement at a time; events must be read to their end."""

    def __init__(self, address: Address, user: str = USER, database: str = DATABASE) -> None:
        self.address = address
        try:
            self._socket = socket.create_connection((address.host, address.port), CLIENT_CONNECT_S_MAX)
        except OSError as error:
            raise TransientError(
                f'could not connect to "{address}": {error.strerror or error}',
                hint="Start one with: headwater server --data-dir data  (or name another with --address)",
            ) from error
        self._socket.settimeout(None)  # a query may take its time and a SUBSCRIBE takes all of it
        self._stream = self._socket.makefile("rb")
        self._start(user, database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye, if anybody still listens."""
        try:
            self._socket.sendall(_message(b"X", b""))
        except OSError:
            pass  # the server has gone first, which is all the same now
        finally:
            self._stream.close()
            self._socket.close()

    def run(self, statement: str) -> Iterator[Event]:
        """Run a statement and yield what comes back; raises the server's error at the end."""
        self._send(b"Q", statement.encode() + b"\0")
        failure: UserError | None = None
        for kind, body in self._messages():
            match kind:
                case b"T":
                    yield Columns(_column_names(body))
                case b"D":
                    yield Row(_row_values(body))
                case b"C":
                    yield Done(_texts(body)[0])
                case b"d":
                    yield Copied(body)
                case b"N":
                    fields = _fields(body)
                    yield Notice(fields.get("S", "NOTICE"), fields.get("M", ""), fields.get("H"))
                case b"G":
                    self._send(b"f", b"this client cannot send COPY data\0")
                case b"E":
                    failure = _error(body)
        if failure is not None:
            raise failure

    def rows(self, statement: str) -> list[tuple[str | None, ...]]:
        """The rows of a statement, all at once."""
        return [event.values for event in self.run(statement) if isinstance(event, Row)]

    def _start(self, user: str, database: str) -> None:
        parameters = {"user": user, "database": database, "application_name": "headwater"}
        packed = b"".join(f"{key}\0{value}\0".encode() for key, value in parameters.items())
        body = struct.pack(">i", PROTOCOL_3_0) + packed + b"\0"
        self._socket.sendall(struct.pack(">i", len(body) + 4) + body)
        try:
            for kind, body in self._messages():
                if kind == b"E":
                    raise _error(body)
                if kind == b"R" and body[:4] != bytes(4):
                    raise UserError(
                        f'server "{self.address}" asks for a password',
                        "28000",
                        hint="This client has none to give; connect with psql.",
                    )
        except BaseException:
            self.close()
            raise

    def _messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Messages until the server is ready for the next query."""
        while True:
            kind, length = struct.unpack(">ci", self._read(5))
            if not 4 <= length <= MESSAGE_BYTES_MAX:
                raise TransientError(f'"{self.address}" does not speak PostgreSQL\'s protocol')
            body = self._read(length - 4)
            if kind == b"Z":
                return
            yield kind, body

    def _send(self, kind: bytes, body: bytes) -> None:
        try:
            self._socket.sendall(_message(kind, body))
        except OSError as error:
            raise self._gone() from error

    def _read(self, count: int) -> bytes:
        try:
            data = self._stream.read(count)
        except OSError as error:
            raise self._gone() from error
        if len(data) < count:
            raise self._gone()
        return data

    def _gone(self) -> TransientError:
        return TransientError(f'server "{self.address}" closed the connection')


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


def _texts(body: bytes) -> list[str]:
    """Zero-terminated texts."""
    return [part.decode(errors="replace") for part in body.split(b"\0")]


def _fields(body: bytes) -> dict[str, str]:
    """The fields of an error or notice by their letter."""
    return {text[0]: text[1:] for text in _texts(body) if text}


def _error(body: bytes) -> UserError:
    fields = _fields(body)
    position = fields.get("P", "0")
    return UserError(
        fields.get("M", "the server gave no reason"),
        fields.get("C", "XX000"),
        fields.get("D"),
        fields.get("H"),
        int(position) if position.isdigit() else 0,
    )


def _column_names(body: bytes) -> tuple[str, ...]:
    names, offset = [], 2
    for _ in range(struct.unpack_from(">h", body)[0]):
        end = body.index(b"\0", offset)
        names.append(body[offset:end].decode(errors="replace"))
        offset = end + 19  # the terminator and 18 bytes of facts about the type
    return tuple(names)


def _row_values(body: bytes) -> tuple[str | None, ...]:
    values: list[str | None] = []
    offset = 2
    for _ in range(struct.unpack_from(">h", body)[0]):
        (length,) = struct.unpack_from(">i", body, offset)
        offset += 4
        if length < 0:
            values.append(None)
        else:
            values.append(body[offset : offset + length].decode(errors="replace"))
            offset += length
    return tuple(values)


class HttpClient:
    """The same by a websocket: `url` is http://[user[:password]@]host[:port].

    Values come as JSON; what is no text there is shown as JSON.
    """

    def __init__(self, url: str, user: str = USER, database: str = DATABASE) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f'"{url}" is not of the form http://host:port', "22023")
        self._place = parts.netloc.rpartition("@")[2]
        first: dict[str, Any] = {"options": {"application_name": "headwater", "database": database}}
        first["user"] = unquote(parts.username or user)
        if parts.password is not None:
            first["password"] = unquote(parts.password)
        self._closing = ExitStack()
        scheme = "wss" if parts.scheme == "https" else "ws"
        try:
            self._socket = self._closing.enter_context(
                connect(
                    f"{scheme}://{self._place}/api/experimental/sql",
                    open_timeout=CLIENT_CONNECT_S_MAX,
                    max_size=MESSAGE_BYTES_MAX,
                    proxy=None,
                    compression=None,
                )
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise TransientError(
                f'could not connect to "{self._place}": {error}',
                hint="Start one with: headwater server --data-dir data  (or name another with --http)",
            ) from error
        try:
            self._socket.send(json.dumps(first))
            for kind, payload in self._messages():
                if kind == "Error":
                    raise _http_error(payload)
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

    def run(self, statement: str) -> Iterator[Event]:
        """Run a statement and yield what comes back; raises the server's error at the end."""
        failure: UserError | None = None
        try:
            self._socket.send(json.dumps({"query": statement}))
        except (OSError, WebSocketException) as error:
            raise self._gone() from error
        for kind, payload in self._messages():
            match kind:
                case "Rows":
                    yield Columns(tuple(column["name"] for column in payload["columns"]))
                case "Row":
                    yield Row(tuple(_shown(value) for value in payload))
                case "CommandComplete":
                    yield Done(payload)
                case "Notice":
                    yield Notice(payload["severity"].upper(), payload["message"], payload.get("hint"))
                case "Error":
                    failure = _http_error(payload)
        if failure is not None:
            raise failure

    def _messages(self) -> Iterator[tuple[str, Any]]:
        """Messages until the server is ready for the next query."""
        last: UserError | None = None
        while True:
            try:
                message = json.loads(self._socket.recv())
            except (OSError, WebSocketException) as error:
                raise last or self._gone() from error
            if message["type"] == "ReadyForQuery":
                return
            if message["type"] == "Error":
                last = _http_error(message["payload"])
            yield message["type"], message["payload"]

    def _gone(self) -> TransientError:
        return TransientError(f'server "{self._place}" closed the connection')


def _shown(value: Any) -> str | None:
    if isinstance(value, bool):
        return "t" if value else "f"
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _http_error(payload: dict[str, Any]) -> UserError:
    return UserError(
        payload["message"],
        payload["code"],
        payload.get("detail"),
        payload.get("hint"),
        payload.get("position", 0),
    )


_PIECE: Final = re.compile(
    r"""
      (?P<end>;)
    | (?P<space>\s+)
    | (?P<line_comment>--[^\n]*)
    | (?P<block_comment>/\*)
    | (?P<escaped>\b[eE]'(?:[^'\\]|\\.|'')*(?:'|$))
    | (?P<quoted>'(?:[^']|'')*(?:'|$))
    | (?P<name>"(?:[^"]|"")*(?:"|$))
    | (?P<dollar>(?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?:(?P=tag)|$))
    | (?P<other>\w+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def split_statements(text: str) -> list[str]:
    """The statements of a script, without their semicolons and without empty ones.

    Each is sent as a query of its own, as psql does: several in one query would be
    one transaction, in which much DDL is refused.
    """
    statements: list[str] = []
    start = offset = 0
    empty = True
    while offset < len(text):
        piece = _PIECE.match(text, offset)
        if piece is None:
            break
        offset = piece.end()
        match piece.lastgroup:
            case "block_comment":
                offset = _comment_end(text, offset)
            case "end":
                if not empty:
                    statements.append(text[start : piece.start()].strip())
                start, empty = offset, True
            case "space" | "line_comment":
                pass
            case _:
                empty = False
    if not empty:
        statements.append(text[start:].strip())
    return statements


def _comment_end(text: str, offset: int) -> int:
    """Where a block comment ends that begins before `offset`; they nest."""
    depth = 1
    while depth and offset < len(text):
        if text.startswith("/*", offset):
            depth, offset = depth + 1, offset + 2
        elif text.startswith("*/", offset):
            depth, offset = depth - 1, offset + 2
        else:
            offset += 1
    return offset
