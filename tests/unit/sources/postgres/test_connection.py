"""Connections to PostgreSQL: what works, and what users are told when it does not.

Goal: every way in which an upstream can refuse ends in the text that clients match on, with the
place named and something to do about it; and nothing of the machine's own settings takes part.

Method: a real PostgreSQL with TLS, passwords and client certificates, whose certificates are made for
the test; and two that are set up in a way that cannot be followed.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from headwater.core.errors import TransientError, UserError
from headwater.sources import patience
from headwater.sources.postgres import connection as module
from headwater.sources.postgres import silence
from headwater.sources.postgres.connection import connect, conninfo, validate
from headwater.sources.postgres.session_settings import SETTINGS
from tests.support.certificates import Authority
from tests.support.postgres import PostgresServer, available
from tests.support.proxy import Proxy

pytestmark = pytest.mark.skipif(not available(), reason="this machine has no PostgreSQL 15")

ACCESS = """
host     all  postgres    127.0.0.1/32  trust
host     all  password    127.0.0.1/32  scram-sha-256
host     all  unprivileged 127.0.0.1/32 trust
hostssl  all  tls         127.0.0.1/32  scram-sha-256
hostssl  all  certified   127.0.0.1/32  cert
"""


class Upstream:
    """A server, its certificates, and secrets by id."""

    def __init__(self, directory: Path) -> None:
        self.authority, self.stranger = Authority(directory, "ours"), Authority(directory, "theirs")
        signed = self.authority.sign("localhost", ("localhost",))
        self.client = self.authority.sign("certified")
        self.server = PostgresServer(
            settings="ssl = on\nssl_ca_file = 'ca.crt'\nlc_monetary = 'C'\nmax_replication_slots = 4\n",
            access=ACCESS,
            files={
                "server.crt": signed.certificate.encode(),
                "server.key": signed.key.encode(),
                "ca.crt": self.authority.certificate.encode(),
            },
        )
        self.values = {"u1": b"correct horse", "u2": b"wrong", "u3": self.client.key.encode()}

    def secret(self, id_: str) -> bytes:
        return self.values[id_]

    def options(self, **more: Any) -> dict[str, Any]:
        """Of a connection that works, with changes; None takes an option away."""
        options = {"host": "127.0.0.1", "port": self.server.port, "database": "postgres", "user": "postgres"}
        return {name: value for name, value in {**options, **more}.items() if value is not None}


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    made = Upstream(tmp_path_factory.mktemp("upstream"))
    with made.server:
        with psycopg.connect(made.server.dsn(), autocommit=True) as admin:
            admin.execute(
                "CREATE ROLE password LOGIN REPLICATION PASSWORD 'correct horse';"
                " CREATE ROLE tls LOGIN REPLICATION PASSWORD 'correct horse';"
                " CREATE ROLE certified LOGIN REPLICATION; CREATE ROLE unprivileged LOGIN"
            )
        yield made


def refusal(upstream: Upstream, **more: Any) -> UserError:
    """What validation says; connecting must say the same to whoever tries again."""
    options = upstream.options(**more)
    with pytest.raises(UserError) as refused:
        validate(options, upstream.secret)
    error = refused.value
    assert error.sqlstate == "58000"
    assert error.hint
    place = f'"{options["host"]}:{options["port"]}", database "{options["database"]}"'
    assert error.detail is not None
    assert place in error.detail
    return error


def test_a_server_that_is_set_up_for_replication_is_valid(upstream: Upstream) -> None:
    validate(upstream.options(), upstream.secret)


def test_a_connection_is_set_in_one_way_whatever_the_role_has_for_defaults(upstream: Upstream) -> None:
    hostile = {
        **{"role": "tls", "row_security": "on", "search_path": "evil, pg_catalog", "exit_on_error": "on"},
        **{"standard_conforming_strings": "off", "transform_null_equals": "on", "array_nulls": "off"},
        **{"gin_fuzzy_search_limit": "1", "datestyle": "SQL, DMY", "intervalstyle": "iso_8601"},
        **{"extra_float_digits": "0", "bytea_output": "escape", "timezone": "Asia/Tokyo"},
        **{"lc_monetary": "C.UTF-8", "lc_numeric": "C.UTF-8", "lc_time": "C.UTF-8"},
        **{"quote_all_identifiers": "on", "jit": "on", "xmlbinary": "hex", "xmloption": "document"},
        **{"default_transaction_isolation": "serializable", "default_transaction_read_only": "on"},
        **{"default_transaction_deferrable": "on", "statement_timeout": "1ms", "lock_timeout": "1ms"},
        **{"idle_in_transaction_session_timeout": "1ms", "idle_session_timeout": "5s"},
        **{"wal_sender_timeout": "1ms"},
        **{"tcp_keepalives_idle": "7200", "tcp_keepalives_interval": "75", "tcp_keepalives_count": "9"},
    }
    assert hostile.keys() == {*SETTINGS, "idle_session_timeout"}
    with psycopg.connect(upstream.server.dsn(), autocommit=True) as admin:
        admin.execute("GRANT tls TO password")
        for name, value in hostile.items():
            admin.execute(f"ALTER ROLE password SET {name} = {value if ',' in value else repr(value)}")
    options = upstream.options(user="password", password={"secret": "u1"})
    wanted = {**SETTINGS, "idle_session_timeout": "0"}
    for replication in (False, True):
        with connect(options, upstream.secret, replication=replication) as connection:
            assert connection.autocommit
            for name, value in wanted.items():
                row = connection.execute(f"SHOW {name}".encode()).fetchone()
                assert row is not None
                assert str(row[0]).replace(", ", ",") == value, name
            assert connection.info.parameter_status("application_name") == "headwater"


def test_a_connection_for_replication_speaks_its_commands(upstream: Upstream) -> None:
    with connect(upstream.options(), upstream.secret, replication=True) as connection:
        row = connection.execute("IDENTIFY_SYSTEM").fetchone()
        assert row is not None
        assert row[3] == "postgres"


def test_a_password_may_be_written_out_or_be_a_secret(upstream: Upstream) -> None:
    validate(upstream.options(user="password", password={"secret": "u1"}), upstream.secret)
    validate(upstream.options(user="password", password={"text": "correct horse"}), upstream.secret)


def test_a_wrong_password_is_told(upstream: Upstream) -> None:
    error = refusal(upstream, user="password", password={"secret": "u2"})
    assert error.message == 'password authentication failed for user "password"'
    assert error.hint == "Check USER and PASSWORD."


def test_a_missing_password_is_told_and_not_looked_up_on_this_machine(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / ".pgpass"
    passwords.write_text("*:*:*:*:correct horse\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("HOME", str(tmp_path))
    error = refusal(upstream, user="password")
    assert "no password supplied" in error.message
    assert error.hint == "Check USER and PASSWORD."


def test_a_secret_that_is_no_text_cannot_be_a_password(upstream: Upstream) -> None:
    for value in (b"\xff", b"a\0b"):
        with pytest.raises(TransientError, match="not text in UTF-8"):
            conninfo(upstream.options(password={"secret": "x"}), {"x": value}.__getitem__)


def test_a_database_or_user_that_is_not_there_is_told(upstream: Upstream) -> None:
    assert refusal(upstream, database="nothing").message == 'database "nothing" does not exist'
    error = refusal(upstream, user="nobody")
    assert error.message.startswith('no pg_hba.conf entry for host "127.0.0.1", user "nobody"')
    assert error.hint is not None
    assert "pg_hba.conf" in error.hint


def test_a_host_that_has_no_address_is_told(upstream: Upstream) -> None:
    error = refusal(upstream, host="nowhere.invalid")
    assert error.message.startswith("failed to lookup address information: ")
    assert error.hint == "Check HOST."


def test_a_port_that_nobody_listens_on_is_told_for_one_address_and_for_several(upstream: Upstream) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            error = refusal(upstream, host=host, port=port)
            assert error.message == "error connecting to server: Connection refused"
        with pytest.raises(TransientError) as refused:
            connect(upstream.options(port=port), upstream.secret)
    assert str(refused.value) == f'error connecting to server: Connection refused at "127.0.0.1:{port}"'
    assert refused.value.hint is not None


def test_somebody_who_does_not_speak_the_protocol_is_told_apart(upstream: Upstream) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as line:
                line.recv(1000)
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        error = refusal(upstream, port=listener.getsockname()[1])
        thread.join()
    assert error.message.startswith("error connecting to server: ")


def test_a_user_that_may_not_replicate_is_told(upstream: Upstream) -> None:
    error = refusal(upstream, user="unprivileged")
    assert "replication" in error.message.lower()
    assert error.hint is not None
    assert "ALTER ROLE ... REPLICATION" in error.hint


def test_a_server_without_free_slots_is_told_and_says_how_many(upstream: Upstream) -> None:
    with psycopg.connect(upstream.server.dsn(), autocommit=True) as admin:
        for number in range(3):
            admin.execute("SELECT pg_create_physical_replication_slot(%s)", (f"taken_{number}",))
        try:
            error = refusal(upstream)
        finally:
            admin.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    assert error.message == "PostgreSQL server has insufficient number of replication slots available"
    assert error.detail is not None
    assert error.detail.startswith("2 slots are needed, 1 of 4 are free.")


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (
            "wal_level = replica",
            "server must have wal_level >= logical, but has replica",
            "ALTER SYSTEM SET wal_level = logical, then restart the upstream server.",
        ),
        (
            "max_wal_senders = 0",
            "replication disabled on server",
            "Set max_wal_senders above 0, then restart the upstream server.",
        ),
    ],
)
def test_a_server_that_cannot_be_followed_is_told(settings: str, message: str, hint: str) -> None:
    with PostgresServer(settings=settings + "\n") as server:
        options = {"host": "127.0.0.1", "port": server.port, "database": "postgres", "user": "postgres"}
        with pytest.raises(UserError) as refused:
            validate(options, lambda id_: b"")
    assert (refused.value.message, refused.value.sqlstate) == (message, "58000")
    assert refused.value.hint == hint


# TLS


def test_a_server_that_wants_tls_gets_it(upstream: Upstream) -> None:
    tls = {"user": "tls", "password": {"secret": "u1"}}
    error = refusal(upstream, **tls)
    assert "no encryption" in error.message
    assert error.hint == "Set SSL MODE to require, or allow the host in pg_hba.conf."
    validate(upstream.options(**tls, ssl_mode="require"), upstream.secret)


def test_a_server_without_tls_is_told() -> None:
    with PostgresServer() as server:
        options = {"host": "127.0.0.1", "port": server.port, "database": "postgres", "user": "postgres"}
        with pytest.raises(UserError, match="server does not support SSL") as refused:
            validate({**options, "ssl_mode": "require"}, lambda id_: b"")
    assert refused.value.hint is not None
    assert "SSL MODE" in refused.value.hint


def test_an_authority_is_checked(upstream: Upstream) -> None:
    for mode in ("verify-ca", "verify-full"):
        ours = {"text": upstream.authority.certificate}
        validate(
            upstream.options(host="localhost", ssl_mode=mode, ssl_certificate_authority=ours), upstream.secret
        )
        theirs = {"text": upstream.stranger.certificate}
        error = refusal(upstream, host="localhost", ssl_mode=mode, ssl_certificate_authority=theirs)
        assert "certificate verify failed" in error.message
        assert error.hint is not None
        assert "SSL CERTIFICATE AUTHORITY" in error.hint


def test_a_host_name_is_checked_when_that_is_asked_for(upstream: Upstream) -> None:
    ours = {"ssl_certificate_authority": {"text": upstream.authority.certificate}}
    validate(upstream.options(ssl_mode="verify-ca", **ours), upstream.secret)
    error = refusal(upstream, ssl_mode="verify-full", **ours)
    assert "does not match host name" in error.message
    assert error.hint is not None
    assert "verify-ca" in error.hint


def test_a_client_s_certificate_is_who_the_client_is(upstream: Upstream) -> None:
    certified = {"user": "certified", "ssl_mode": "require"}
    pair = {"ssl_certificate": {"text": upstream.client.certificate}, "ssl_key": {"secret": "u3"}}
    validate(upstream.options(**certified, **pair), upstream.secret)
    error = refusal(upstream, **certified)
    assert "certificate" in error.message
    assert error.hint == "Set SSL CERTIFICATE and SSL KEY."


def test_a_certificate_that_is_none_is_told_without_the_name_of_our_file(upstream: Upstream) -> None:
    pair = {"ssl_certificate": {"text": "not a certificate"}, "ssl_key": {"secret": "u3"}}
    error = refusal(upstream, ssl_mode="require", **pair)
    assert "certificate" in error.message
    assert str(module._folder()) not in error.message
    assert error.hint is not None
    assert "PEM" in error.hint


def test_certificates_of_the_machine_s_user_are_not_used(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".postgresql"
    own.mkdir()
    # libpq would check the server against this one, and refuse it.
    (own / "root.crt").write_text(upstream.stranger.certificate)
    monkeypatch.setenv("HOME", str(tmp_path))
    validate(upstream.options(ssl_mode="require"), upstream.secret)


# Files, and time


def test_certificates_and_keys_are_private_files_that_change_with_what_is_in_them(upstream: Upstream) -> None:
    pair = {"ssl_certificate": {"text": "one"}, "ssl_key": {"secret": "k"}}
    first = conninfo_to_dict(conninfo(upstream.options(**pair), {"k": b"key"}.__getitem__))
    again = conninfo_to_dict(conninfo(upstream.options(**pair), {"k": b"key"}.__getitem__))
    rotated = conninfo_to_dict(conninfo(upstream.options(**pair), {"k": b"other"}.__getitem__))
    key = Path(str(first["sslkey"]))
    assert key.read_bytes() == b"key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert again["sslkey"] == first["sslkey"]
    assert rotated["sslkey"] != first["sslkey"]
    assert key.read_bytes() == b"key"


def test_a_forked_process_has_files_of_its_own(upstream: Upstream) -> None:
    ours = str(module._folder())
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:  # only what is safe in a fork of a process with threads
        os.write(writing, str(module._folder()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        theirs = answer.read()
    assert theirs
    assert theirs != ours
    os.rmdir(theirs)


def test_parameters_may_be_added_and_replaced(upstream: Upstream) -> None:
    text = conninfo(upstream.options(), upstream.secret, application_name="other", options="-c a=b")
    parameters = conninfo_to_dict(text)
    assert (parameters["application_name"], parameters["options"]) == ("other", "-c a=b")
    assert (parameters["sslmode"], parameters["client_encoding"]) == ("disable", "UTF8")


# Servers that say nothing


def test_a_server_that_works_too_long_is_given_up(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    monkeypatch.setattr(silence, "UPSTREAM_VALIDATE_S_MAX", 0.3)
    began_s = time.monotonic()
    overdue = pytest.raises(TransientError, match="postgres: the server has not answered for 0 s")
    with connect(upstream.options(), upstream.secret) as waiting, overdue, silence.bounded(waiting):
        waiting.execute("SELECT pg_sleep(20)")
    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize("user", ["postgres", "password"])
def test_a_server_that_works_is_waited_for(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    options = upstream.options(user=user, password={"secret": "u1"})
    with connect(options, upstream.secret) as waiting, silence.bounded(waiting):
        assert waiting.execute("SELECT pg_sleep(1), 1").fetchone() == ("", 1)


def test_a_session_whose_way_was_lost_is_given_up_before_its_time(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    with (
        Proxy(upstream.server.port) as proxy,
        connect(upstream.options(port=proxy.port), upstream.secret) as waiting,
    ):
        proxy.swallow()
        proxy.pass_on()
        with pytest.raises(TransientError, match="was lost on the way"), silence.bounded(waiting):
            waiting.execute("SELECT 1")


def test_a_server_to_which_no_way_leads_is_given_up_before_its_time(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    monkeypatch.setattr(silence, "UPSTREAM_ASIDE_S_MAX", 2)
    with (
        Proxy(upstream.server.port) as proxy,
        connect(upstream.options(port=proxy.port), upstream.secret) as waiting,
    ):
        proxy.swallow()
        with pytest.raises(TransientError, match="new connection to it timed out"), silence.bounded(waiting):
            waiting.execute("SELECT 1")


def test_the_connections_to_a_port_are_found(upstream: Upstream) -> None:
    before = silence.sockets_to(upstream.server.port)
    with connect(upstream.options(), upstream.secret) as made:
        assert silence.sockets_to(upstream.server.port) - before == {made.fileno()}
