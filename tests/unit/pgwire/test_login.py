"""Logging in: messages of SCRAM-SHA-256, certificates, and the same refusal for everybody else.

Method: whole conversations of bytes with a client written from the RFC; waiting is looked at in
tests of the throttle and of the server.
"""

from __future__ import annotations

import struct

import pytest
from structlog.testing import capture_logs

from headwater.core.limits import SASL_MESSAGE_BYTES_MAX
from headwater.core.scram import PLAIN, PLUS
from headwater.options import AuthMethod
from headwater.pgwire.login import Entrance
from headwater.pgwire.startup import CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST
from headwater.pgwire.steps import Channel
from tests.support.wire.accounts import PASSWORD, PREPARED, logins
from tests.support.wire.driver import Client, Reply, error_of, goodbye, kinds, message, query, request
from tests.support.wire.fake_sessions import FakeSessions
from tests.support.wire.scram import Login

BINDING = b"\x05" * 32
TLS: object = object()  # that there is one is all that is looked at here


def entrance(method: AuthMethod = "password", tls: bool = False, required: bool = False) -> Entrance:
    return Entrance(logins(method), TLS if tls else None, required)  # type: ignore[arg-type]


def knocking(method: AuthMethod = "password", **facts: bool) -> Client:
    return Client(FakeSessions(), entrance=entrance(method, **facts))


def sasl(mechanism: str, data: bytes | None) -> bytes:
    sized = struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return message("p", mechanism.encode() + b"\x00" + sized)


def offered(replies: list[Reply]) -> list[str]:
    ((kind, body),) = replies
    assert (kind, body[:4]) == ("R", struct.pack(">I", 10))
    assert body.endswith(b"\x00\x00")
    return body[4:-2].decode().split("\x00")


def continued(replies: list[Reply]) -> bytes:
    ((kind, body),) = replies
    assert (kind, body[:4]) == ("R", struct.pack(">I", 11))
    return body[4:]


def log_in(client: Client, password: str, user: str = "me", binding: bytes | None = None) -> list[Reply]:
    offered(client.start(user=user))
    login = Login(password, binding)
    first = continued(client.send(sasl(PLAIN if binding is None else PLUS, login.first())))
    replies = client.send(message("p", login.final(first)))
    if replies[0][0] == "R":
        assert replies[0][1][:4] == struct.pack(">I", 12)
        assert login.trusts(replies[0][1][4:])
    return replies


def test_who_knows_the_password_is_let_in() -> None:
    sessions = FakeSessions()
    client = Client(sessions, entrance=entrance())
    replies = log_in(client, PREPARED)
    assert kinds(replies) == "RR" + "S" * 6 + "KZ"
    assert replies[1] == ("R", bytes(4))
    assert [user for user, *_ in sessions.opened] == ["me"]
    goodbye(client)


@pytest.mark.parametrize("user", ["me", "guest", "nobody", "mz_system", "\u00e9\U0001f511"])
def test_everybody_else_is_refused_in_the_same_words(user: str) -> None:
    client = knocking()
    error = error_of(log_in(client, "another", user))
    assert (error["S"], error["C"]) == ("FATAL", "28P01")
    assert error["M"] == f'password authentication failed for user "{user}"'
    assert set(error) == {"S", "V", "C", "M"}
    assert client.ended


def test_an_unknown_user_gets_the_same_salt_each_time() -> None:
    def asked(user: str) -> bytes:
        client = knocking()
        client.start(user=user)
        first = continued(client.send(sasl(PLAIN, Login("x").first())))
        goodbye(client)
        return first.split(b",")[1]

    assert asked("nobody") == asked("nobody") != asked("no one")


def test_a_first_message_may_come_later() -> None:
    client = knocking()
    client.start()
    assert continued(client.send(sasl(PLAIN, None))) == b""
    login = Login(PREPARED)
    first = continued(client.send(message("p", login.first())))
    assert kinds(client.send(message("p", login.final(first)))).startswith("RR")
    goodbye(client)


def test_over_tls_the_certificate_is_bound() -> None:
    client = Client(FakeSessions(), entrance=entrance(tls=True), channel=Channel(BINDING))
    assert client.send(request(SSL_REQUEST)) == [("S", b"")]
    assert kinds(log_in(client, PREPARED, binding=BINDING)).startswith("RR")
    goodbye(client)


def test_who_is_in_between_with_a_certificate_of_their_own_is_refused() -> None:
    client = Client(FakeSessions(), entrance=entrance(tls=True), channel=Channel(BINDING))
    client.send(request(SSL_REQUEST))
    error = error_of(log_in(client, PREPARED, binding=b"\x06" * 32))
    assert error["M"] == "SCRAM channel binding check failed"


def test_mechanisms_by_channel() -> None:
    assert offered(knocking().start()) == [PLAIN]
    for binding, wanted in ((BINDING, [PLUS, PLAIN]), (None, [PLAIN])):
        client = Client(FakeSessions(), entrance=entrance(tls=True), channel=Channel(binding))
        client.send(request(SSL_REQUEST))
        assert offered(client.start()) == wanted
        goodbye(client)


@pytest.mark.parametrize("method", ["password", "certificate"])
def test_a_certificate_is_as_good_as_a_password(method: AuthMethod) -> None:
    client = Client(
        FakeSessions(), entrance=entrance(method, tls=True), channel=Channel(BINDING, certified="me")
    )
    client.send(request(SSL_REQUEST))
    assert kinds(client.start()).startswith("RS")
    goodbye(client)


