"""Errors of an upstream that may pass, in our words.

`psycopg` and ADBC say in many lines what one says; statuses and logs show that one.
"""

from __future__ import annotations

from headwater.core.errors import TransientError


def trouble(error: BaseException, hint: str | None = None) -> TransientError:
    """What the server or the way to it said; the same try may work later."""
    return TransientError(f"postgres: {first_line(error)}", hint)


def first_line(error: BaseException) -> str:
    """The line that matters."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
