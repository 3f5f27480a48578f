"""Errors of an upstream that may pass, in our words.

`psycopg` and ADBC say in many lines what one says; statuses and logs show that one, after
the name of the kind of upstream it is from.
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.errors import TransientError

AGAIN: Final = "Nothing is lost: the source continues by itself once the upstream can be reached again."

_SEVERITY: Final = re.compile(r"^(?:[A-Z_]+: \[libpq\] .*: )?(?:ERROR|FATAL|PANIC):  ")
"""Before it ADBC says what it was about to do."""


def trouble(error: BaseException, hint: str | None = AGAIN) -> TransientError:
    """What the server or the way to it said; the same try may work later."""
    return TransientError(f"postgres: {first_line(error)}", hint)


def named(error: TransientError) -> TransientError:
    """The same trouble, saying where it is from."""
    text = str(error)
    return error if text.startswith("postgres: ") else TransientError(f"postgres: {text}", error.hint)


def first_line(error: BaseException) -> str:
    """The line that matters."""
    return said(str(error)) or type(error).__name__


def said(text: str) -> str:
    """The line that matters of what a server said."""
    lines = text.strip().splitlines()
    return _SEVERITY.sub("", lines[0]) if lines else ""
