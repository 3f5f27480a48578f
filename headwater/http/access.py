"""Who makes a request, and whether a browser was talked into making it.

    who      `Identify`, handed in: a role for the name and password of HTTP Basic.  A server that trusts
             those who can reach it takes the name, and without one the default role
    where    a page of another site must not run statements with the rights of whoever looks at it

A browser says where a page is from (Origin), and that must be this server.  A name that its
owner has turned to 127.0.0.1 makes any page one of "this server": a server that asks for no password
therefore answers to addresses and to the names of its own machine, and to no others.  Webhooks are for
strangers, and are checked in another way (webhooks.py).
"""

from __future__ import annotations

import base64
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from headwater.core.errors import UserError

DEFAULT_USER: Final = "materialize"

Headers = Iterable[tuple[bytes, bytes]]
Identify = Callable[[str | None, str | None, str], Awaitable[str]]
"""The role for a name and a password, which may be missing, of a client at an address; UserError 28000 or
28P01 if there is none."""


async def trusting(user: str | None, password: str | None, address: str) -> str:
    """Whoever comes is who they say they are."""
    return user or DEFAULT_USER


@dataclass(frozen=True, slots=True)
class Access:
    """What every request for SQL has to pass."""

    identify: Identify = trusting
    trusted: bool = True  # without a password
    names: frozenset[str] = frozenset()  # that this server is called by, besides those of the machine

    def check_origin(self, scope: Scope) -> None:
        """Refuse what a page of another site asks for.

        A page that came in the clear may be anybody's, so it is another site than this one where it speaks
        TLS.  The other way around it may have come by a proxy that encrypts.
        """
        headers = scope["headers"]
        schemes = ("https",) if scope["scheme"] in ("https", "wss") else ("http", "https")
        host = header(headers, b"host") or ""
        origin = header(headers, b"origin")
        if origin is not None and origin.lower() not in {f"{scheme}://{host.lower()}" for scheme in schemes}:
            raise UserError(
                f'requests from pages of "{_shown(origin)}" are refused',
                "28000",
                hint="A page may use the server that it was loaded from. Other programs send no Origin.",
            )
        if self.trusted and not self._own(host):
            raise UserError(
                f'this server is not called "{_shown(host)}"',
                "28000",
                detail="It asks for no password, so it answers to its addresses and its machine's names.",
                hint="Use its address, as in http://127.0.0.1:6876.",
            )

    def _own(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = {"localhost", socket.gethostname().lower(), *self.names}
            return name in own or name.endswith(".localhost")
        return True

    async def role(self, headers: Headers, address: str) -> str:
        """Who asks, by HTTP Basic."""
        return await self.identify(*credentials(header(headers, b"authorization")), address)


def header(headers: Headers, name: bytes) -> str | None:
    """The value of a header; what is sent twice has no one value and is refused."""
    values = [value for key, value in headers if key == name]
    if len(values) > 1:
        raise UserError(f'header "{name.decode()}" is sent more than once', "08P01")
    return values[0].decode("latin-1") if values else None


def client_of(scope: Scope) -> str:
    """Where a client is, with its port."""
    host, port = scope.get("client") or ("", 0)
    return f"{host}:{port}"


def credentials(authorization: str | None) -> tuple[str | None, str | None]:
    """Name and password of HTTP Basic."""
    if authorization is None:
        return None, None
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise UserError(
            "authorization must be HTTP Basic", "28000", hint="Send user:password, as curl -u does."
        )
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:  # no base64, or no UTF-8 in it
        user = colon = password = ""
    if not user or "\0" in user or "\0" in password:
        raise UserError(
            "authorization is not a name and a password", "28000", hint="Send user:password, as curl -u does."
        )
    return user, password if colon else None


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:200])
