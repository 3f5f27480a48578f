"""TLS and passwords over sockets: real drivers log in, no byte is lost, and floods are slowed.

Method: the server of `running` on both event loops, with certificates made by openssl; libpq (psql,
psycopg, psycopg2), asyncpg as clients, and plain sockets for what none of them does.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import psycopg
import psycopg2
import pytest

from headwater.core.types import INT4, TEXT
from headwater.options import AuthMethod, TlsOptions
from headwater.pgwire import server as server_module
from headwater.pgwire.login import Entrance
from headwater.pgwire.startup import CANCEL_REQUEST, SSL_REQUEST
from headwater.tls import Tls
from tests.support.certificates import Authority, Signed
from tests.support.wire.accounts import PASSWORD, logins
from tests.support.wire.driver import error_of, kinds, query, request, startup, unpack
from tests.support.wire.fake_sessions import relation
from tests.support.wire.running import WAIT_S_MAX, Running


@dataclass(frozen=True, slots=True)
class Files:
    """Certificates in files."""

    directory: Path
    authority: Authority

    @property
    def options(self) -> TlsOptions:
        return TlsOptions(self.path("server.crt"), self.path("server.key"), True, self.path("ca.crt"))

    def path(self, name: str) -> Path:
        return self.directory / name

    def write(self, subject: str, name: str) -> None:
        signed = self.authority.sign(subject, ("localhost",) if name == "server" else ())
        self.path(f"{name}.key").write_text(signed.key)
        self.path(f"{name}.key").chmod(0o600)
        self.path(f"{name}.crt").write_text(signed.certificate)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("certificates")
    files = Files(directory, Authority(directory, "authority"))
    files.path("ca.crt").write_text(files.authority.certificate)
    files.write("localhost", "server")
    for user in ("me", "you", "guest", "nobody"):
        files.write(user, user)
    return files


def serving(
    files: Files, on_uvloop: bool, method: AuthMethod, required: bool = True, crl: Path | None = None
) -> Running:
    tls = Tls(replace(files.options, crl=crl))
    running = Running(on_uvloop, Entrance(logins(method), tls, required))
    running.sessions.translations = {"SELECT 1": "rows one", "select 1": "rows one"}
    running.sessions.relations["one"] = relation({"a": (INT4, [1])})
    wide: list[object] = ["x" * 1000] * 1000
    running.sessions.relations["wide"] = relation({"a": (TEXT, wide)}, batch_count=30)
    return running


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def on_uvloop(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def running(made: Files, on_uvloop: bool) -> Iterator[Running]:
    with serving(made, on_uvloop, "password") as running:
        yield running


def dsn(running: Running, files: Files, **options: str) -> str:
    facts = {
        "host": "localhost",
        "hostaddr": "127.0.0.1",
        "port": str(running.server.port),
        "user": "me",
        "dbname": "d",
        "password": f"'{PASSWORD}'",
        "sslmode": "verify-full",
        "sslrootcert": str(files.path("ca.crt")),
        "sslcert": "/nowhere",
        **options,
    }
    return " ".join(f"{name}={value}" for name, value in facts.items())


def certified(files: Files, user: str) -> dict[str, str]:
    return {"sslcert": str(files.path(f"{user}.crt")), "sslkey": str(files.path(f"{user}.key"))}


@pytest.mark.parametrize("binding", ["disable", "prefer", "require"])
def test_psycopg_logs_in(running: Running, made: Files, binding: str) -> None:
    with psycopg.connect(dsn(running, made, channel_binding=binding), autocommit=True) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("rows one").fetchall() == [(1,)]


def test_psycopg2_logs_in(running: Running, made: Files) -> None:
    connection = psycopg2.connect(dsn(running, made, channel_binding="require"))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("rows one")
        assert cursor.fetchall() == [(1,)]
    connection.close()


def test_psql_logs_in_and_is_told_why_not(running: Running, made: Files) -> None:
    def psql(password: str, **options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["psql", "-X", "-w", "-At", "-d", dsn(running, made, password=f"'{password}'", **options)],
            input="rows one",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert psql(PASSWORD).stdout == "1\n"
    assert 'FATAL:  password authentication failed for user "me"' in psql("another").stderr
    refused = psql(PASSWORD, sslmode="disable").stderr
    assert 'no pg_hba.conf entry for host "127.0.0.1", user "me", database "d", no encryption' in refused


def test_asyncpg_logs_in(running: Running, made: Files) -> None:
    async def work(context: ssl.SSLContext | bool) -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=running.server.port,
            user="me",
            password=PASSWORD,
            database="d",
            ssl=context,
        )
        await connection.close()

    context = ssl.create_default_context(cafile=str(made.path("ca.crt")))
    context.check_hostname = False
    asyncio.run(work(context))


def test_without_tls_passwords_are_as_good(made: Files, on_uvloop: bool) -> None:
    with serving(made, on_uvloop, "password", required=False) as running:
        for mode in ("disable", "require"):
            with psycopg.connect(dsn(running, made, sslmode=mode), autocommit=True) as connection:
                assert connection.pgconn.ssl_in_use == (mode == "require")
        with pytest.raises(psycopg.OperationalError, match="channel binding required"):
            psycopg.connect(dsn(running, made, sslmode="disable", channel_binding="require"))


@pytest.mark.parametrize("method", ["password", "certificate"])
def test_certificates_of_clients(made: Files, on_uvloop: bool, method: AuthMethod) -> None:
    with serving(made, on_uvloop, method) as running:
        options = {**certified(made, "guest"), "user": "guest", "password": "''"}
        psycopg.connect(dsn(running, made, **options)).close()
        for user, other in (("me", "guest"), ("nobody", "nobody")):
            options = {**certified(made, other), "user": user, "password": "wrong"}
            with pytest.raises(
                psycopg.OperationalError, match=f'{method} authentication failed for user "{user}"'
            ):
                psycopg.connect(dsn(running, made, **options))
        if method == "certificate":
            with pytest.raises(psycopg.OperationalError, match="requires a valid client certificate"):
                psycopg.connect(dsn(running, made))


def test_a_certificate_that_nobody_known_has_signed_is_refused(
    made: Files, on_uvloop: bool, tmp_path: Path
) -> None:
    others = Files(tmp_path, Authority(tmp_path, "another"))
    others.write("me", "me")
    with (
        serving(made, on_uvloop, "certificate") as running,
        pytest.raises(psycopg.OperationalError),
    ):
        psycopg.connect(dsn(running, made, **certified(others, "me")))


def test_a_revoked_certificate_is_refused_from_the_next_look_on(
    made: Files, on_uvloop: bool, tmp_path: Path
) -> None:
    files = Files(tmp_path, made.authority)
    files.path("ca.crt").write_text(made.authority.certificate)
    files.path("crl.pem").write_text(made.authority.revoke())
    files.write("localhost", "server")
    files.write("me", "me")
    files.write("you", "you")
    with serving(files, on_uvloop, "certificate", crl=files.path("crl.pem")) as running:
        tls = running.server.entrance.tls
        assert tls is not None

        def connect(user: str) -> psycopg.Connection:
            return psycopg.connect(dsn(running, files, **certified(files, user), user=user), autocommit=True)

        with connect("me") as before:
            texts = [files.path(f"me.{suffix}").read_text() for suffix in ("crt", "key")]
            files.path("crl.pem").write_text(made.authority.revoke(Signed(*texts)))
            tls.renew()
            with pytest.raises(psycopg.OperationalError):
                connect("me")
            connect("you").close()
            files.path("crl.pem").write_text(made.authority.certificate)  # which is no list
            tls.renew()
            with pytest.raises(psycopg.OperationalError):
                connect("me")
            assert before.execute("rows one").fetchall() == [(1,)]


def test_large_results_arrive_whole(running: Running, made: Files) -> None:
    with psycopg.connect(dsn(running, made), autocommit=True) as connection:
        assert len(connection.execute("rows wide").fetchall()) == 30_000


def test_statements_are_cancelled_over_tls(running: Running, made: Files) -> None:
    with psycopg.connect(dsn(running, made), autocommit=True) as connection:

        def cancel() -> None:
            running.wait_until(running.sessions.waiting.is_set)
            data = struct.pack(">II", connection.info.backend_pid, 0x9ABCDEF0)
            with encrypted(running, made) as client:
                client.sendall(request(CANCEL_REQUEST, data))
                assert client.recv(1) == b""

        other = threading.Thread(target=cancel)
        other.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("wait")
        other.join(WAIT_S_MAX)


def plain(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.server.port), timeout=WAIT_S_MAX)


def encrypted(running: Running, files: Files) -> ssl.SSLSocket:
    client = plain(running)
    client.sendall(request(SSL_REQUEST))
    assert client.recv(1) == b"S"
    context = ssl.create_default_context(cafile=str(files.path("ca.crt")))
    return context.wrap_socket(client, server_hostname="localhost")


def everything(client: socket.socket) -> bytes:
    data = b""
    try:
        while piece := client.recv(65536):
            data += piece
    except (ConnectionResetError, ssl.SSLEOFError):
        pass
    return data


def test_a_handshake_may_arrive_a_byte_at_a_time(made: Files, on_uvloop: bool) -> None:
    with serving(made, on_uvloop, "trust") as running, plain(running) as client:
        for byte in request(SSL_REQUEST):
            client.send(bytes([byte]))
        assert client.recv(1) == b"S"
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(made.path("ca.crt")))
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    client.send(bytes([byte]))
                incoming.write(client.recv(65536))
        # The first messages come with the handshake's last, in one piece.
        tls.write(startup(user="me"))
        tls.write(query("rows one"))
        client.sendall(outgoing.read())
        data = b""
        while not data.endswith(b"Z\x00\x00\x00\x05I") or data.count(b"Z\x00\x00\x00\x05I") < 2:
            try:
                data += tls.read(65536)
            except ssl.SSLWantReadError:
                incoming.write(client.recv(65536))
        assert kinds(unpack(data)).endswith("KZTDCZ")


def test_bytes_sent_with_the_request_are_not_taken_for_the_client_s(made: Files, on_uvloop: bool) -> None:
    with serving(made, on_uvloop, "trust") as running, plain(running) as client:
        client.sendall(request(SSL_REQUEST) + startup(user="me") + query("do X"))
        assert error_of(unpack(everything(client)))["C"] == "08P01"
        assert running.sessions.opened == []


@pytest.mark.parametrize(
    "hello", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\x00" * 50, b""]
)
def test_what_is_no_handshake_ends_the_connection(running: Running, made: Files, hello: bytes) -> None:
    with plain(running) as client:
        client.sendall(request(SSL_REQUEST))
        assert client.recv(1) == b"S"
        client.sendall(hello)
        if not hello:
            client.close()
        else:
            everything(client)
    running.wait_until(lambda: running.server.connection_count == 0)
    psycopg.connect(dsn(running, made)).close()


def test_a_handshake_that_does_not_come_is_not_waited_for_for_ever(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "STARTUP_S_MAX", 0.1)
    with plain(running) as client:
        client.sendall(request(SSL_REQUEST))
        assert everything(client) == b"S"
    running.wait_until(lambda: running.server.connection_count == 0)


def test_a_server_that_stops_ends_handshakes_and_tells_sessions(made: Files, on_uvloop: bool) -> None:
    with serving(made, on_uvloop, "trust") as running:
        waiting = plain(running)
        waiting.sendall(request(SSL_REQUEST))
        assert waiting.recv(1) == b"S"
        session = encrypted(running, made)
        session.sendall(startup(user="me"))
        session.recv(1)
        running.run(running.server.stop(5.0))
        assert b"57P01" in everything(session)
        assert everything(waiting) == b""
        waiting.close()
        session.close()


def test_a_new_certificate_is_used_for_new_connections(made: Files, on_uvloop: bool, tmp_path: Path) -> None:
    files = Files(tmp_path, made.authority)
    files.path("ca.crt").write_text(made.authority.certificate)
    files.write("localhost", "server")
    with serving(files, on_uvloop, "password") as running:
        tls = running.server.entrance.tls
        assert tls is not None

        def shown() -> bytes | None:
            with encrypted(running, files) as client:
                return client.getpeercert(binary_form=True)

        with psycopg.connect(dsn(running, files), autocommit=True) as connection:
            first = shown()
            key = files.path("server.key").read_text()
            files.write("localhost", "server")
            fitting = files.path("server.key").read_text()
            files.path("server.key").write_text(key)
            tls.renew()
            assert shown() == first  # the key is still the old one
            files.path("server.key").write_text(fitting)
            tls.renew()
            second = shown()
            assert second != first
            for broken in ("", "nonsense", fitting):
                files.path("server.crt").write_text(broken)
                tls.renew()
                assert shown() == second
            files.path("server.crt").unlink()
            tls.renew()
            assert shown() == second
            assert connection.execute("rows one").fetchall() == [(1,)]
            psycopg.connect(dsn(running, files, channel_binding="require")).close()


def test_who_floods_the_login_is_slowed_and_others_are_not(running: Running, made: Files) -> None:
    stop = threading.Event()
    refused: list[str] = []

    def guess() -> None:
        while not stop.is_set():
            try:
                psycopg.connect(dsn(running, made, password="wrong", connect_timeout="30"))
            except psycopg.OperationalError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=guess) for _ in range(8)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    while time.monotonic() - begun < 3.0:
        started = time.monotonic()
        psycopg.connect(dsn(running, made, user="you")).close()
        assert time.monotonic() - started < 2.0
    stop.set()
    wrong = sum("password authentication failed" in text for text in refused)
    assert wrong <= 8
    running.run(running.server.stop(0.1))
    for thread in threads:
        thread.join(WAIT_S_MAX)


def test_sockets_of_who_has_not_logged_in_make_room(
    running: Running, made: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 1)
    monkeypatch.setattr(server_module, "CONNECTIONS_STARTING_MAX", 3)
    silent = [plain(running) for _ in range(4)]
    running.wait_until(lambda: running.server.connection_count == 4)
    with psycopg.connect(dsn(running, made), autocommit=True) as connection:
        assert connection.execute("rows one").fetchall() == [(1,)]
        assert everything(silent[0]) == b""
    for client in silent:
        client.close()
