"""The client shows who it is: what is between its startup packet and AuthenticationOk.

    AuthenticationSASL, which mechanisms      ►
                                              ◄    SASLInitialResponse, mechanism and first message
    AuthenticationSASLContinue                ►
                                              ◄    SASLResponse, the proof
    AuthenticationSASLFinal, our own proof    ►

A client may be made to wait before its proof is looked at (coordinator/logins.py), and a message that is
longer than any of these is, is not read.  Every error here is fatal.

Not here: the exchange itself (core/scram.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from headwater.coordinator.logins import Logins
from headwater.core.clock import secret_number
from headwater.core.errors import UserError
from headwater.core.limits import SASL_MESSAGE_BYTES_MAX
from headwater.core.scram import NONCE_BYTES, Exchange, mechanisms
from headwater.pgwire import messages
from headwater.pgwire.codec import Body
from headwater.pgwire.startup import Startup
from headwater.pgwire.steps import Channel, Flush, ProtocolViolation, Steps, Write, call, read
from headwater.tls import Tls


@dataclass(frozen=True, slots=True)
class Entrance:
    """How an address is come in by."""

    logins: Logins | None = None
    tls: Tls | None = None
    tls_required: bool = False


ANYBODY: Final = Entrance()
"""Comes in, in the clear."""


def log_in(entrance: Entrance, startup: Startup, channel: Channel | None, address: str) -> Steps[None]:
    """Let nobody on who has not shown who they are; UserError 28000 or 28P01."""
    user = startup.user
    if entrance.tls_required and channel is None:
        raise _unencrypted(startup, address)
    logins = entrance.logins
    if logins is None or logins.method == "trust":
        return
    certified = None if channel is None else channel.certified
    if certified is not None and certified == user and logins.known(user):
        logins.passed(user, address, "certificate")
        return
    if logins.method == "certificate":
        if certified is None:
            raise UserError("connection requires a valid client certificate", "28000")
        raise logins.refused(user, address, "certificate")
    yield from _by_password(logins, user, channel, address)


def _by_password(logins: Logins, user: str, channel: Channel | None, address: str) -> Steps[None]:
    binding = None if channel is None else channel.binding
    yield Write(messages.authentication_sasl(mechanisms(binding)))
    yield Flush()
    initial = Body((yield from _response()))
    mechanism = initial.text()
    length = initial.integer(4)
    first = initial.take(length) if length != -1 else None
    initial.end()
    nonce = secret_number(NONCE_BYTES * 8).to_bytes(NONCE_BYTES, "big")
    exchange = Exchange(*logins.kept(user), mechanism, binding, nonce)
    if first is None:
        first = yield from _asked(b"")
    proof = yield from _asked(exchange.first(first))
    # However many connections a client makes, its proofs are looked at one by one.
    yield from call(partial(logins.turn, user, address))
    answer = exchange.final(proof)
    if answer is None:
        raise logins.refused(user, address, "password")
    logins.passed(user, address, "password")
    yield Write(messages.authentication_sasl_final(answer))


def _asked(data: bytes) -> Steps[bytes]:
    yield Write(messages.authentication_sasl_continue(data))
    yield Flush()
    return (yield from _response())


def _response() -> Steps[bytes]:
    header = yield from read(_HEADER_BYTES)
    if header[:1] != b"p":
        raise ProtocolViolation(f"expected SASL response, got message type {header[0]}")
    length = int.from_bytes(header[1:], "big") - 4
    if not 0 <= length <= SASL_MESSAGE_BYTES_MAX:
        raise ProtocolViolation(f"SASL response cannot have a length of {length + 4} bytes")
    return (yield from read(length)) if length else b""


_HEADER_BYTES: Final = 5


def _unencrypted(startup: Startup, address: str) -> UserError:
    host, user = address.rpartition(":")[0], startup.user
    database = startup.settings.get("database", user)
    return UserError(
        f'no pg_hba.conf entry for host "{host}", user "{user}", database "{database}", no encryption',
        "28000",
        detail="This server takes encrypted connections only: it has no pg_hba.conf, but --tls-mode require.",
        hint="Connect with sslmode=require, or verify-full and the authority that signed its certificate.",
    )
