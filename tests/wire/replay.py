"""Scripts of messages: read, sent over a socket, and compared with what comes back.

    # words for the reader
    > Query "SELECT 1"                      sent
    < RowDescription "?column?":23:4:-1:0   expected, in this order
    < DataRow "1"
    < CommandComplete "SELECT 1"
    < ReadyForQuery "I"

A line is the name of a message and its parts; a part is a number, NULL, or a string as
Python writes one, bytes that are no text as `\\x..`.  All lines sent in a row go out
together.  An ErrorResponse shows severity, SQLSTATE and message.

What is expected was recorded from PostgreSQL 15:

    python -m tests.wire.replay SCRIPT HOST PORT

writes it anew.  What a script needs (tables) is in its lines that begin with `! `.
"""

from __future__ import annotations

import ast
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.support.wire import driver

QUIET_S = 0.3  # when recording: nothing more comes
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Exchange:
    """What is sent together, and what comes back."""

    sent: tuple[str, ...]
    expected: tuple[str, ...]


def exchanges(script: str) -> Iterator[Exchange]:
    """The exchanges of a script."""
    sent: list[str] = []
    expected: list[str] = []
    for line in script.splitlines():
        if line.startswith("> "):
            if expected:
                yield Exchange(tuple(sent), tuple(expected))
                sent, expected = [], []
            sent.append(line[2:])
        elif line.startswith("< "):
            expected.append(line[2:])
    if sent:
        yield Exchange(tuple(sent), tuple(expected))


def packed(line: str) -> bytes:
    """The bytes of a message of the client's."""
    name, _, rest = line.partition(" ")
    parts: tuple[Any, ...] = ast.literal_eval(f"({rest},)") if rest else ()
    match name:
        case "Query":
            return driver.query(*parts)
        case "Parse":
            return driver.parse(*parts)
        case "Bind":
            return driver.bind(*parts)
        case "Describe":
            return driver.describe(*parts)
        case "Execute":
            return driver.execute(*parts)
        case "Close":
            return driver.close(*parts)
        case "CopyData":
            return driver.message("d", parts[0].encode())
        case "CopyFail":
            return driver.message("f", driver.text(parts[0]))
        case "CopyDone":
            return driver.COPY_DONE
        case "Flush":
            return driver.FLUSH
        case "Sync":
            return driver.SYNC
        case "Raw":
            return driver.message(*parts)
    raise ValueError(f"there is no message {name}")


NAMES = {
    "1": "ParseComplete",
    "2": "BindComplete",
    "3": "CloseComplete",
    "n": "NoData",
    "I": "EmptyQueryResponse",
    "s": "PortalSuspended",
    "c": "CopyDone",
    "C": "CommandComplete",
    "Z": "ReadyForQuery",
    "d": "CopyData",
    "S": "ParameterStatus",
}


def shown(kind: str, body: bytes) -> str:
    """A message of the server's as a line."""
    match kind:
        case "T":
            return f"RowDescription {' '.join(_columns(body))}"
        case "t":
            count = int.from_bytes(body[:2], "big")
            oids = map(str, struct.unpack(f">{count}I", body[2:]))
            return " ".join(["ParameterDescription", *oids])
        case "D":
            values = ("NULL" if value is None else quoted(value) for value in driver.values(body))
            return f"DataRow {' '.join(values)}"
        case "E" | "N":
            fields = driver.fields(body)
            name = "ErrorResponse" if kind == "E" else "NoticeResponse"
            return f"{name} {fields['S']} {fields['C']} {quoted(fields['M'].encode())}"
        case "G" | "H":
            name = "CopyInResponse" if kind == "G" else "CopyOutResponse"
            formats = struct.unpack(f">{int.from_bytes(body[1:3], 'big')}h", body[3:])
            return f"{name} {body[0]} {list(formats)}"
        case "C" | "S":
            return f"{NAMES[kind]} {quoted(body[:-1])}"
    return f"{NAMES[kind]} {quoted(body)}" if body else NAMES[kind]


def quoted(data: bytes) -> str:
    """Bytes as a string of Python's."""
    return '"' + repr(data)[2:-1].replace('"', '\\"').replace("\\'", "'") + '"'


def _columns(body: bytes) -> Iterator[str]:
    rest = body[2:]
    while rest:
        end = rest.index(0)
        _, _, oid, size, modifier, format_ = struct.unpack(">IhIhih", rest[end + 1 : end + 19])
        yield f"{quoted(rest[:end])}:{oid}:{size}:{modifier}:{format_}"
        rest = rest[end + 19 :]


class Conversation:
    """A client that sends lines and shows what comes back as lines."""

    def __init__(self, host: str, port: int, user: str, database: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=TIMEOUT_S)
        self._held = b""
        self._socket.sendall(driver.startup(user=user, database=database))
        while self._reply()[0] != "Z":
            pass

    def send(self, lines: tuple[str, ...]) -> None:
        """Send these messages at once."""
        self._socket.sendall(b"".join(packed(line) for line in lines))

    def receive(self, count: int) -> list[str]:
        """So many messages."""
        return [shown(*self._reply()) for _ in range(count)]

    def receive_all(self) -> list[str]:
        """All messages until nothing comes any more."""
        lines: list[str] = []
        while True:
            self._socket.settimeout(TIMEOUT_S if not lines else QUIET_S)
            try:
                lines.append(shown(*self._reply()))
            except TimeoutError:
                return lines

    def end(self) -> bytes:
        """Say goodbye; what came without having been expected."""
        self._socket.sendall(driver.TERMINATE)
        while data := self._socket.recv(65536):
            self._held += data
        self._socket.close()
        return self._held

    def _reply(self) -> tuple[str, bytes]:
        while len(self._held) < 5 or len(self._held) < 1 + int.from_bytes(self._held[1:5], "big"):
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionError("the server has hung up")
            self._held += data
        end = 1 + int.from_bytes(self._held[1:5], "big")
        reply = chr(self._held[0]), self._held[5:end]
        self._held = self._held[end:]
        return reply


def record(path: Path, host: str, port: int, user: str) -> None:
    """Write a script's expected lines as this PostgreSQL answers now."""
    lines = path.read_text().splitlines()
    with psycopg.connect(host=host, port=port, user=user, dbname="postgres", autocommit=True) as connection:
        for line in lines:
            if line.startswith("! "):
                connection.execute(line[2:].encode())
    conversation = Conversation(host, port, user, "postgres")
    written: list[str] = []
    pending: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("> "):
            pending.append(line[2:])
        elif pending:
            conversation.send(tuple(pending))
            written += [f"< {reply}" for reply in conversation.receive_all()]
            pending = []
        if not line.startswith("< "):
            written.append(line)
    conversation.end()
    path.write_text("\n".join(written).rstrip("\n") + "\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "postgres")
