"""Connections to MySQL and MariaDB: who is let in and how, and what is said where nobody is.

Method: servers of their own with certificates, and with defaults that are hostile to whoever reads; ways that
swallow what is sent; sessions asked what they are set to.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import UPSTREAM_CONNECT_S_MAX
from headwater.sources import external, patience
from headwater.sources.external import EXTERNAL_ONLY
from headwater.sources.mysql.connection import bounded, connect, validate
from headwater.sources.mysql.server import check_place, place_of
from headwater.sources.mysql.session_settings import ALWAYS, SOMETIMES
from headwater.sources.mysql.trouble import trouble
from tests.mysql.database import PASSWORD, Database
from tests.support.certificates import Authority
from tests.support.mysql import FLAVOURS, MysqlServer, running
from tests.support.proxy import Proxy
from tests.support.server import eventually


def no_secrets(id_: str) -> bytes:
    raise AssertionError("no secret is needed")


def options(server: MysqlServer, user: str = "root", password: str = "", **more: Any) -> dict[str, Any]:
    """As the catalog keeps them."""
    given = {"password": {"text": password}} if password else {}
    return {"host": "127.0.0.1", "port": server.port, "user": user, "ssl_mode": "DISABLED", **given, **more}


def refused(given: dict[str, Any]) -> UserError:
    with pytest.raises(UserError) as error:
        validate(given, no_secrets)
    assert error.value.sqlstate == "58000"
    assert error.value.hint
    return error.value


# Who is let in


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "one")


@pytest.fixture(scope="module", params=FLAVOURS)
def guarded(request: pytest.FixtureRequest, authority: Authority) -> Iterator[MysqlServer]:
    """A server that has a certificate for `localhost`, and users who must show one or speak TLS."""
    signed = authority.sign("localhost", names=("localhost",))
    files = {"ca.crt": authority.certificate, "server.crt": signed.certificate, "server.key": signed.key}
    with running(
        request.param,
        *("--ssl-ca=ca.crt", "--ssl-cert=server.crt", "--ssl-key=server.key"),
        files={name: text.encode() for name, text in files.items()},
    ) as server:
        server.run(
            f"CREATE USER plain@'%' IDENTIFIED BY '{'a' * 40}'",
            "CREATE USER tls@'%' IDENTIFIED BY 'tls' REQUIRE SSL",
            "CREATE USER shown@'%' IDENTIFIED BY 'shown' REQUIRE SUBJECT '/CN=shown'",
        )
        yield server


def text(value: str) -> dict[str, str]:
    return {"text": value}


@pytest.mark.parametrize("mode", ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"])
def test_every_mode_reaches_a_server_that_has_what_it_wants(
    guarded: MysqlServer, authority: Authority, mode: str
) -> None:
    given = options(guarded, "plain", "a" * 40, ssl_mode=mode, host="localhost")
    if mode.startswith("VERIFY"):
        given["ssl_certificate_authority"] = text(authority.certificate)
    validate(given, no_secrets)
    with closing(connect(given, no_secrets)) as session, session.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        [(_, cipher)] = cursor.fetchall()
        assert (cipher == "") == (mode == "DISABLED")


def test_a_user_who_must_speak_tls_is_let_in_with_it_only(guarded: MysqlServer) -> None:
    error = refused(options(guarded, "tls", "tls"))
    assert error.message.startswith("Access denied for user 'tls'@")
    validate(options(guarded, "tls", "tls", ssl_mode="REQUIRED"), no_secrets)


def test_a_user_who_must_show_a_certificate_shows_it(guarded: MysqlServer, authority: Authority) -> None:
    given = options(guarded, "shown", "shown", ssl_mode="REQUIRED")
    assert refused(given).message.startswith("Access denied for user 'shown'@")
    signed = authority.sign("shown")
    shown = {"ssl_certificate": text(signed.certificate), "ssl_key": text(signed.key)}
    validate({**given, **shown}, no_secrets)
    broken = refused({**given, **shown, "ssl_key": text(authority.sign("other").key)})
    assert broken.message == "SSL CERTIFICATE and SSL KEY do not fit together"


def test_another_servers_certificate_is_refused(guarded: MysqlServer, tmp_path: Path) -> None:
    given = options(guarded, "plain", "a" * 40, ssl_mode="VERIFY_CA")
    stranger = Authority(tmp_path, "stranger").certificate
    error = refused({**given, "ssl_certificate_authority": text(stranger)})
    assert error.message.startswith("error connecting to server: certificate verify failed")
    assert error.hint == ("Check SSL CERTIFICATE AUTHORITY: the server's certificate is not signed by it.")
    error = refused({**given, "ssl_certificate_authority": text("no certificate")})
    assert error.message == "SSL CERTIFICATE AUTHORITY is no certificate in PEM"


def test_a_certificate_for_another_name_is_refused_where_names_count(
    guarded: MysqlServer, authority: Authority
) -> None:
    given = options(guarded, "plain", "a" * 40, ssl_certificate_authority=text(authority.certificate))
    validate({**given, "ssl_mode": "VERIFY_CA"}, no_secrets)
    error = refused({**given, "ssl_mode": "VERIFY_IDENTITY"})
    assert "IP address mismatch" in error.message
    assert error.hint == ("Set HOST to a name that the server's certificate has, or SSL MODE to VERIFY_CA.")


def test_a_server_without_tls_is_told_from_one_that_lets_nobody_in(mariadb: MysqlServer) -> None:
    error = refused(options(mariadb, ssl_mode="REQUIRED"))
    assert error.message == "SSL is required but the server doesn't support it"
    assert error.hint == "Set SSL MODE to DISABLED, or switch TLS on in the upstream server."


def test_a_wrong_password_is_what_the_server_says_it_is(database: Database) -> None:
    validate(options(database.server, database.user, PASSWORD), no_secrets)
    error = refused(options(database.server, database.user, "wrong"))
    assert error.message.startswith(f"Access denied for user '{database.user}'@")
    assert error.detail == (
        f'The connection is to "127.0.0.1:{database.server.port}", as user "{database.user}".'
    )


def test_a_password_may_be_any_text(upstream: MysqlServer) -> None:
    with closing(upstream.connect()) as session, session.cursor() as cursor:
        cursor.execute("CREATE USER odd@'%%' IDENTIFIED BY %s", ("pä\\ß'\"`",))
    try:
        validate(options(upstream, "odd", "pä\\ß'\"`"), no_secrets)
    finally:
        upstream.run("DROP USER odd@'%'")


# Where nobody is


def test_hosts_that_are_not_there_are_told_apart(mariadb: MysqlServer) -> None:
    unknown = refused(options(mariadb, host="nowhere.invalid"))
    assert unknown.message.startswith("failed to lookup address information: ")
    assert unknown.hint == "Check HOST."
    with Proxy(mariadb.port) as proxy:
        proxy.refuse()
        closed = refused(options(mariadb, port=proxy.port))
    assert closed.message == "error connecting to server: Connection refused"


def test_a_host_within_the_operators_network_is_refused(
    mariadb: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "resolve", {"inside": ["127.0.0.1"]}.__getitem__)
    error = refused({**options(mariadb, host="inside"), EXTERNAL_ONLY: True})
    assert error.message == (
        'host "inside" has a loopback address, and this server connects to external addresses only'
    )


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(
    mariadb: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "resolve", lambda host: ["127.0.0.1"])
    monkeypatch.setattr(external, "within", lambda address: None)
    validate({**options(mariadb, host="known-here.invalid"), EXTERNAL_ONLY: True}, no_secrets)


def test_a_socket_of_the_machine_is_a_way_too(mariadb: MysqlServer) -> None:
    validate(options(mariadb, host=str(mariadb.directory / "socket")), no_secrets)


def test_a_server_that_has_stopped_is_not_waited_for(mariadb: MysqlServer) -> None:
    assert mariadb.process is not None
    mariadb.process.send_signal(signal.SIGSTOP)
    threads = Path(f"/proc/{mariadb.process.pid}/task")
    try:
        eventually(lambda: all(") T " in stat.read_text() for stat in threads.glob("*/stat")))
        began = SYSTEM_CLOCK.monotonic_s()
        error = refused(options(mariadb))
        assert error.message == "error connecting to server: connection timed out"
        assert SYSTEM_CLOCK.monotonic_s() - began < 2 * UPSTREAM_CONNECT_S_MAX
    finally:
        mariadb.process.send_signal(signal.SIGCONT)


def test_an_answer_that_is_lost_on_the_way_is_not_waited_for(upstream: MysqlServer) -> None:
    with Proxy(upstream.port) as proxy:
        session = connect(options(upstream, port=proxy.port), no_secrets, answer_s_max=0.5)
        proxy.swallow()
        with pytest.raises(pymysql.Error) as error, session.cursor() as cursor:
            cursor.execute("SELECT 1")
    assert str(trouble(error.value)).startswith("mysql: Lost connection to MySQL server during query")
    assert not session.open


# Servers that say nothing


def test_a_server_that_works_is_waited_for(upstream: MysqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    way = options(upstream)
    session = connect(way, no_secrets)
    with closing(session), bounded(session, way, no_secrets), session.cursor() as cursor:
        cursor.execute("SELECT SLEEP(1)")
        assert list(cursor.fetchall()) == [(0,)]


def test_a_session_whose_way_was_lost_is_given_up(
    upstream: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "UPSTREAM_ANSWER_S_MAX", 0.1)
    with Proxy(upstream.port) as proxy:
        way = {**options(upstream), "port": proxy.port}
        session = connect(way, no_secrets)
        proxy.swallow()
        proxy.pass_on()
        lost = pytest.raises(TransientError, match="mysql: the server has stopped answering: what was said")
        with lost, bounded(session, way, no_secrets), session.cursor() as cursor:
            cursor.execute("SELECT 1")
        session._force_close()


# What a session is


HOSTILE = (
    "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
    *("time_zone = '+05:30'", "lc_time_names = 'de_DE'", "sql_auto_is_null = 1"),
    *("sql_select_limit = 1", "sql_big_selects = 0", "max_join_size = 1"),
    *("lock_wait_timeout = 31536000", "innodb_lock_wait_timeout = 31536000"),
    *("wait_timeout = 1", "net_read_timeout = 1", "net_write_timeout = 1"),
    *("character_set_client = latin1", "character_set_results = latin1"),
    *("character_set_connection = latin1", "collation_connection = latin1_german2_ci"),
    "transaction_isolation = 'READ-UNCOMMITTED'",
)
OF_FLAVOUR = {
    "mysql": (
        "max_execution_time = 1",
        "information_schema_stats_expiry = 86400",
        "show_gipk_in_create_table_and_information_schema = OFF",
    ),
    "mariadb": ("max_statement_time = 1", "idle_transaction_timeout = 1"),
}


def variable(setting: str, server: MysqlServer) -> str:
    return setting.replace(
        "transaction_isolation", "tx_isolation" if server.flavour == "mariadb" else "transaction_isolation"
    )


@contextmanager
def set_to(server: MysqlServer, *settings: str) -> Iterator[None]:
    """With these global settings, and those of before afterwards."""
    names = [setting.partition(" = ")[0] for setting in settings]
    with closing(server.connect()) as session, session.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in names))
        before = dict(zip(names, cursor.fetchall()[0], strict=True))
        try:
            for setting in settings:
                cursor.execute(f"SET GLOBAL {setting}")
            yield
        finally:
            for name in reversed(names):
                cursor.execute(f"SET GLOBAL {name} = {session.literal(before[name])}")


@pytest.fixture
def hostile(guarded: MysqlServer) -> Iterator[MysqlServer]:
    """A server whose every default is hostile to whoever reads all rows."""
    settings = [variable(setting, guarded) for setting in (*HOSTILE, *OF_FLAVOUR[guarded.flavour])]
    with set_to(guarded, *settings):
        yield guarded


def test_defaults_of_the_server_change_nothing_of_what_is_read(hostile: MysqlServer) -> None:
    hostile.run("CREATE DATABASE d", "CREATE TABLE d.t (c CHAR(5) CHARACTER SET utf8mb4, at TIMESTAMP)")
    hostile.run(
        "SET NAMES utf8mb4, time_zone = '+00:00'",
        "INSERT INTO d.t VALUES ('ü€😀', '2024-01-02 03:04:05'), ('b\\', '2024-01-02 03:04:05')",
    )
    with closing(connect(options(hostile), no_secrets)) as session, session.cursor() as cursor:
        cursor.execute("SELECT c, CAST(at AS CHAR), '\\'', @@collation_connection FROM d.t ORDER BY c DESC")
        rows = cursor.fetchall()
        cursor.execute("SHOW SESSION VARIABLES")
        settings = {name.lower(): value for name, value in cursor.fetchall()}
    assert [row[:3] for row in rows] == [
        ("ü€😀", "2024-01-02 03:04:05", "'"),
        ("b\\", "2024-01-02 03:04:05", "'"),
    ]
    assert rows[0][3].startswith("utf8mb4")
    words = {"ON": "1", "OFF": "0"}
    for name, wanted in {**ALWAYS, **SOMETIMES}.items():
        if name in settings:
            found = words.get(settings[name], settings[name])
            assert found.removesuffix(".000000") == wanted.strip("'"), name
    assert settings[variable("transaction_isolation", hostile)] == "REPEATABLE-READ"
    assert settings["autocommit"] == "ON"
    assert settings["character_set_results"] == "utf8mb4"


def test_settings_that_keep_changes_out_of_the_log_are_told(upstream: MysqlServer) -> None:
    with set_to(upstream, "binlog_format = 'STATEMENT'", "binlog_row_image = 'MINIMAL'"):
        error = refused(options(upstream))
    assert error.message == "Invalid MySQL system replication settings"
    assert error.detail == (
        "Invalid MySQL system replication settings: binlog_format: expected ROW, got STATEMENT;"
        " binlog_row_image: expected FULL, got MINIMAL"
    )
    validate(options(upstream), no_secrets)


def test_a_server_without_a_log_or_gtids_is_told(mysql: MysqlServer) -> None:
    with running("mysql", "--skip-log-bin", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF") as server:
        detail = str(refused(options(server)).detail)
    assert "log_bin: expected 1, got 0" in detail
    assert "enforce_gtid_consistency: expected ON, got OFF; gtid_mode: expected ON, got OFF" in detail


def test_transient_errors_name_the_place(mariadb: MysqlServer) -> None:
    with Proxy(mariadb.port) as proxy:
        proxy.refuse()
        with pytest.raises(TransientError) as error:
            connect(options(mariadb, port=proxy.port), no_secrets)
        assert str(error.value) == (
            f'mysql: error connecting to server: Connection refused at "127.0.0.1:{proxy.port}"'
        )


def test_sessions_in_several_servers_are_told_apart(mysql: MysqlServer, mariadb: MysqlServer) -> None:
    place = place_of(mysql.connect())
    check_place(mysql.connect(), place)
    with pytest.raises(TransientError, match="the connection leads to several servers") as told:
        check_place(mariadb.connect(), place)
    assert told.value.hint == "HOST must be the name of one server. It is tried again."