@pytest.mark.parametrize("certified", ["you", "ME", "me\x00", ""])
def test_a_certificate_is_for_one_role(certified: str) -> None:
    channel = Channel(BINDING, certified)
    client = Client(FakeSessions(), entrance=entrance("certificate", tls=True), channel=channel)
    client.send(request(SSL_REQUEST))
    error = error_of(client.start(user="me"))
    assert (error["C"], error["M"]) == ("28000", 'certificate authentication failed for user "me"')
    client = Client(FakeSessions(), entrance=entrance("password", tls=True), channel=channel)
    client.send(request(SSL_REQUEST))
    assert offered(client.start(user="me")) == [PLUS, PLAIN]
    goodbye(client)


def test_a_certificate_of_nobody_lets_nobody_in() -> None:
    channel = Channel(BINDING, certified="nobody")
    client = Client(FakeSessions(), entrance=entrance("certificate", tls=True), channel=channel)
    client.send(request(SSL_REQUEST))
    assert error_of(client.start(user="nobody"))["C"] == "28000"


def test_without_a_certificate() -> None:
    error = error_of(knocking("certificate").start())
    assert (error["C"], error["M"]) == ("28000", "connection requires a valid client certificate")


def test_where_tls_is_required_nothing_is_said_in_the_clear() -> None:
    sessions = FakeSessions()
    client = Client(sessions, entrance=entrance("trust", tls=True, required=True))
    error = error_of(client.start(database="d"))
    assert error["C"] == "28000"
    assert error["M"] == 'no pg_hba.conf entry for host "", user "me", database "d", no encryption'
    assert "sslmode=require" in error["H"]
    assert client.ended
    assert sessions.opened == []


def test_a_cancel_request_needs_no_login() -> None:
    sessions = FakeSessions()
    first = Client(sessions)
    first.start()
    other = Client(sessions, entrance=entrance(tls=True, required=True), channel=Channel(BINDING))
    other.send(request(SSL_REQUEST))
    other.send(request(CANCEL_REQUEST, struct.pack(">II", 1001, 0x9ABCDEF0)))
    assert other.ended
    assert sessions.calls == ["cancel"]
    goodbye(first)


def test_bytes_that_did_not_wait_for_the_answer_are_refused() -> None:
    sessions = FakeSessions()
    client = Client(sessions, entrance=entrance("trust", tls=True), channel=Channel(BINDING))
    stuffed = request(196608, b"user\x00me\x00\x00") + query("do X")
    replies = client.send(request(SSL_REQUEST) + stuffed)
    assert kinds(replies) == "E"
    assert error_of(replies)["M"] == "received unencrypted data after SSL request"
    assert client.ended
    assert sessions.opened == []


@pytest.mark.parametrize("code", [SSL_REQUEST, GSSENC_REQUEST])
def test_what_is_encrypted_is_not_encrypted_again(code: int) -> None:
    client = Client(FakeSessions(), entrance=entrance(tls=True), channel=Channel(BINDING))
    client.send(request(GSSENC_REQUEST) + b"")
    client.send(request(SSL_REQUEST))
    assert error_of(client.send(request(code)))["C"] == "0A000"
    assert client.ended


@pytest.mark.parametrize(
    "answer",
    [
        query("do X"),
        message("p", b""),
        message("p", b"SCRAM-SHA-256"),
        message("p", b"SCRAM-SHA-256\x00"),
        sasl("SCRAM-SHA-1", b"n,,n=,r=x"),
        sasl(PLUS, b"p=tls-server-end-point,,n=,r=x"),
        sasl(PLAIN, b"n,,n=,r=x") + message("p", b"c=biws,r=x,p=AAAA"),
        message("p", b"SCRAM-SHA-256\x00\xff\xff\xff\xfe"),
        message("p", b"SCRAM-SHA-256\x00\x00\x00\x00\xff"),
        message("p", PASSWORD.encode() + b"\x00"),  # a password as it is
        b"p" + struct.pack(">i", 3),
        b"p" + struct.pack(">i", -1),
        b"p" + struct.pack(">i", SASL_MESSAGE_BYTES_MAX + 5),
        b"\x16\x03\x01\x02\x00",
    ],
)
def test_anything_else_ends_it(answer: bytes) -> None:
    sessions = FakeSessions()
    client = Client(sessions, entrance=entrance())
    client.start()
    with capture_logs() as logs:
        error = error_of([reply for reply in client.send(answer) if reply[0] == "E"])
    assert (error["S"], error["C"]) == ("FATAL", "08P01")
    assert client.ended
    assert sessions.opened == []
    assert "internal error" not in str(logs)


def test_there_is_no_room_for_who_has_not_logged_in() -> None:
    client = Client(FakeSessions(), admitted=False, entrance=entrance())
    assert error_of(log_in(client, "another"))["C"] == "28P01"
    client = Client(FakeSessions(), admitted=False, entrance=entrance())
    replies = log_in(client, PREPARED)
    assert error_of(replies[1:])["C"] == "53300"


def test_logs_have_who_and_nothing_secret() -> None:
    with capture_logs() as logs:
        log_in(knocking(), "another")
        client = knocking()
        log_in(client, PREPARED)
        goodbye(client)
    assert [(line["event"], line["user"]) for line in logs] == [("login failed", "me"), ("login", "me")]
    assert "another" not in str(logs)
    assert "horse" not in str(logs)
