"""Websockets as bytes."""

from __future__ import annotations

UPGRADE = (
    b"GET /api/experimental/sql HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def frame(text: bytes, opcode: int = 1, final: bool = True) -> bytes:
    """A frame of a client, which masks what it sends."""
    mask = b"\0\0\0\0"
    size = len(text)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = b"\xfe" + size.to_bytes(2, "big")
    else:
        length = b"\xff" + size.to_bytes(8, "big")
    return bytes([(0x80 if final else 0) | opcode]) + length + mask + text
