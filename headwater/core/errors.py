"""Errors: four classes, chosen by who must act.

    UserError            the user, now           -> ErrorResponse on their session
    TransientError       nobody, we try again    -> status `stalled`, then a retry
    DefiniteError        the user, about data    -> that table fails at that position, others go on
    InvariantViolation   us                      -> the ingestion stops, loudly

The class is decided where the error is raised.  Messages are lower case,
without a full stop, and name the object; detail and hint are sentences and
the hint says what to type next.
"""

from __future__ import annotations

from dataclasses import dataclass


class HeadwaterError(Exception):
    """Base of all errors that are ours."""


@dataclass(eq=False)
class UserError(HeadwaterError):
    """Something the user wrote cannot be done; they can change it.

    `position` counts characters in the statement's text from 1, 0 is unknown; `context`
    says where in the user's data it was, as in `COPY t, line 3`.
    """

    message: str
    sqlstate: str = "XX000"
    detail: str | None = None
    hint: str | None = None
    position: int = 0
    context: str | None = None

    def __str__(self) -> str:
        return self.message


class TransientError(HeadwaterError):
    """The world did not answer; the same try may work later.

    `hint` says what a person could do to help it along.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class DefiniteError(HeadwaterError):
    """The upstream's data at `position` can never become rows of this table.

    `heals`: the table can be brought up to date by reading it again.  `doubtful`: nobody foresaw it, and it
    counts once it has come several times in a row.  `hint` says what to type, where that is
    something else than for other errors; `{source}` in it stands for the source's name.
    """

    def __init__(
        self,
        reference: str,
        position: str,
        message: str,
        hint: str | None = None,
        heals: bool = False,
        doubtful: bool = False,
    ) -> None:
        super().__init__(reference, position, message, hint, heals, doubtful)
        self.reference = reference
        self.position = position
        self.message = message
        self.hint = hint
        self.heals = heals
        self.doubtful = doubtful

    def __str__(self) -> str:
        return self.message


class InvariantViolation(HeadwaterError):
    """A promise that the code makes to itself does not hold."""


def syntax_error(message: str, position: int = 0) -> UserError:
    """A statement that cannot be parsed (42601)."""
    return UserError(message, "42601", position=position)


def not_supported(what: str, hint: str | None = None, position: int = 0) -> UserError:
    """A thing we do not do (0A000): `what` names it, as in `WITH TIES`."""
    return UserError(f"{what} not yet supported", "0A000", hint=hint, position=position)
