"""HTTP over TLS: on both event loops, required or allowed, with certificates that are renewed.

Method: serve on a free port with certificates made by openssl, and ask with the standard library's client.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from headwater.http.app import build_app, serve
from headwater.options import Address, TlsOptions
from headwater.tls import Tls
from tests.support.certificates import Authority

GET = b"GET /api/livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
WAIT_S_MAX = 20.0


class Files:
    """An authority and a certificate of the server's that can be made anew."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory, "authority")
        (directory / "ca.crt").write_text(self.authority.certificate)
        self._directory = directory
        self.write()

    def write(self) -> None:
        signed = self.authority.sign("localhost", ("localhost",))
        (self._directory / "key").write_text(signed.key)
        (self._directory / "crt").write_text(signed.certificate)

    def options(self, required: bool) -> TlsOptions:
        return TlsOptions(self._directory / "crt", self._directory / "key", required)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._directory / "ca.crt")


def ask(port: int, data: bytes, context: ssl.SSLContext | None = None) -> tuple[bytes, bytes | None]:
    """What is answered, and the certificate."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S_MAX) as plain:
        client = plain if context is None else context.wrap_socket(plain, server_hostname="localhost")
        client.sendall(data)
        answer = b""
        try:
            while piece := client.recv(65536):
                answer += piece
        except (ConnectionResetError, ssl.SSLEOFError):
            pass
        certificate = client.getpeercert(binary_form=True) if isinstance(client, ssl.SSLSocket) else None
        client.close()
        return answer, certificate


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[..., None]:
    found: Callable[..., None] = request.param
    return found


async def serving(tls: Tls, test: Callable[[int], None]) -> None:
    stop = asyncio.Event()
    address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    app = build_app(lambda: (True, ""))
    task = asyncio.create_task(serve(app, Address("127.0.0.1", 0), stop, address.set_result, tls))
    port = (await address).port
    await asyncio.to_thread(test, port)
    stop.set()
    await asyncio.wait_for(task, WAIT_S_MAX)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), WAIT_S_MAX)


def test_where_it_is_required_nothing_is_answered_in_the_clear(
    run: Callable[..., None], tmp_path: Path
) -> None:
    files = Files(tmp_path)

    def test(port: int) -> None:
        answer, _ = ask(port, GET, files.context())
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert answer.endswith(b"ok\n")
        answer, _ = ask(port, GET)
        assert answer.startswith(b"HTTP/1.1 400 Bad Request")
        assert answer.endswith(b"use https.\n")
        for garbage in (b"\x16\x03\x01\x00\x05hello", b"\x16" * 100):
            assert b"HTTP" not in ask(port, garbage)[0]

    run(serving(Tls(files.options(True)), test))


def test_where_it_is_allowed_both_are_answered(run: Callable[..., None], tmp_path: Path) -> None:
    files = Files(tmp_path)

    def test(port: int) -> None:
        for context in (None, files.context()):
            answer, _ = ask(port, GET, context)
            assert answer.endswith(b"ok\n")

    run(serving(Tls(files.options(False)), test))


def test_a_client_that_says_nothing_keeps_nobody_waiting(run: Callable[..., None], tmp_path: Path) -> None:
    files = Files(tmp_path)

    def test(port: int) -> None:
        silent = [socket.create_connection(("127.0.0.1", port), WAIT_S_MAX) for _ in range(20)]
        assert ask(port, GET, files.context())[0].endswith(b"ok\n")
        silent.pop().close()
        held.extend(silent)  # some are there when the server ends

    held: list[socket.socket] = []
    run(serving(Tls(files.options(True)), test))
    for client in held:
        client.close()


def test_a_new_certificate_is_used_at_once(run: Callable[..., None], tmp_path: Path) -> None:
    files = Files(tmp_path)
    tls = Tls(files.options(True))

    def test(port: int) -> None:
        first = ask(port, GET, files.context())[1]
        files.write()
        tls.renew()
        second = ask(port, GET, files.context())[1]
        assert first != second
        (tmp_path / "crt").write_text("nonsense")
        tls.renew()
        assert ask(port, GET, files.context())[1] == second

    run(serving(tls, test))
