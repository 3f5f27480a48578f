"""What is at the URL of a schema registry is named by a user, and may send whatever it likes.

Method: a server that answers with bytes that do not come to an end.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from headwater.core.errors import TransientError
from headwater.sources.kafka.registry import Registry

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ENDS = {"by a length": b"Content-Length: 1000000000000\r\n", "by pieces": b"Transfer-Encoding: chunked\r\n"}


@pytest.fixture(params=ENDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):  # the client has gone
                client, _ = listener.accept()
                with client:
                    client.recv(4096)
                    client.sendall(ANSWER + ENDS[request.param] + b"\r\n")
                    while True:
                        client.sendall((b"1000\r\n" if request.param == "by pieces" else b"") + b"x" * 4096)
                        if request.param == "by pieces":
                            client.sendall(b"\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread.join()


def test_an_answer_without_an_end_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.sources.kafka.registry.REGISTRY_ANSWER_BYTES_MAX", 100_000)
    with pytest.raises(TransientError, match="its answer has more than 100000 bytes"):
        Registry({"url": url}, lambda _: b"").subjects()
