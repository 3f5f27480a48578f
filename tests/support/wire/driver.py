"""Drives a conversation without a socket or an event loop, and packs and unpacks messages.

`Client.send` feeds bytes and takes steps until the conversation wants more than there
is; what was written meanwhile comes back as (kind, body) pairs.  A call to the
coordinator must not wait: nothing here could wake it.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Coroutine
from typing import Any, cast

from headwater.pgwire.login import ANYBODY, Entrance
from headwater.pgwire.session import Door, conversation
from headwater.pgwire.steps import Await, Channel, Disconnected, Flush, Glance, Read, Secure, Step, Write
from tests.support.wire.fake_sessions import FakeSessions

Reply = tuple[str, bytes]


def completed(awaitable: Awaitable[Any]) -> Any:
    """The outcome of a coroutine that does not wait."""
    try:
        cast(Coroutine[Any, Any, Any], awaitable).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a call waits, and nobody can wake it")


class Client:
    """A client in front of a conversation."""

    def __init__(
        self,
        sessions: FakeSessions,
        admitted: bool = True,
        entrance: Entrance = ANYBODY,
        channel: Channel | None = None,
    ) -> None:
        """`channel` is what encryption gives, if the client asks for it."""
        self.told: list[bytes] = []  # at once
        self.channel = channel
        self.steps = conversation(
            Door(sessions, False, "test", lambda: admitted, self.told.append, lambda: None, entrance)
        )
        self.taken: list[Step] = []
        self.written = b""
        self.received = b""
        self.ended = False
        self._step: Step | None = None
        self._advance(None)

    def send(self, data: bytes) -> list[Reply]:
        """Feed bytes and see what comes back."""
        self.received += data
        while not self.ended and isinstance(self._step, Read) and len(self.received) >= self._step.count:
            taken, self.received = self.received[: self._step.count], self.received[self._step.count :]
            self._advance(taken)
        return self.replies()

    def throw(self, error: BaseException) -> list[Reply]:
        """End the conversation from outside."""
        self._advance(None, error)
        return self.replies()

    def start(self, **parameters: str) -> list[Reply]:
        """Send a startup message."""
        return self.send(startup(**{"user": "me", **parameters}))

    def replies(self) -> list[Reply]:
        data, self.written = self.written, b""
        return unpack(data)

    def _advance(self, answer: Any, error: BaseException | None = None) -> None:
        """Take steps until one is a Read."""
        while True:
            try:
                step = self.steps.throw(error) if error is not None else self.steps.send(answer)
            except StopIteration:
                self.ended = True
                return
            answer = error = None
            self.taken.append(step)
            self._step = step
            match step:
                case Read():
                    return
                case Glance(count):
                    answer = self.received[:count]
                case Write(data):
                    self.written += data
                case Secure():
                    answer = self.channel
                case Await(call, _):
                    try:
                        answer = completed(call())
                    except Exception as raised:
                        error = raised
                case Flush():
                    pass


def goodbye(client: Client) -> None:
    """The client goes away, if it has not gone yet: a conversation must be ended by throwing."""
    if not client.ended:
        client.throw(Disconnected())


def unpack(data: bytes) -> list[Reply]:
    """Messages of the server's; a lone N or S is the answer to a request for encryption."""
    replies = []
    while data:
        if data[:1] in (b"N", b"S") and (len(data) < 5 or data[1:2] != b"\x00"):
            replies.append((data[:1].decode(), b""))
            data = data[1:]
            continue
        length = int.from_bytes(data[1:5], "big")
        assert len(data) >= length + 1, "a message is cut short"
        replies.append((chr(data[0]), data[5 : length + 1]))
        data = data[length + 1 :]
    return replies


def request(code: int, body: bytes = b"") -> bytes:
    """A packet as it comes before the first message."""
    return struct.pack(">II", 8 + len(body), code) + body


def kinds(replies: list[Reply]) -> str:
    """The kinds of messages, as one word."""
    return "".join(kind for kind, _ in replies)


def fields(body: bytes) -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\x00") if part}


def error_of(replies: list[Reply]) -> dict[str, str]:
    """The fields of the one error among these."""
    (body,) = [body for kind, body in replies if kind == "E"]
    return fields(body)


def rows_of(replies: list[Reply]) -> list[tuple[bytes | None, ...]]:
    """The values of all DataRows."""
    return [values(body) for kind, body in replies if kind == "D"]


def values(body: bytes) -> tuple[bytes | None, ...]:
    """The values of one DataRow."""
    found: list[bytes | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        length = int.from_bytes(body[at : at + 4], "big", signed=True)
        at += 4
        found.append(None if length < 0 else body[at : at + length])
        at += max(length, 0)
    assert at == len(body)
    return tuple(found)


def message(kind: str, body: bytes = b"") -> bytes:
    return kind.encode() + struct.pack(">i", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.encode() + b"\x00"


def startup(version: int = 196608, /, **parameters: str) -> bytes:
    pairs = b"".join(text(name) + text(value) for name, value in parameters.items())
    body = struct.pack(">I", version) + pairs + b"\x00"
    return struct.pack(">I", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message("Q", text(sql))


def parse(sql: str, name: str = "", types: tuple[int, ...] = ()) -> bytes:
    return message("P", text(name) + text(sql) + struct.pack(f">H{len(types)}I", len(types), *types))


def bind(
    arguments: tuple[bytes | None, ...] = (),
    formats: tuple[int, ...] = (),
    result_formats: tuple[int, ...] = (),
    portal: str = "",
    statement: str = "",
) -> bytes:
    packed = b"".join(
        b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value for value in arguments
    )
    return message(
        "B",
        text(portal)
        + text(statement)
        + struct.pack(f">H{len(formats)}h", len(formats), *formats)
        + struct.pack(">H", len(arguments))
        + packed
        + struct.pack(f">H{len(result_formats)}h", len(result_formats), *result_formats),
    )


def describe(kind: str, name: str = "") -> bytes:
    return message("D", kind.encode() + text(name))


def execute(rows_max: int = 0, portal: str = "") -> bytes:
    return message("E", text(portal) + struct.pack(">i", rows_max))


def close(kind: str, name: str = "") -> bytes:
    return message("C", kind.encode() + text(name))


SYNC = message("S")
FLUSH = message("H")
TERMINATE = message("X")
COPY_DONE = message("c")
