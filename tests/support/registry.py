"""A throwaway schema registry for tests: Apicurio 3.0, which keeps everything in memory.

    with RegistryServer() as registry:
        registry.register_schema("t-value", '{"type": "string"}')
        urlopen(f"{registry.url}/subjects")

It speaks Confluent's protocol, but below a path that it cannot be told to leave out, and clients are given a
URL without one.  So they come through a proxy in threads of its own, which puts it before what they ask for:

    client --- url ---> Front --- /apis/ccompat/v7 ---> Apicurio

    registry.front.delay_s = 2.0      every answer comes so much later
    registry.front.status = 503       ... or is this, and the registry is not asked
    registry.front.refuse()           connections are refused, until `accept()`
    registry.front.asked              the paths that were asked for, in order

`login` (name, password) and `signed` (a certificate and its key) are for what is in front as well, as they
are where registries are run.  `kill()` forgets all schemas, since they are in memory; `resume()` begins anew.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from headwater.core.java import java_command
from tests.support.certificates import Signed
from tests.support.kafka import JARS, QUICK_JAVA, available
from tests.support.ports import free_port
from tests.support.started import Started

PATH = "/apis/ccompat/v7"
START_S_MAX = 60
STOP_S_MAX = 20
REQUEST_S_MAX = 30
_KIND = "application/vnd.schemaregistry.v1+json"


@contextmanager
def running(**options: Any) -> Iterator[RegistryServer]:
    """A registry for a fixture."""
    if not available():
        pytest.skip("the schema registry is not there: make kafka")
    with RegistryServer(**options) as server:
        yield server


class RegistryServer(Started):
    """One registry and what is in front of it."""

    def __init__(self, login: tuple[str, str] | None = None, signed: Signed | None = None) -> None:
        self.directory = Path(mkdtemp(prefix="registry-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._fronts: list[Front] = []
        self.front = self.another_front(login, signed)

    @property
    def url(self) -> str:
        return self.front.url

    def another_front(self, login: tuple[str, str] | None = None, signed: Signed | None = None) -> Front:
        """A further way to the same schemas; it closes when the registry stops."""
        made = Front(self.port, login, self._tls(signed))
        self._fronts.append(made)
        return made

    def start(self) -> RegistryServer:
        """Wait until it answers."""
        return self.resume()

    def resume(self) -> RegistryServer:
        """Start what has ended, on the same port and without schemas."""
        java = java_command(os.environ)
        assert java is not None, "java was not found"
        jar = next((JARS / "registry").glob("*-runner.jar"))
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(
                        java,
                        *QUICK_JAVA,
                        f"-Djava.io.tmpdir={self.directory}",
                        "-Dquarkus.http.host=127.0.0.1",
                    ),
                    *(f"-Dquarkus.http.port={self.port}", "-jar", str(jar)),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def kill(self) -> None:
        """As a power cut; who asks is told that the way ends here (502)."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """End it and remove its files."""
        for front in self._fronts:
            front.close()
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def register_schema(
        self,
        subject: str,
        schema: str,
        kind: str = "AVRO",
        references: Sequence[tuple[str, str, int]] = (),
    ) -> int:
        """The schema's id; `kind` is AVRO, PROTOBUF or JSON; a reference is name, subject, version."""
        body: dict[str, Any] = {"schema": schema, "schemaType": kind}
        body["references"] = [
            {"name": name, "subject": other, "version": version} for name, other, version in references
        ]
        return int(self.ask("POST", f"/subjects/{subject}/versions", body)["id"])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The registry's answer, whatever its front does; an error if it is one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_S_MAX)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, PATH + path, content, {"Content-Type": _KIND})
            answer = connection.getresponse()
            said = answer.read().decode()
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise AssertionError(f"{method} {path}: {answer.status} {said}")
        return json.loads(said)

    def _tls(self, signed: Signed | None) -> ssl.SSLContext | None:
        if signed is None:
            return None
        certificate, key = self.directory / "certificate", self.directory / "key"
        certificate.write_text(signed.certificate)
        key.write_text(signed.key)
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(certificate, key)
        return made

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S_MAX
        while True:
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"the schema registry did not start:\n{self.log()}")
            try:
                self.ask("GET", "/subjects")
                return
            except (OSError, http.client.HTTPException, AssertionError):
                if time.monotonic() > deadline:
                    raise RuntimeError(
                        f"the registry did not answer within {START_S_MAX} s:\n{self.log()}"
                    ) from None
            time.sleep(0.05)


class Front:
    """The proxy before a registry."""

    def __init__(self, target_port: int, login: tuple[str, str] | None, tls: ssl.SSLContext | None) -> None:
        self.port = free_port()
        self.delay_s = 0.0
        self.status: int | None = None
        self.asked: list[str] = []
        self.target_port = target_port
        self.wanted = (
            None if login is None else "Basic " + base64.b64encode(":".join(login).encode()).decode()
        )
        self._tls = tls
        self.url = f"{'http://127.0.0.1' if tls is None else 'https://localhost'}:{self.port}"
        self._closing = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.accept()

    # What can happen

    def refuse(self) -> None:
        """No connection is taken from now on."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def accept(self) -> None:
        """Connections are taken again, on the same port."""
        server = _Listener(("127.0.0.1", self.port), _Request)
        server.front = self
        if self._tls is not None:
            # The hands are shaken by the thread of each connection, and not by the one that takes them.
            server.socket = self._tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.05,), name="registry", daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        self.refuse()

    # Of the requests

    def wait(self) -> None:
        """As long as answers are to be late, or until it closes."""
        self._closing.wait(self.delay_s)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    front: Front

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is its own affair."""


class _Request(BaseHTTPRequestHandler):
    """One after the other on a connection."""

    protocol_version = "HTTP/1.1"
    server: _Listener

    def do_GET(self) -> None:
        front = self.server.front
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        front.asked.append(self.path)
        front.wait()
        if front.wanted is not None and self.headers.get("Authorization") != front.wanted:
            self._fail(401, "Unauthorized")
        elif front.status is not None:
            self._fail(front.status, "said by the test")
        else:
            self._pass_on(front.target_port, body)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """What was asked stands in `Front.asked`."""

    def _pass_on(self, port: int, body: bytes) -> None:
        left_out = {"host", "authorization", "connection", "content-length"}
        headers = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_S_MAX)
        try:
            connection.request(self.command, PATH + self.path, body or None, headers)
            answer = connection.getresponse()
            self._answer(answer.status, answer.headers.get_content_type(), answer.read())
        except (OSError, http.client.HTTPException) as error:
            self._fail(502, str(error))
        finally:
            connection.close()

    def _fail(self, status: int, text: str) -> None:
        self._answer(status, _KIND, json.dumps({"error_code": status, "message": text}).encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        if status == http.HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="registry"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
