"""Startup: who is let in, with which settings, and how others are told no.

Method: bytes of packets into the generator; the coordinator is `fake_sessions`.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.limits import STARTUP_PACKET_BYTES_MAX
from headwater.pgwire.startup import CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST, parse_options
from tests.support.wire.driver import Client, error_of, fields, goodbye, kinds, query, request, startup, text
from tests.support.wire.fake_sessions import FakeSessions


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("", {}),
        ("-c a=b", {"a": "b"}),
        ("-ca=b", {"a": "b"}),
        ("--a=b", {"a": "b"}),
        ("  --search-path=x,y   -c  b=2 ", {"search_path": "x,y", "b": "2"}),
        ("--a=b\\ c -c d=\\\\e", {"a": "b c", "d": "\\e"}),
        ("--a=", {"a": ""}),
        ("--a=b=c", {"a": "b=c"}),
        ("--a=1 --a=2", {"a": "2"}),
        (
            "--auto_route_catalog_queries=on --welcome_message=off --current_object_missing_warnings=off",
            {
                "auto_route_catalog_queries": "on",
                "welcome_message": "off",
                "current_object_missing_warnings": "off",
            },
        ),
    ],
)
def test_options_become_settings(options: str, settings: dict[str, str]) -> None:
    assert parse_options(options) == settings


@pytest.mark.parametrize(
    ("options", "sqlstate"),
    [("-c", "42601"), ("-c a", "42601"), ("--=x", "42601"), ("-d 5", "0A000"), ("x", "0A000")],
)
def test_options_that_are_none_are_refused(options: str, sqlstate: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_options(options)
    assert raised.value.sqlstate == sqlstate


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=9), max_size=4))
def test_any_value_can_be_written_as_an_option(settings: dict[str, str]) -> None:
    def escaped(value: str) -> str:
        return "".join("\\" + c if c == "\\" or c.isspace() else c for c in value)

    assert parse_options(" ".join(f"--{name}={escaped(v)}" for name, v in settings.items())) == settings


def test_a_client_is_let_in_and_told_the_settings() -> None:
    sessions = FakeSessions()
    client = Client(sessions)
    replies = client.start(database="d", application_name="x", options="--welcome=on -c y=2", y="1")
    assert kinds(replies) == "R" + "S" * 7 + "KNZ"
    assert replies[0] == ("R", bytes(4))
    assert replies[8] == ("K", struct.pack(">II", 1001, 0x9ABCDEF0))
    assert fields(replies[9][1])["M"] == "welcome"
    settings = {"database": "d", "application_name": "x", "welcome": "on", "y": "1"}
    assert sessions.opened == [("me", settings, "test", False)]
    goodbye(client)
    assert sessions.calls == ["close"]


@pytest.mark.parametrize("order", [(SSL_REQUEST,), (GSSENC_REQUEST,), (GSSENC_REQUEST, SSL_REQUEST)])
def test_encryption_is_refused_and_the_client_may_go_on(order: tuple[int, ...]) -> None:
    client = Client(FakeSessions())
    for code in order:
        assert client.send(request(code)) == [("N", b"")]
    assert kinds(client.start())[0] == "R"
    goodbye(client)


def test_encryption_is_refused_only_so_often() -> None:
    client = Client(FakeSessions())
    replies = client.send(request(SSL_REQUEST) * 3)
    assert kinds(replies) == "NNNE"
    assert client.ended


def test_a_cancel_request_is_handed_on_without_an_answer() -> None:
    sessions = FakeSessions()
    first = Client(sessions)
    first.start()
    for key, calls in ((1, []), (0x9ABCDEF0, ["cancel"])):
        other = Client(sessions)
        assert other.send(request(CANCEL_REQUEST, struct.pack(">II", 1001, key))) == []
        assert other.ended
        assert sessions.calls == calls
    goodbye(first)


def test_a_newer_protocol_is_negotiated_down() -> None:
    client = Client(FakeSessions())
    replies = client.send(startup(196610, user="me", **{"_pq_.shiny": "1"}))
    assert replies[0] == ("v", struct.pack(">II", 196608, 1) + b"_pq_.shiny\x00")
    assert kinds(replies)[1] == "R"
    goodbye(client)


@pytest.mark.parametrize(
    ("packet", "sqlstate"),
    [
        (startup(131072, user="me"), "0A000"),
        (startup(262144, user="me"), "0A000"),
        (startup(user=""), "28000"),
        (startup(database="d"), "28000"),
        (startup(user="nobody"), "28000"),
        (startup(user="me", replication="database"), "0A000"),
        (startup(user="me", options="-x"), "0A000"),
        (request(196608, b"\x00"), "28000"),
        (struct.pack(">I", 7), "08P01"),
        (struct.pack(">I", STARTUP_PACKET_BYTES_MAX + 1), "08P01"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "08P01"),
        (b"GET / HTTP/1.1\r\n\r\n", "08P01"),
        (request(196608, b"user\x00me"), "08P01"),
        (request(196608, text("user") + text("me")), "08P01"),
        (request(196608, text("user") + b"\x00"), "08P01"),
        (request(196608, text("user") + text("me") + text("x") + b"\x00"), "08P01"),
        (request(196608, text("user") + text("me") + b"\x00\x00x\x00\x00"), "08P01"),
        (request(196608, b"user\x00\xff\x00\x00"), "22021"),
        (request(CANCEL_REQUEST, b"123"), "08P01"),
    ],
)
def test_errors_in_startup_are_fatal(packet: bytes, sqlstate: str) -> None:
    sessions = FakeSessions()
    client = Client(sessions)
    error = error_of(client.send(packet))
    assert (error["S"], error["V"], error["C"]) == ("FATAL", "FATAL", sqlstate)
    assert client.ended
    assert sessions.open == {}


def test_a_client_too_many_is_told_so() -> None:
    sessions = FakeSessions()
    client = Client(sessions, admitted=False)
    error = error_of(client.start())
    assert (error["S"], error["C"], error["M"]) == ("FATAL", "53300", "sorry, too many clients already")
    assert client.ended
    assert sessions.opened == []


def test_a_client_may_send_its_first_query_with_its_startup() -> None:
    client = Client(FakeSessions())
    replies = client.send(startup(user="me") + query("do X"))
    assert kinds(replies).endswith("ZCZ")
    goodbye(client)


def test_a_client_may_go_before_it_has_said_anything() -> None:
    sessions = FakeSessions()
    client = Client(sessions)
    client.send(b"\x00\x00")
    goodbye(client)
    assert client.ended
    assert sessions.calls == []
