"""How a MySQL or MariaDB upstream is reached: connections, TLS, validation.

    options of a connection (JSON, from the catalog)
      + values of its secrets, asked for now
      = a session of PyMySQL's, set as session_settings.py says

Nothing is taken from the surroundings of the process: no option file, no name of the user who runs it.  A
server may ask for the password in another form than is usual; as plain text it gets it under TLS only.

Not here: what is read over a connection.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pymysql
from pymysql.connections import Connection

from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    UPSTREAM_ASIDE_S_MAX,
    UPSTREAM_CONNECT_S_MAX,
    UPSTREAM_KEEPALIVE_COUNT,
    UPSTREAM_KEEPALIVE_S,
    UPSTREAM_VALIDATE_S_MAX,
)
from headwater.sources.connections import value_of
from headwater.sources.contract import Options, Secrets
from headwater.sources.external import addresses
from headwater.sources.mysql.facts import ServerFacts
from headwater.sources.mysql.server import server_facts, settings_error
from headwater.sources.mysql.session_settings import settle
from headwater.sources.mysql.silence import Session
from headwater.sources.mysql.trouble import (
    AGAIN,
    DRIVER_ERRORS,
    NAMESPACE,
    Reason,
    plain,
    reason,
    said,
    trouble,
)
from headwater.sources.patience import Patience

PORT_DEFAULT: Final = 3306

DISABLED: Final = "DISABLED"
REQUIRED: Final = "REQUIRED"
VERIFY_CA: Final = "VERIFY_CA"
VERIFY_IDENTITY: Final = "VERIFY_IDENTITY"
SSL_MODES: Final = (DISABLED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY)

_NOT_MYSQL: Final = (struct.error, ValueError, IndexError, KeyError, TypeError, AssertionError)
"""What PyMySQL raises when what answers speaks another protocol."""


class _Plain:
    """A way of logging in that tells the password to whoever asks."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:
        """As the server wants it, where nobody can listen."""
        if not self._connection._secure:
            raise pymysql.err.OperationalError(
                0, "the server asks for the password in plain text, without a secure connection"
            )
        self._connection.write_packet(self._connection.password + b"\0")
        packet = self._connection._read_packet()
        packet.check_error()
        return packet


class _Refused:
    """A way of logging in that gives the password away."""

    def __init__(self, connection: Any) -> None:
        pass

    def authenticate(self, packet: Any) -> Any:
        """Never."""
        raise pymysql.err.OperationalError(0, "the server asks for the password in a form that is not safe")


_WAYS: Final = {
    "mysql_clear_password": _Plain,
    "dialog": _Refused,
    "mysql_old_password": _Refused,
}


def connect(
    connection: Mapping[str, Any], secrets: Secrets, *, answer_s_max: float = UPSTREAM_VALIDATE_S_MAX
) -> Connection[Any]:
    """A session in autocommit, in which no answer is silent for longer; TransientError if there is none.

    What happens in it later are errors of the driver (trouble.py).
    """
    try:
        return _connect(connection, secrets, answer_s_max)
    except (*DRIVER_ERRORS, *_NOT_MYSQL, TransientError) as error:
        why = _why(error)
        raise TransientError(f'{NAMESPACE}: {why.message} at "{_place(connection)}"', why.hint) from error


@contextmanager
def asking(connection: Mapping[str, Any], secrets: Secrets) -> Iterator[Connection[Any]]:
    """A session for the questions of a statement; TransientError if one is not answered."""
    try:
        session = connect(connection, secrets)
        try:
            with bounded(session, connection, secrets):
                yield session
        finally:
            close(session)
    except DRIVER_ERRORS as error:
        raise TransientError(said(error), "The upstream's log may say more.") from error
    except TransientError as error:
        raise plain(error) from error


def server_now(options: Options, secrets: Secrets) -> ServerFacts:
    """What the upstream of a source says of itself; TransientError if it does not answer."""
    session = connect(options["connection"], secrets)
    try:
        with bounded(session, options["connection"], secrets):
            return server_facts(session)
    except DRIVER_ERRORS as error:
        raise trouble(error) from error
    finally:
        close(session)


def validate(connection: Mapping[str, Any], secrets: Secrets) -> None:
    """UserError unless a source could be made with this connection now."""
    detail = f'The connection is to "{_place(connection)}", as user "{connection["user"]}".'
    try:
        session = _connect(connection, secrets, UPSTREAM_VALIDATE_S_MAX)
        try:
            with bounded(session, connection, secrets):
                error = settings_error(server_facts(session))
        finally:
            close(session)
    except (*DRIVER_ERRORS, *_NOT_MYSQL, TransientError) as error:
        why = _why(error)
        raise UserError(why.message, "58000", detail=detail, hint=why.hint) from error
    if error is not None:
        raise error


