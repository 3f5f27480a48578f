"""COPY's part of the conversation, in both directions.

    out   CopyOutResponse, one CopyData per row, CopyDone
    in    CopyInResponse, then the client's CopyData until CopyDone or CopyFail

When a COPY in fails half way, the client is told at once and goes on sending for a
while: those messages are dropped where they arrive (session.py), as PostgreSQL does.

Not here: rows to bytes (encode.py), bytes to rows (formats/copy.py, used by the
coordinator).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from headwater.coordinator.api import CopyIn, CopyOut
from headwater.core.errors import UserError
from headwater.core.limits import SEND_BUFFER_BYTES
from headwater.core.relation import Column
from headwater.pgwire import messages
from headwater.pgwire.codec import CopyData, CopyDone, CopyFail, FlushOutput, Sync, Terminate, parse_message
from headwater.pgwire.encode import COPY_TRAILER, copy_header, copy_rows
from headwater.pgwire.encoding import encoded
from headwater.pgwire.portal import Portal
from headwater.pgwire.receive import check_read
from headwater.pgwire.steps import Disconnected, Flush, Steps, Write
from headwater.pgwire.wire import Wire

_GATHERED_BYTES: Final = SEND_BUFFER_BYTES


def send_copy(portal: Portal, copy: CopyOut, columns: tuple[Column, ...]) -> Steps[int]:
    """Send all rows as copy data; how many there were."""
    binary = copy.format == "binary"
    encode = copy_rows(copy, columns, portal.result.names if portal.result else {})
    header = copy_header(copy, columns)
    yield Write(messages.copy_response(b"H", binary, len(columns)))
    if header and not binary:
        yield Write(messages.framed(b"d", header))
        header = b""
    sent = 0
    while (part := (yield from portal.next_slice())) is not None:
        if not part.num_rows:
            continue
        sent += part.num_rows
        data = yield from encoded(portal.result, part, encode)
        if header:
            data, header = _with_header(data, header), b""
        yield Write(data)
    if binary:
        yield Write(messages.framed(b"d", header + COPY_TRAILER))
    yield Write(messages.COPY_DONE)
    portal.done = True
    return sent


def _with_header(data: bytes, header: bytes) -> bytes:
    """The binary header goes into the first row's message: clients look for it there."""
    first_end = 1 + int.from_bytes(data[1:5], "big")
    return messages.framed(b"d", header + data[5:first_end]) + data[first_end:]


def receive_copy(wire: Wire, copy: CopyIn) -> Steps[str]:
    """Hand the client's data to the sink; the command's tag."""
    yield Write(messages.copy_response(b"G", copy.format == "binary", len(copy.columns)))
    yield Flush()
    reason: str | None = "the client has gone"
    try:
        yield from _receive_until_done(wire, copy)
        reason = None
    except UserError as error:
        reason = error.message
        raise
    finally:
        if reason is not None:
            yield from wire.ask(partial(copy.sink.abort, reason))
    return (yield from wire.ask(copy.sink.finish))


def _receive_until_done(wire: Wire, copy: CopyIn) -> Steps[None]:
    sink = copy.sink
    gathered: list[bytes] = []
    gathered_bytes = 0
    while True:
        kind, body = yield from wire.inbox.read_message(copy.cancelled)
        check_read(body)
        match CopyData(body) if kind == b"d" else parse_message(kind, body):
            case CopyData(data):
                gathered.append(data)
                gathered_bytes += len(data)
                if gathered_bytes >= _GATHERED_BYTES:
                    yield from wire.ask(partial(sink.write, b"".join(gathered)))
                    gathered, gathered_bytes = [], 0
            case CopyDone():
                if gathered:
                    yield from wire.ask(partial(sink.write, b"".join(gathered)))
                return
            case CopyFail(reason):
                raise UserError(f"COPY from stdin failed: {reason}", "57014")
            case FlushOutput() | Sync():
                pass  # libraries send these with every Execute, not knowing that it was a COPY
            case Terminate():
                raise Disconnected
            case _:
                raise UserError(f"unexpected message type 0x{kind[0]:02X} during COPY from stdin", "08P01")
