"""Who may come in, and what they must show.

    trust         nothing: clients are who they say they are
    password      a password, by SCRAM-SHA-256 on the SQL address and by HTTP Basic on the other one
    certificate   a client certificate whose name is the role; with `password` one will do as well

For HTTP there is one function: `authenticate(user, password, address)` returns the role's name, or raises
UserError 28P01 or 28000.  For SQL the exchange of messages is pgwire's (login.py), which asks here for
what is kept of a password (`kept`), waits for its `turn` before it looks at a proof, and says
whether it `passed` or was `refused`.

Nobody can tell a role that does not exist from one without a password, or from a wrong password:
not by the words, not by the messages, not by the time.

Not here: what a role may do once it is in.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from headwater.core.clock import Clock, secret_number
from headwater.core.errors import UserError
from headwater.core.limits import LOGIN_FAILURES_KEPT_MAX, LOGIN_SPACING_S_MAX
from headwater.core.scram import Verifier, mock_verifier, parse_verifier, password_matches
from headwater.core.throttle import Throttle
from headwater.options import AuthMethod

_LOG: Final = structlog.get_logger("logins")
_DEFAULT_USER: Final = "materialize"


class Account(Protocol):
    """What is asked of a role here."""

    @property
    def name(self) -> str: ...

    @property
    def verifier(self) -> str | None: ...


class Logins:
    """One server's door."""

    def __init__(
        self,
        method: AuthMethod,
        find: Callable[[str], Account | None],
        secret: bytes,
        clock: Clock,
        note: Callable[[str, str, AuthMethod], None],
    ) -> None:
        """`find` is the role of a name as of now; `secret` lasts, so that what is made up for unknown
        roles is the same after a restart; `note` is told whose login from where was refused."""
        self.method = method
        self._find = find
        self._secret = secret
        self._clock = clock
        self._note = note
        self._throttle = Throttle()
        # Passwords sent by HTTP with each request: checking one takes milliseconds, so what was right
        # is remembered, as a code that nobody can turn back.  Of each address, so that the log has all.
        self._right: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()
        self._key = secret_number(256).to_bytes(32, "big")

    def known(self, user: str) -> bool:
        """Whether there is such a role."""
        return self._find(user) is not None

    def kept(self, user: str) -> tuple[Verifier, bool]:
        """What is kept of a role's password, and whether there is one: if not, nothing is ever right."""
        role = self._find(user)
        found = parse_verifier(role.verifier) if role is not None and role.verifier else None
        return (found, True) if found is not None else (mock_verifier(self._secret, user), False)

    async def turn(self, user: str, address: str) -> None:
        """Wait until this client's attempt may be looked at."""
        wait_s = self._throttle.turn(_network(address), user, self._clock.monotonic_s())
        if wait_s is None:
            _LOG.debug("login refused unseen", user=user, client=address)
            await asyncio.sleep(LOGIN_SPACING_S_MAX)
            raise UserError(
                f'too many failed logins of user "{user}" from this address', "53300", hint="Wait a minute."
            )
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    def passed(self, user: str, address: str, method: AuthMethod) -> None:
        """They are who they say they are."""
        self._throttle.passed(_network(address), user, self._clock.monotonic_s())
        _LOG.info("login", user=user, client=address, method=method)

    def refused(self, user: str, address: str, method: AuthMethod) -> UserError:
        """They are not; the error says so, as PostgreSQL does."""
        self._throttle.failed(_network(address), user, self._clock.monotonic_s())
        _LOG.warning("login failed", user=user, client=address, method=method)
        if self.known(user):
            self._note(user, address, method)
        sqlstate = "28P01" if method == "password" else "28000"
        return UserError(f'{method} authentication failed for user "{user}"', sqlstate)

    async def authenticate(self, user: str | None, password: str | None, address: str) -> str:
        """The role of who sends a name and a password as they are, either of which may be missing."""
        if self.method == "trust":
            return user or _DEFAULT_USER
        if user is None or password is None:
            raise UserError("no password supplied", "28P01", hint="Send user:password, as curl -u does.")
        if self.method == "certificate":
            raise self.refused(user, address, "certificate")
        verifier, genuine = self.kept(user)
        key = user, str(verifier), _network(address)
        code = hmac.digest(self._key, password.encode(), "sha256")
        if genuine and hmac.compare_digest(self._right.get(key, b""), code):
            return user
        await self.turn(user, address)
        matches = await asyncio.to_thread(password_matches, verifier, password)
        if not (matches and genuine):
            raise self.refused(user, address, "password")
        self.passed(user, address, "password")
        self._right[key] = code
        while len(self._right) > LOGIN_FAILURES_KEPT_MAX:
            self._right.popitem(last=False)
        return user


def _network(address: str) -> str:
    """Where a client is, without its port; of IPv6 the part that one client has all to itself."""
    host = address.rpartition(":")[0] or address
    try:
        ip = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((ip, 64), strict=False))
