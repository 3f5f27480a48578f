"""How a PostgreSQL upstream is reached: connection strings, connections, validation.

    options of a connection (JSON, from the catalog)
      + values of its secrets, asked for now
      = a connection string of libpq, good for psycopg and for ADBC

libpq takes certificates and keys only as files.  They are written to a private folder
of this process, named by what is in them, so that a rotated key is another file and an
old connection keeps the one it was made with.

Nothing is taken from the surroundings of the process: what libpq would look up in the
home directory (passwords, certificates) is switched off, because a connection that
depends on where the server runs is not the one that the user described.

Not here: what is read over a connection.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

from headwater.core.clock import unique_name
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    UPSTREAM_CONNECT_S_MAX,
    UPSTREAM_KEEPALIVE_COUNT,
    UPSTREAM_KEEPALIVE_S,
)
from headwater.sources.connections import value_of
from headwater.sources.contract import Secrets
from headwater.sources.external import addresses
from headwater.sources.postgres.session_settings import settings_query, startup_options
from headwater.sources.postgres.silence import bounded

PORT_DEFAULT: Final = 5432

SLOTS_NEEDED: Final = 2
"""One that a source keeps, and one beside it while a table is backfilled."""

# No file can have this name, so libpq does without one instead of looking in the home directory.
_NO_FILE: Final = f"{os.devnull}/none"


def conninfo(connection: Mapping[str, Any], secrets: Secrets, **more: str) -> str:
    """A connection string of libpq; `more` are parameters of it that are added or replaced."""
    parameters: dict[str, Any] = {
        **_hosts(connection),
        "port": connection.get("port", PORT_DEFAULT),
        "dbname": connection["database"],
        "user": connection["user"],
        "sslmode": connection.get("ssl_mode", "disable"),
        "sslcert": _file(connection, "ssl_certificate", secrets),
        "sslkey": _file(connection, "ssl_key", secrets),
        "sslrootcert": _file(connection, "ssl_certificate_authority", secrets),
        "passfile": _NO_FILE,
        "gssencmode": "disable",
        "application_name": "headwater",
        "client_encoding": "UTF8",
        "connect_timeout": UPSTREAM_CONNECT_S_MAX,
        "keepalives": 1,
        "keepalives_idle": UPSTREAM_KEEPALIVE_S,
        "keepalives_interval": UPSTREAM_KEEPALIVE_S,
        "keepalives_count": UPSTREAM_KEEPALIVE_COUNT,
        "tcp_user_timeout": UPSTREAM_KEEPALIVE_S * (UPSTREAM_KEEPALIVE_COUNT + 1) * 1000,
    }
    password = value_of(connection, "password", secrets)
    # Empty instead of left out: libpq would take the one in the server's environment, and send it there.
    parameters["password"] = "" if password is None else _text(password)
    return make_conninfo("", **{**parameters, **more})


def _hosts(connection: Mapping[str, Any]) -> dict[str, str]:
    """Names and, where it matters which, their addresses: libpq then resolves nothing, and still checks the
    name in a certificate."""
    names = [name.strip() for name in connection["host"].split(",")]
    found = [(name, address) for name in names for address in addresses(connection, name)]
    if not found:
        return {"host": connection["host"], "hostaddr": ""}
    return {
        "host": ",".join(name for name, _ in found),
        "hostaddr": ",".join(address for _, address in found),
    }


def connect(
    connection: Mapping[str, Any], secrets: Secrets, *, replication: bool = False
) -> psycopg.Connection[Any]:
    """A connection in autocommit; one for replication speaks only the simple query protocol."""
    try:
        return _connect(connection, secrets, replication)
    except psycopg.Error as error:
        reason = _reason(error)
        raise TransientError(f'{reason.message} at "{_place(connection)}"', hint=reason.hint) from error


def validate(connection: Mapping[str, Any], secrets: Secrets) -> None:
    """UserError unless a source could be made with this connection now."""
    detail = (
        f'The connection is to "{_place(connection)}", database "{connection["database"]}",'
        f' as user "{connection["user"]}".'
    )
    try:
        with _connect(connection, secrets, False) as upstream, bounded(upstream):
            _check_settings(upstream, detail)
        with _connect(connection, secrets, True) as upstream, bounded(upstream):
            upstream.execute("IDENTIFY_SYSTEM")
    except psycopg.Error as error:
        reason = _reason(error)
        raise UserError(reason.message, "58000", detail=detail, hint=reason.hint) from error
    except TransientError as error:
        raise UserError(str(error), "58000", detail=detail, hint=error.hint) from error


def _connect(connection: Mapping[str, Any], secrets: Secrets, replication: bool) -> psycopg.Connection[Any]:
    more = {"replication": "database"} if replication else {}
    text = conninfo(connection, secrets, options=startup_options(), **more)
    cursor = psycopg.ClientCursor if replication else psycopg.Cursor
    upstream = psycopg.connect(text, autocommit=True, cursor_factory=cursor)
    try:
        with bounded(upstream):
            upstream.execute(settings_query().encode())
    except BaseException:
        upstream.close()
        raise
    return upstream


def _check_settings(upstream: psycopg.Connection[Any], detail: str) -> None:
    row = upstream.execute(
        "SELECT current_setting('wal_level'), current_setting('max_wal_senders')::int,"
        " current_setting('max_replication_slots')::int, (SELECT count(*) FROM pg_replication_slots)"
    ).fetchone()
    if row is None:
        raise UserError("the server told nothing about its settings", "58000", detail=detail)
    wal_level, senders, slots, taken = row
    if wal_level != "logical":
        raise UserError(
            f"server must have wal_level >= logical, but has {wal_level}",
            "58000",
            detail=detail,
            hint="ALTER SYSTEM SET wal_level = logical, then restart the upstream server.",
        )
    if senders < 1:
        raise UserError(
            "replication disabled on server",
            "58000",
            detail=detail,
            hint="Set max_wal_senders above 0, then restart the upstream server.",
        )
    if slots - taken < SLOTS_NEEDED:
        raise UserError(
            "PostgreSQL server has insufficient number of replication slots available",
            "58000",
            detail=f"{SLOTS_NEEDED} slots are needed, {max(slots - taken, 0)} of {slots} are free. {detail}",
            hint="Drop slots that nobody uses (pg_replication_slots), or raise max_replication_slots.",
        )


# What went wrong


class _Reason(NamedTuple):
    message: str
    hint: str


_FAILED: Final = re.compile(r"connection to server at .*? failed: (?P<reason>.*)")
_SEVERITY: Final = re.compile(r"^\w+:  (?P<text>.*)")

_HINTS: Final = (
    (r"Connection refused", "Check HOST and PORT, and that the server listens there (listen_addresses)."),
    (r"timed? ?out", "Check HOST and PORT, and that no firewall is in the way."),
    (r"password authentication failed|no password supplied", "Check USER and PASSWORD."),
    (r"authentication failed", "Check USER, PASSWORD and SSL CERTIFICATE."),
    (r'^role ".*" does not exist', "Check USER."),
    (r'^database ".*" does not exist', "Check DATABASE."),
    (r"no pg_hba\.conf entry .*no encryption", "Set SSL MODE to require, or allow the host in pg_hba.conf."),
    (r"no pg_hba\.conf entry", "Allow this host, user and database in the upstream's pg_hba.conf."),
    (r"requires a valid client certificate", "Set SSL CERTIFICATE and SSL KEY."),
    (
        r"does not support SSL",
        "Set SSL MODE to disable, or switch ssl on in the upstream server.",
    ),
    (r"root certificate file|system\" with an error", "Set SSL CERTIFICATE AUTHORITY."),
    (
        r"certificate verify failed",
        "Check SSL CERTIFICATE AUTHORITY: the server's certificate is not signed by it.",
    ),
    (
        r"does not match host name",
        "Set HOST to a name that the server's certificate has, or SSL MODE to verify-ca.",
    ),
    (
        r"(private key|certificate) file",
        "Check SSL CERTIFICATE and SSL KEY: both are PEM, the key not encrypted.",
    ),
    (
        r"replication role|REPLICATION attribute|start (?:WAL sender|walsender)",
        "Give the user the right to replicate: ALTER ROLE ... REPLICATION.",
    ),
    (
        r"too many clients|remaining connection slots|too many connections",
        "Raise the upstream's max_connections.",
    ),
    (r"max_wal_senders", "Raise the upstream's max_wal_senders."),
)


def _reason(error: psycopg.Error) -> _Reason:
    """What libpq says, in the words users match on, without the names of our files."""
    text = str(error).strip() or type(error).__name__
    if text.startswith("failed to resolve host"):
        why = text.rpartition("] ")[2] if "] " in text else text.rpartition(": ")[2]
        return _Reason(f"failed to lookup address information: {why}", "Check HOST.")
    # Of several addresses the last one's reason comes first.
    failed = _FAILED.search(text)
    reason = (text if failed is None else failed["reason"]).splitlines()[0].strip()
    told = _SEVERITY.match(reason)
    if told is not None:
        message = told["text"]
    elif failed is not None or error.sqlstate is None:
        message = f"error connecting to server: {reason}"
    else:
        message = reason
    if os.getpid() in _folders:
        message = message.replace(str(_folders[os.getpid()]), "...")
    hints = (hint for pattern, hint in _HINTS if re.search(pattern, message))
    return _Reason(message, next(hints, "Check the options of the connection and the upstream's log."))


def _place(connection: Mapping[str, Any]) -> str:
    return f"{connection['host']}:{connection.get('port', PORT_DEFAULT)}"


# Values, and files of them


def _text(password: bytes) -> str:
    try:
        text = password.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise TransientError(
            "the password is not text in UTF-8", hint="Set it again: ALTER SECRET ... AS 'password'"
        )
    return text


def _file(connection: Mapping[str, Any], option: str, secrets: Secrets) -> str:
    """The path of a private file with an option's value; of no file when it has none."""
    value = value_of(connection, option, secrets)
    if value is None:
        return _NO_FILE
    folder = _folder()
    path = folder / hashlib.sha256(value).hexdigest()
    if not path.exists():
        temporary = folder / unique_name()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(value)
        temporary.rename(path)
    return str(path)


_folders: dict[int, Path] = {}
_folders_lock = threading.Lock()


def _folder() -> Path:
    """This process's own folder; a forked process makes another one and leaves its parent's alone."""
    pid = os.getpid()
    with _folders_lock:
        folder = _folders.get(pid)
        if folder is None or not folder.is_dir():
            folder = _folders[pid] = Path(tempfile.mkdtemp(prefix="headwater-"))
            atexit.register(_remove, pid, folder)
        return folder


def _remove(pid: int, folder: Path) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
