"""What a cluster says on its socket, message by message."""

from __future__ import annotations

import socket
from typing import Any

from headwater.core import protocol


def receive(sock: socket.socket) -> Any:
    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = sock.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    header_bytes, payload_bytes = protocol.decode_lengths(exactly(protocol.LENGTHS_BYTES))
    message = protocol.decode_header(exactly(header_bytes))
    exactly(payload_bytes)
    return message
