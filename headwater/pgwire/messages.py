"""The server's messages, each a function to bytes.

Not here: DataRow and CopyData, which are made for whole batches (encode.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from headwater.coordinator.api import Notice, TransactionStatus
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import SqlType, modifier_of, oid_of, size_of

PROTOCOL_3_0: Final = 196608

AUTHENTICATION_OK: Final = b"R\x00\x00\x00\x08\x00\x00\x00\x00"
PARSE_COMPLETE: Final = b"1\x00\x00\x00\x04"
BIND_COMPLETE: Final = b"2\x00\x00\x00\x04"
CLOSE_COMPLETE: Final = b"3\x00\x00\x00\x04"
NO_DATA: Final = b"n\x00\x00\x00\x04"
EMPTY_QUERY: Final = b"I\x00\x00\x00\x04"
PORTAL_SUSPENDED: Final = b"s\x00\x00\x00\x04"
COPY_DONE: Final = b"c\x00\x00\x00\x04"
REFUSED: Final = b"N"
"""The answer to SSLRequest and GSSENCRequest, which is no message."""
ACCEPTED: Final = b"S"
"""The other answer to SSLRequest."""

_READY: Final[dict[str, bytes]] = {
    status: b"Z\x00\x00\x00\x05" + status.encode() for status in ("I", "T", "E")
}
_FIELD: Final = struct.Struct(">IhIhih")


def framed(kind: bytes, body: bytes) -> bytes:
    """A message of this kind."""
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def text(value: str) -> bytes:
    """A zero-terminated string; a zero inside would end it early and is left out."""
    return value.encode("utf-8", "replace").replace(b"\x00", b"") + b"\x00"


def ready_for_query(status: TransactionStatus) -> bytes:
    """The next query may come."""
    return _READY[status]


def backend_key_data(backend_pid: int, secret_key: int) -> bytes:
    """What a CancelRequest must present; both are taken as unsigned 32 bits."""
    return struct.pack(">ciII", b"K", 12, backend_pid & 0xFFFFFFFF, secret_key & 0xFFFFFFFF)


def authentication_sasl(mechanisms: Iterable[str]) -> bytes:
    """Log in by one of these."""
    return framed(b"R", struct.pack(">I", 10) + b"".join(text(name) for name in mechanisms) + b"\x00")


def authentication_sasl_continue(data: bytes) -> bytes:
    """Our part of the exchange."""
    return framed(b"R", struct.pack(">I", 11) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    """The last of it."""
    return framed(b"R", struct.pack(">I", 12) + data)


def parameter_status(name: str, value: str) -> bytes:
    """A setting has this value."""
    return framed(b"S", text(name) + text(value))


def negotiate_protocol_version(unknown_options: Sequence[str]) -> bytes:
    """We speak 3.0 and do not know these options."""
    names = b"".join(text(name) for name in unknown_options)
    return framed(b"v", struct.pack(">II", PROTOCOL_3_0, len(unknown_options)) + names)


def command_complete(tag: str) -> bytes:
    """A statement is done."""
    return framed(b"C", text(tag))


def parameter_description(types: Iterable[SqlType]) -> bytes:
    """The types of a statement's parameters."""
    oids = [oid_of(type_) for type_ in types]
    return framed(b"t", struct.pack(f">H{len(oids)}I", len(oids), *oids))


def row_description(columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    """Names, types and formats of the rows to come."""
    parts = [len(columns).to_bytes(2, "big")]
    for column, format_ in zip(columns, formats, strict=True):
        type_ = column.type
        parts.append(text(column.name))
        parts.append(_FIELD.pack(0, 0, oid_of(type_), size_of(type_), modifier_of(type_), format_))
    return framed(b"T", b"".join(parts))


def copy_response(kind: bytes, binary: bool, column_count: int) -> bytes:
    """CopyInResponse (`G`) or CopyOutResponse (`H`)."""
    formats = [int(binary)] * column_count
    return framed(kind, struct.pack(f">bH{column_count}h", int(binary), column_count, *formats))


def error_response(error: UserError, severity: str = "ERROR") -> bytes:
    """An error; `severity` FATAL says that we hang up."""
    fields = [("S", severity), ("V", severity), ("C", error.sqlstate), ("M", error.message)]
    if error.detail:
        fields.append(("D", error.detail))
    if error.hint:
        fields.append(("H", error.hint))
    if error.position > 0:
        fields.append(("P", str(error.position)))
    if error.context:
        fields.append(("W", error.context))
    return framed(b"E", _fields(fields))


def notice_response(notice: Notice) -> bytes:
    """A message that is no error."""
    fields = [
        ("S", notice.severity),
        ("V", notice.severity),
        ("C", notice.sqlstate),
        ("M", notice.message),
    ]
    if notice.detail:
        fields.append(("D", notice.detail))
    if notice.hint:
        fields.append(("H", notice.hint))
    return framed(b"N", _fields(fields))


def _fields(fields: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(name.encode() + text(value) for name, value in fields) + b"\x00"
