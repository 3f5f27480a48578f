"""A server that speaks just enough of the wire protocol to test our client and demo.

Answers are canned: the first entry of ANSWERS whose pattern is found in a query
is sent.  Runs in a thread for the client's tests, and as a program that takes the
arguments of `headwater server` for the demo's; uses the standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import struct
import sys
import threading
from types import FrameType

Values = tuple[str | None, ...]


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


def rows(names: tuple[str, ...], *values: Values) -> bytes:
    columns = b"".join(name.encode() + b"\0" + struct.pack(">ihihih", 0, 0, 25, -1, -1, 0) for name in names)
    answer = message(b"T", struct.pack(">h", len(names)) + columns)
    for row in values:
        fields = b"".join(
            struct.pack(">i", -1) if v is None else struct.pack(">i", len(v.encode())) + v.encode()
            for v in row
        )
        answer += message(b"D", struct.pack(">h", len(row)) + fields)
    return answer + done(f"SELECT {len(values)}")


def done(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


def fields(kind: bytes, **by_letter: str) -> bytes:
    return message(kind, b"".join(f"{k}{v}\0".encode() for k, v in by_letter.items()) + b"\0")


READY = message(b"Z", b"I")
ERROR = fields(b"E", S="ERROR", C="42P01", M='unknown catalog item "nope"', H="Did you mean hope?", P="15")
ANSWERS: list[tuple[str, bytes]] = [
    ("FROM nope", ERROR),
    ("notice", fields(b"N", S="NOTICE", M="it exists already", H="Drop it.") + done("CREATE SOURCE")),
    ("COPY", message(b"H", b"\0\0\0") + message(b"d", b"1\ta\n") + message(b"c", b"") + done("COPY 1")),
    ("UNION ALL", rows(("name", "row_count", "ts"), *((t, "3", "4102473612034") for t in ("users", "bids")))),
    ("a.item", rows(("id", "item", "bid_count", "best"), ("7", "City Bar Crawl", "4", "99"))),
    ("^SUBSCRIBE", rows(("ts", "diff"), ("1", "1"), ("2", "-1"))),
    ("SELECT", rows(("n", "t"), ("1", "ä\tb"), (None, ""))),
    ("CREATE", done("CREATE TABLE")),
]


def serve_one(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as stream:
        stream.read(struct.unpack(">i", stream.read(4))[0] - 4)
        connection.sendall(message(b"R", bytes(4)) + message(b"S", b"a\0b\0") + READY)
        while (header := stream.read(5)) and header[:1] != b"X":
            query = stream.read(struct.unpack(">i", header[1:])[0] - 4)[:-1].decode()
            if query == "hang up":
                return
            found = next((answer for pattern, answer in ANSWERS if re.search(pattern, query)), b"")
            connection.sendall(found + READY)


def listen(host: str, port: int) -> tuple[socket.socket, threading.Thread]:
    listener = socket.create_server((host, port))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # closed by the test
            threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    return listener, thread


def run_as_headwater() -> None:
    """`canned_server.py server --data-dir ... --sql-address ...`"""
    if "CANNED_FAILURE" in os.environ:
        sys.stderr.write("ERROR the ledger cannot be opened\n")
        sys.exit(3)

    def stop(number: int, frame: FrameType | None) -> None:
        sys.stdout.write("stopped in order\n")
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--sql-address")
    known, _ = parser.parse_known_args()
    host, port = known.sql_address.split(":")
    _, thread = listen(host, int(port))
    sys.stdout.write("headwater ready\n")
    sys.stdout.flush()
    thread.join()


if __name__ == "__main__":
    run_as_headwater()