def close(session: Connection[Any]) -> None:
    """Say goodbye; whatever state it is in."""
    if session.open:
        session.close()


def waited_on(session: Connection[Any], connection: Mapping[str, Any], secrets: Secrets) -> Session:
    """A session as somebody sees it who waits for its answers."""
    return Session(session, lambda: connect(connection, secrets, answer_s_max=UPSTREAM_ASIDE_S_MAX))


def bounded(session: Connection[Any], connection: Mapping[str, Any], secrets: Secrets) -> Patience:
    """Questions that a server should answer soon, and must answer some time."""
    waiting = waited_on(session, connection, secrets)
    return Patience(waiting, NAMESPACE, AGAIN, UPSTREAM_VALIDATE_S_MAX)


def _connect(connection: Mapping[str, Any], secrets: Secrets, answer_s_max: float) -> Connection[Any]:
    tls = _tls(connection, secrets)
    session = pymysql.connect(
        host=connection["host"],
        port=connection.get("port", PORT_DEFAULT),
        user=connection["user"],
        password=value_of(connection, "password", secrets) or b"",
        charset="utf8mb4",
        autocommit=True,
        program_name="headwater",
        ssl=tls,
        ssl_disabled=tls is None,
        read_timeout=UPSTREAM_CONNECT_S_MAX,
        write_timeout=UPSTREAM_CONNECT_S_MAX,
        auth_plugin_map=_WAYS,
        defer_connect=True,
    )
    try:
        session.connect(_line(connection))
        session._read_timeout = session._write_timeout = answer_s_max
        with session.cursor() as cursor:

            def ask(question: str) -> Iterable[Any]:
                cursor.execute(question)
                return list(cursor.fetchall())

            settle(ask)
    except BaseException:
        session._force_close()
        raise
    return session


def _line(connection: Mapping[str, Any]) -> socket.socket:
    """A way to the server that is noticed to be cut."""
    host, port = connection["host"], connection.get("port", PORT_DEFAULT)
    hosts = addresses(connection, host) or [host]
    if host.startswith("/"):
        return _socket(host)
    for place, address in enumerate(hosts):
        try:
            line = socket.create_connection((address, port), UPSTREAM_CONNECT_S_MAX)
            break
        except OSError:
            if place == len(hosts) - 1:
                raise
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, UPSTREAM_KEEPALIVE_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, UPSTREAM_KEEPALIVE_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, UPSTREAM_KEEPALIVE_COUNT)
    lost_ms = UPSTREAM_KEEPALIVE_S * (UPSTREAM_KEEPALIVE_COUNT + 1) * 1000
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lost_ms)
    return line


def _socket(path: str) -> socket.socket:
    """One of this machine."""
    line = socket.socket(socket.AF_UNIX)
    try:
        line.settimeout(UPSTREAM_CONNECT_S_MAX)
        line.connect(path)
    except BaseException:
        line.close()
        raise
    return line


# TLS


def _tls(connection: Mapping[str, Any], secrets: Secrets) -> ssl.SSLContext | None:
    mode = connection.get("ssl_mode", DISABLED)
    if mode == DISABLED:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = mode == VERIFY_IDENTITY
    context.verify_mode = ssl.CERT_REQUIRED if mode in (VERIFY_CA, VERIFY_IDENTITY) else ssl.CERT_NONE
    # Servers make themselves certificates that strict reading would refuse.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    authority = value_of(connection, "ssl_certificate_authority", secrets)
    if authority is not None:
        try:
            context.load_verify_locations(cadata=authority.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise TransientError(
                "SSL CERTIFICATE AUTHORITY is no certificate in PEM", hint="Set it again."
            ) from error
    certificate = value_of(connection, "ssl_certificate", secrets)
    if certificate is not None:
        _show_certificate(context, certificate, value_of(connection, "ssl_key", secrets) or b"")
    return context


def _show_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Python takes both as a file only, which is there for no longer than that takes."""
    descriptor, path = tempfile.mkstemp(prefix="headwater-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
        # An encrypted key would be asked for on the terminal of whoever runs us.
        context.load_cert_chain(path, password="")
    except ssl.SSLError as error:
        raise TransientError(
            "SSL CERTIFICATE and SSL KEY do not fit together",
            hint="Both are PEM, the key not encrypted, and the certificate's own.",
        ) from error
    finally:
        os.unlink(path)


def _why(error: BaseException) -> Reason:
    if isinstance(error, _NOT_MYSQL) and not isinstance(error, DRIVER_ERRORS):
        return Reason(
            "error connecting to server: what answers does not speak MySQL's protocol",
            "Check HOST and PORT.",
        )
    return reason(error)


def _place(connection: Mapping[str, Any]) -> str:
    return f"{connection['host']}:{connection.get('port', PORT_DEFAULT)}"
