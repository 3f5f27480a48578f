"""From the first byte to a session, or to a refusal.

    SSLRequest                    S, and all that follows is encrypted; N if there is no certificate
    GSSENCRequest                 N: not here; the client goes on in the clear or leaves
    CancelRequest                 handed on; no answer, whatever came of it
    StartupMessage 3.x            who are you, and with which settings

Bytes that come after an SSLRequest without waiting for its answer are nobody's: whoever sits in
between could have put them there, to be read as the client's own once it is trusted.  Every error
here is fatal.

Not here: whether they are who they say they are (login.py), and what comes after (session.py).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError
from headwater.core.limits import STARTUP_PACKET_BYTES_MAX
from headwater.pgwire.codec import decoded
from headwater.pgwire.messages import ACCEPTED, PROTOCOL_3_0, REFUSED, negotiate_protocol_version
from headwater.pgwire.steps import Channel, Flush, Glance, ProtocolViolation, Secure, Steps, Write, read

CANCEL_REQUEST: Final = 80877102
SSL_REQUEST: Final = 80877103
GSSENC_REQUEST: Final = 80877104

_ENCRYPTION_REQUESTS_MAX: Final = 2  # one of each kind
_OPTION_WORD: Final = re.compile(r"(?:\\.|[^\\\s])+|\\$", re.DOTALL)
_SWITCHED_OFF: Final = frozenset(("", "0", "f", "false", "n", "no", "off"))


@dataclass(frozen=True, slots=True)
class Startup:
    """Who wants a session, and its settings; `options` have been taken apart."""

    user: str
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants another session's statement stopped."""

    backend_pid: int
    secret_key: int


def greeting(offers_tls: bool = False) -> Steps[tuple[Startup | Cancel, Channel | None]]:
    """Read packets until one says what this connection is for; a channel if it is encrypted."""
    channel: Channel | None = None
    for _ in range(_ENCRYPTION_REQUESTS_MAX + 1):
        code, body = yield from _packet()
        if code in (SSL_REQUEST, GSSENC_REQUEST) and channel is None:
            if code == SSL_REQUEST and offers_tls:
                channel = yield from _secured()
                continue
            yield Write(REFUSED)
            yield Flush()
            continue
        if code == CANCEL_REQUEST:
            if len(body) != 8:
                raise ProtocolViolation("cancel request does not have the length of one")
            return Cancel(*struct.unpack(">II", body)), channel
        return (yield from _startup(code, body)), channel
    raise ProtocolViolation("encryption was refused before")


def _secured() -> Steps[Channel]:
    if (yield Glance(1)):
        raise ProtocolViolation("received unencrypted data after SSL request")
    yield Write(ACCEPTED)
    channel: Channel = yield Secure()
    return channel


def _packet() -> Steps[tuple[int, bytes]]:
    length = int.from_bytes((yield from read(4)), "big")
    if not 8 <= length <= STARTUP_PACKET_BYTES_MAX:
        raise ProtocolViolation(f"startup packet cannot have a length of {length} bytes")
    packet = yield from read(length - 4)
    return int.from_bytes(packet[:4], "big"), packet[4:]


def _startup(code: int, body: bytes) -> Steps[Startup]:
    major, minor = code >> 16, code & 0xFFFF
    if major != 3:
        raise ProtocolViolation(
            f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0", "0A000"
        )
    settings = parse_parameters(body)
    # Names that begin with _pq_. are extensions of the protocol, not settings.
    unknown = [name for name in settings if name.startswith("_pq_.")]
    for name in unknown:
        del settings[name]
    if code != PROTOCOL_3_0 or unknown:
        yield Write(negotiate_protocol_version(unknown))
    if settings.pop("replication", "off").lower() not in _SWITCHED_OFF:
        raise UserError("replication connections are not supported", "0A000")
    user = settings.pop("user", "")
    if not user:
        raise UserError("no PostgreSQL user name specified in startup packet", "28000")
    options = settings.pop("options", "")
    # What is said by name wins over what is said in options.
    return Startup(user, {**parse_options(options), **settings})


def parse_parameters(body: bytes) -> dict[str, str]:
    """Pairs of zero-terminated strings, ended by an empty name."""
    if not body.endswith(b"\x00"):
        raise ProtocolViolation("startup packet does not end with a zero byte")
    words = body[:-1].split(b"\x00")
    # The last pair's terminator leaves one empty word behind it; without pairs there is none.
    if words.pop() or len(words) % 2:
        raise ProtocolViolation("startup packet does not consist of pairs of strings")
    names = words[::2]
    if not all(names):
        raise ProtocolViolation("startup packet goes on after its end")
    return {decoded(name): decoded(value) for name, value in zip(names, words[1::2], strict=True)}


def parse_options(options: str) -> dict[str, str]:
    """`-c name=value`, `-cname=value` and `--name=value`, apart by blanks that no backslash precedes."""
    words = [re.sub(r"\\(.?)", r"\1", word, flags=re.DOTALL) for word in _OPTION_WORD.findall(options)]
    settings: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word == "-c":
            setting = next(rest, "")
        elif word.startswith("-c") or word.startswith("--"):
            setting = word[2:]
        else:
            raise UserError(f'startup option "{word}" is not supported', "0A000", hint=_OPTIONS_HINT)
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UserError(f'startup option "{word}" needs a name and a value', "42601", hint=_OPTIONS_HINT)
        settings[name.replace("-", "_")] = value
    return settings


_OPTIONS_HINT: Final = "Write -c name=value or --name=value."
