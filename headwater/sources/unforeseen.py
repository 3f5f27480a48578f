"""Errors in decoding that nobody foresaw: they are of one table, and the others of its source go on.

    a value cannot be converted     it is a flaw of its row, as long as few values are to blame (flawed.py)
    anything else about a table     the table ends, once that has come several times (`Ended`)
    on the machine                  no memory, no file, a module that cannot be loaded: nobody's, tried again

Decoders raise nothing of this sort, so each is a defect.  Where it came about goes to the log by way of
`Received`: a task has none.

Not here: what is a message's fault (kafka/unforeseen.py), how often is several times (cluster/ingestion.py,
cluster/snapshots.py).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from headwater.core.change import Received
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.sources.contract import Export

OF_OTHERS: Final = (
    *(DefiniteError, InvariantViolation, TransientError),
    *(ImportError, MemoryError, OSError),
)
"""What says itself whose it is, or that the machine is short of something."""
_Made = TypeVar("_Made")
_HINT: Final = (
    "A defect: the cluster's log says where. What the table had before can be read AS OF an earlier time."
    " Drop the table and create it again; or ALTER SOURCE {source} RESYNC reads it again, with all others."
)


@dataclass(frozen=True, slots=True)
class Ended:
    """A table that cannot go on, if it comes again, and where that came about."""

    error: DefiniteError
    told: Received


def attempted(make: Callable[[], _Made], *others: type[Exception]) -> _Made | Exception:
    """What is made; or the error that nobody foresaw.  `others`: whose errors are somebody else's too."""
    foreseen: tuple[type[Exception], ...] = (*OF_OTHERS, *others)
    try:
        return make()
    except foreseen:
        raise
    except Exception as error:
        return error


def end_of(
    export: Export,
    error: Exception,
    what: str = "changes were decoded",
    place: tuple[str, str] = ("", ""),
    hint: str = _HINT,
) -> Ended:
    """What becomes of a table with such an error; `place`: upstream, and as the message ends with it."""
    position, shown = place
    message = f"internal error while {what}: {named(error)}{shown}"
    found = DefiniteError(".".join(export.reference), position, message, hint, doubtful=True)
    return Ended(found, Received(defects=(where(error),)))


def named(error: Exception) -> str:
    """What went wrong, in a line."""
    return f"{type(error).__name__}: {error}"


def where(error: Exception) -> str:
    """Where it came about, for the log."""
    return "".join(traceback.format_exception(error))
