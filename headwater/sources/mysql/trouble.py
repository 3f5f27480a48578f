"""Errors of an upstream, in our words.

trouble(error)    what may pass: the source tries again, and its status shows what the server said
reason(error)     why no connection came about: what was said, and what to do
"""

from __future__ import annotations

import re
import socket
import ssl
from typing import Final, NamedTuple

import pymysql

from headwater.core.errors import TransientError

NAMESPACE: Final = "mysql"

AGAIN: Final = "Nothing is lost: the source goes on by itself once the upstream can be reached again."
RESYNC: Final = (
    "What was lost cannot be read any more. ALTER SOURCE {source} RESYNC begins anew and brings every table"
    " up to date."
)

READ_AGAIN: Final = "Read it without AS OF, or at a later timestamp: the table is read again by itself."

DRIVER_ERRORS: Final = (pymysql.Error, OSError)
"""What a connection may raise while it is used."""

NO_PRIVILEGE: Final = frozenset((1044, 1142, 1143, 1227, 1370))
"""Errors by which a server says that the user may not do something."""

_LOST: Final = (2006, 2013)
"""What the driver calls a connection that has ended."""
_TLS: Final = "Set SSL MODE to REQUIRED, VERIFY_CA or VERIFY_IDENTITY."
_HINTS: Final = (
    (r"Connection refused", "Check HOST and PORT, and that the server listens there (bind_address)."),
    (r"timed out|No route|unreachable", "Check HOST and PORT, and that no firewall is in the way."),
    (r"^Access denied", "Check USER and PASSWORD, and from which hosts the upstream lets that user in."),
    (r"insecure transport|without SSL|secure connection", _TLS),
    (
        r"SSL is required",
        "Set SSL MODE to DISABLED, or switch TLS on in the upstream server.",
    ),
    (
        r"[Hh]ostname mismatch|IP address mismatch|doesn't match",
        "Set HOST to a name that the server's certificate has, or SSL MODE to VERIFY_CA.",
    ),
    (
        r"certificate verify failed",
        "Check SSL CERTIFICATE AUTHORITY: the server's certificate is not signed by it.",
    ),
    (r"is not allowed to connect|is blocked", "Let this host in at the upstream server."),
    (r"Too many connections|max_user_connections", "Raise the upstream's max_connections."),
    (
        r"password has expired",
        "Give the user another password in the upstream: ALTER USER ... IDENTIFIED BY.",
    ),
    (r"[Aa]ccount.* locked", "In the upstream: ALTER USER ... ACCOUNT UNLOCK."),
)


class Reason(NamedTuple):
    """Why something failed."""

    message: str
    hint: str


def trouble(error: BaseException, hint: str | None = AGAIN) -> TransientError:
    """What the server or the way to it said; the same try may work later."""
    return TransientError(f"{NAMESPACE}: {said(error)}", hint)


def plain(error: TransientError) -> TransientError:
    """The same for whoever has just named the upstream in a statement."""
    return TransientError(str(error).removeprefix(f"{NAMESPACE}: "), error.hint)


def code_of(error: BaseException) -> int:
    """The number that the server has for an error; 0 if it is not from a server."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def said(error: BaseException) -> str:
    """The line that matters."""
    cause = getattr(error, "original_exception", error)
    if isinstance(cause, OSError):
        return f"error connecting to server: {_system(cause)}"
    text = str(error.args[-1]) if error.args else ""
    return text.strip().partition("\n")[0] or type(error).__name__


def reason(error: BaseException) -> Reason:
    """Of an error while a connection is made."""
    if isinstance(error, TransientError):
        return Reason(str(plain(error)), error.hint or "")
    if isinstance(error, socket.gaierror):
        return Reason(f"failed to lookup address information: {error.strerror}", "Check HOST.")
    message = said(error)
    if code_of(error) in _LOST:
        late = "timed out" in message
        message = f"error connecting to server: {'connection timed out' if late else 'the server hung up'}"
    hints = (hint for pattern, hint in _HINTS if re.search(pattern, message))
    return Reason(message, next(hints, "Check the options of the connection and the upstream's log."))


def _system(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
    if isinstance(error, TimeoutError):
        return "connection timed out"
    return error.strerror or str(error) or type(error).__name__
