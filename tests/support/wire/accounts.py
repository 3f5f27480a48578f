"""Roles for tests of logging in, without a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headwater.coordinator.logins import Logins
from headwater.core.clock import SYSTEM_CLOCK, Clock
from headwater.core.scram import make_verifier
from headwater.options import AuthMethod

PASSWORD = "correct horse \u2168"
PREPARED = "correct horse IX"
"""What SASLprep makes of it."""


@dataclass(frozen=True, slots=True)
class FakeAccount:
    """One role."""

    name: str
    verifier: str | None


@lru_cache
def _verifier(password: str) -> str:
    return make_verifier(password, b"0123456789abcdef")


def accounts(**passwords: str | None) -> dict[str, FakeAccount]:
    """Roles with these passwords."""
    return {
        name: FakeAccount(name, None if password is None else _verifier(password))
        for name, password in passwords.items()
    }


def logins(method: AuthMethod = "password", clock: Clock = SYSTEM_CLOCK) -> Logins:
    """`me` and `you` have the password, `guest` has none, and there is nobody else."""
    find = accounts(me=PASSWORD, you=PASSWORD, guest=None).get
    return Logins(method, find, b"a secret", clock, lambda user, address, method: None)
