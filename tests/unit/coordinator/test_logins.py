"""Names and passwords as they are, over HTTP: the right ones cost little, the others wait.

Method: the real function with roles of the test's own and a clock that does not move.
"""

from __future__ import annotations

import asyncio

import pytest

from headwater.coordinator import logins as logins_module
from headwater.core.errors import UserError
from headwater.core.limits import LOGIN_FAILURES_FREE, LOGIN_SPACING_S_MAX
from headwater.core.scram import Verifier, password_matches
from tests.support.wire.accounts import PASSWORD, PREPARED, logins


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Passwords that a key was derived from."""
    seen: list[str] = []

    def counted(verifier: Verifier, password: str) -> bool:
        seen.append(password)
        return password_matches(verifier, password)

    monkeypatch.setattr(logins_module, "password_matches", counted)
    return seen


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, without waiting."""
    seen: list[float] = []

    async def waited(seconds: float) -> None:
        seen.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", waited)
    return seen


def test_the_right_password_is_checked_once_of_each_address(derived: list[str]) -> None:
    door = logins()

    async def ask() -> None:
        for password in (PASSWORD, PASSWORD, PREPARED):
            assert await door.authenticate("me", password, "127.0.0.1:1") == "me"
        for port in (1, 2):
            assert await door.authenticate("me", PASSWORD, f"127.0.0.2:{port}") == "me"

    asyncio.run(ask())
    assert derived == [PASSWORD, PREPARED, PASSWORD]


@pytest.mark.parametrize("user", ["me", "guest", "nobody"])
def test_any_other_is_refused_in_the_same_words_and_time(derived: list[str], user: str) -> None:
    with pytest.raises(UserError) as raised:
        asyncio.run(logins().authenticate(user, "wrong", "127.0.0.1"))
    assert (raised.value.sqlstate, raised.value.message) == (
        "28P01",
        f'password authentication failed for user "{user}"',
    )
    assert derived == ["wrong"]


def test_guesses_wait_and_are_refused_unseen(derived: list[str], waits: list[float]) -> None:
    door = logins()

    async def guess(count: int) -> None:
        for number in range(count):
            with pytest.raises(UserError):
                await door.authenticate("me", f"wrong{number}", "127.0.0.1")

    asyncio.run(guess(60))
    assert len(derived) < 15
    assert len(waits) >= 60 - LOGIN_FAILURES_FREE
    assert waits[-1] == LOGIN_SPACING_S_MAX
    waits.clear()
    assert asyncio.run(door.authenticate("you", PASSWORD, "127.0.0.1")) == "you"
    assert asyncio.run(door.authenticate("me", PASSWORD, "127.0.0.2")) == "me"
    assert waits == []


@pytest.mark.parametrize(("user", "password"), [(None, None), ("me", None), (None, PASSWORD)])
def test_what_is_missing_is_asked_for(user: str | None, password: str | None) -> None:
    with pytest.raises(UserError, match="no password supplied") as raised:
        asyncio.run(logins().authenticate(user, password, "127.0.0.1"))
    assert raised.value.sqlstate == "28P01"


def test_where_everybody_is_trusted_and_where_certificates_are_asked_for() -> None:
    assert asyncio.run(logins("trust").authenticate(None, None, "127.0.0.1")) == "materialize"
    assert asyncio.run(logins("trust").authenticate("x", "y", "127.0.0.1")) == "x"
    with pytest.raises(UserError, match="certificate authentication failed") as raised:
        asyncio.run(logins("certificate").authenticate("me", PASSWORD, "127.0.0.1"))
    assert raised.value.sqlstate == "28000"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("10.0.0.1:1", "10.0.0.1:2", True),
        ("10.0.0.1:1", "10.0.0.2:1", False),
        ("2001:db8::5:1", "2001:db8::ff:2", True),
        ("2001:db8::5:1", "2001:db8:0:1::5:1", False),
        ("::ffff:10.0.0.1:1", "::ffff:10.0.0.2:1", False),
        ("::ffff:10.0.0.1:1", "10.0.0.1:2", True),
    ],
)
def test_a_client_is_where_it_is_however_that_is_written(
    waits: list[float], first: str, second: str, same: bool
) -> None:
    door = logins()

    async def ask() -> None:
        for address in [first] * LOGIN_FAILURES_FREE + [second]:
            with pytest.raises(UserError):
                await door.authenticate("me", "wrong", address)

    asyncio.run(ask())
    assert bool(waits) == same
