"""The client's messages: how long they may be, and their bytes as values.

    header   kind (1 byte), length (4 bytes, counts itself)
    body     by kind; `parse_message` turns it into one of the classes below

The length is judged before a byte of the body is asked for, so a client cannot
make us hold more than its kind of message may have.

Not here: the startup packet, which has no kind (startup.py); what arguments mean
(decode.py).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from headwater.core.errors import UserError
from headwater.core.limits import MESSAGE_BYTES_MAX, SMALL_MESSAGE_BYTES_MAX
from headwater.pgwire.steps import ProtocolViolation

BODY_BYTES_MAX: Final[dict[bytes, int]] = {
    b"Q": MESSAGE_BYTES_MAX,
    b"P": MESSAGE_BYTES_MAX,
    b"B": MESSAGE_BYTES_MAX,
    b"F": MESSAGE_BYTES_MAX,
    b"d": MESSAGE_BYTES_MAX,
    b"f": SMALL_MESSAGE_BYTES_MAX,
    b"C": SMALL_MESSAGE_BYTES_MAX,
    b"D": SMALL_MESSAGE_BYTES_MAX,
    b"E": SMALL_MESSAGE_BYTES_MAX,
    b"H": SMALL_MESSAGE_BYTES_MAX,
    b"S": SMALL_MESSAGE_BYTES_MAX,
    b"X": SMALL_MESSAGE_BYTES_MAX,
    b"c": SMALL_MESSAGE_BYTES_MAX,
}
"""The longest body of each kind of message; a kind that is not in here does not exist."""


@dataclass(frozen=True, slots=True)
class Query:
    """`Q`: run these statements."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """`P`: prepare a statement; a type of 0 is left to us."""

    name: str
    text: str
    type_oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """`B`: give a prepared statement its arguments, as a portal."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    arguments: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """`D`: `kind` is S for a statement, P for a portal."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """`E`: run a portal for so many rows; 0 is all of them."""

    portal: str
    rows_max: int


@dataclass(frozen=True, slots=True)
class Close:
    """`C`: forget a statement or a portal."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class FlushOutput:
    """`H`: send what you have."""


@dataclass(frozen=True, slots=True)
class Sync:
    """`S`: the end of a pipeline."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """`X`: goodbye."""


@dataclass(frozen=True, slots=True)
class CopyData:
    """`d`: bytes of a COPY, cut anywhere."""

    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    """`c`: all of a COPY's bytes have been sent."""


@dataclass(frozen=True, slots=True)
class CopyFail:
    """`f`: the client gives a COPY up."""

    reason: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`F`: a call that is no SQL; known only to be refused."""


Message: TypeAlias = (
    Query
    | Parse
    | Bind
    | Describe
    | Execute
    | Close
    | FlushOutput
    | Sync
    | Terminate
    | CopyData
    | CopyDone
    | CopyFail
    | FunctionCall
)

_HEADER: Final = struct.Struct(">ci")


def parse_header(header: bytes) -> tuple[bytes, int]:
    """The kind of a message and the length of its body."""
    kind, length = _HEADER.unpack(header)
    body_bytes_max = BODY_BYTES_MAX.get(kind)
    if body_bytes_max is None:
        raise ProtocolViolation(f"there is no frontend message of type {kind[0]}")
    if not 0 <= length - 4 <= body_bytes_max:
        raise ProtocolViolation(f"message of type {kind[0]} cannot have a length of {length} bytes")
    return kind, length - 4


class Body:
    """Reads a body from front to back; what is not there is an error of the client's."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next so many bytes."""
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise malformed("insufficient data left in message")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def integer(self, size: int) -> int:
        """A signed integer of so many bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def integers(self, size: int, count: int, signed: bool = True) -> tuple[int, ...]:
        """Several integers."""
        letter = {2: "h", 4: "i"}[size]
        data = self.take(size * count)
        return struct.unpack(f">{count}{letter if signed else letter.upper()}", data)

    def count(self) -> int:
        """How many follow: 16 bits without a sign."""
        return int.from_bytes(self.take(2), "big")

    def text(self) -> str:
        """A zero-terminated string."""
        end = self._data.find(b"\x00", self._at)
        if end < 0:
            raise malformed("string in message is not terminated")
        taken = self._data[self._at : end]
        self._at = end + 1
        return decoded(taken)

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != len(self._data):
            raise malformed(f"{len(self._data) - self._at} bytes left over at the end of a message")


def malformed(message: str) -> UserError:
    """A body that is not what its kind of message has."""
    return UserError(message, "08P01")


def decoded(data: bytes) -> str:
    """UTF-8 to text, with PostgreSQL's complaint."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
        raise UserError(f'invalid byte sequence for encoding "UTF8": {wrong}', "22021") from None


def parse_message(kind: bytes, data: bytes) -> Message:
    """The message with this body; UserError 08P01 if it is malformed."""
    body = Body(data)
    message = _parse(kind, body, data)
    body.end()
    return message


def _parse(kind: bytes, body: Body, data: bytes) -> Message:
    match kind:
        case b"Q":
            return Query(body.text())
        case b"P":
            return Parse(body.text(), body.text(), body.integers(4, body.count(), signed=False))
        case b"B":
            return _parse_bind(body)
        case b"E":
            return Execute(body.text(), body.integer(4))
        case b"D" | b"C":
            target = body.take(1).decode("latin-1")
            if target not in ("S", "P"):
                raise malformed(
                    f"there is no {'Describe' if kind == b'D' else 'Close'} of type {ord(target)}"
                )
            name = body.text()
            return Describe(target, name) if kind == b"D" else Close(target, name)
        case b"f":
            return CopyFail(body.text())
    if kind in _OPAQUE:
        body.take(len(data))
        return CopyData(data) if kind == b"d" else _OPAQUE[kind]
    return _BARE[kind]


_OPAQUE: Final[dict[bytes, Message]] = {b"d": CopyData(b""), b"F": FunctionCall()}
_BARE: Final[dict[bytes, Message]] = {b"S": Sync(), b"H": FlushOutput(), b"X": Terminate(), b"c": CopyDone()}


def _parse_bind(body: Body) -> Bind:
    portal, statement = body.text(), body.text()
    formats = body.integers(2, body.count())
    arguments: list[bytes | None] = []
    for _ in range(body.count()):
        length = body.integer(4)
        arguments.append(None if length == -1 else body.take(length))
    result_formats = body.integers(2, body.count())
    return Bind(portal, statement, formats, tuple(arguments), result_formats)
