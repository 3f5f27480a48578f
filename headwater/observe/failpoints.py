"""Failpoints: named places where a test may make the process fail.

    def commit(...):
        failpoint("ledger.before_commit")
        ...

Costs one test of an empty dict when none is armed.  They are armed from the
environment, which children and Spark's Python workers inherit, or by a test at run time:

    HEADWATER_FAILPOINTS="ledger.before_commit=3*exit;fold.before_commit=10%error"

    exit         the process ends at once with status 137, as if killed: no cleanup, nothing flushed
    error        TransientError is raised
    sleep(250)   the thread waits so many milliseconds
    3*ACTION     only the 3rd hit acts
    10%ACTION    each hit acts with that chance; HEADWATER_FAILPOINTS_SEED makes it reproducible
    10%3*ACTION  the 3rd of the hits that chance has picked acts

An action of the environment arms every process that inherits it, also one that is
started because the last one failed.  For a failure that happens once there is a folder:

    HEADWATER_FAILPOINTS_FOLDER=/some/folder       a file in it named after a failpoint holds an action;
                                                   the process that acts takes the file away first

Every name stands in `FAILPOINTS`, so that a test can go through all of them, and a
name that is not there cannot be armed or passed by mistake.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from headwater.core.clock import SYSTEM_CLOCK, Clock, seeded
from headwater.core.errors import InvariantViolation, TransientError, UserError

FAILPOINTS: Final[Mapping[str, str]] = {
    "catalog.before_commit": "a catalog transaction is complete but not durable",
    "catalog.after_commit": "a catalog transaction is durable but nobody has been told",
    "ledger.before_commit": "a ledger transaction is complete but not durable",
    "ledger.after_commit": "a ledger transaction is durable but nobody acts on it yet",
    "ingestion.before_join": "new tables are wanted and the ledger does not know them",
    "ingestion.after_join": "new tables have joined and no backfill runs",
    "ingestion.before_restart": "a source has begun anew upstream and the ledger does not know it",
    "ingestion.after_restart": "a source has begun anew and none of its tables is being read again",
    "ingestion.before_files": "a task has read its share of a tick and nothing of it is written",
    "ingestion.before_append": "a tick's files are written but the ledger does not name them",
    "ingestion.after_append": "the ledger names a tick that has not been reported",
    "backfill.before_chunk": "a chunk's file is written but the ledger does not name it",
    "backfill.before_state": "the ledger names all chunks of a table and its rows are not made of them",
    "backfill.before_version": "a table's first rows are whole files that no Delta version has",
    "backfill.before_hydrate": "a snapshot is complete, its Delta version too, and the table is not readable",
    "backfill.after_hydrate": "a table is readable and nobody has been told",
    "fold.before_commit": "a new state is written but not committed",
    "fold.after_commit": "a new state is a Delta version but the ledger still names the old one",
    "fold.after_ledger": "the ledger names a new state that has not been reported",
    "retention.before_unlink": "the ledger has forgotten files that are still there",
    "tables.before_append": "an INSERT's files are written but the ledger does not name them",
    "tables.after_append": "an INSERT is durable and the client has not been told",
    "webhooks.before_append": "requests are checked and decoded, and nothing of them is durable",
    "webhooks.after_append": "rows of requests are durable and no client has been told",
}
"""Name -> what is true when the process fails there."""

VARIABLE: Final = "HEADWATER_FAILPOINTS"
SEED_VARIABLE: Final = "HEADWATER_FAILPOINTS_SEED"
FOLDER_VARIABLE: Final = "HEADWATER_FAILPOINTS_FOLDER"
EXIT_STATUS: Final = 137

_ACTION: Final = re.compile(
    r"(?:(?P<percent>\d+(?:\.\d+)?)%)?(?:(?P<nth>\d+)\*)?"
    r"(?:(?P<plain>exit|error)|sleep\((?P<sleep_ms>\d+)\))"
)


@dataclass(frozen=True, slots=True)
class Action:
    """What an armed failpoint does, and at which hits."""

    kind: Literal["exit", "error", "sleep"]
    sleep_ms: int = 0
    nth: int | None = None
    percent: float = 100.0


@dataclass(slots=True)
class _Armed:
    """An action with its count of hits."""

    action: Action
    chance: Callable[[], float]  # in [0, 1)
    hit_count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def due(self) -> bool:
        """Count one hit; does this one act?"""
        with self.lock:
            if self.chance() * 100 >= self.action.percent:
                return False
            self.hit_count += 1
            return self.action.nth is None or self.hit_count == self.action.nth


_armed: dict[str, _Armed] = {}
_folder: Path | None = None
_found: dict[str, tuple[str, _Armed]] = {}  # by name: a file's text and what it armed


def failpoint(name: str) -> None:
    """Pass the failpoint `name`; does nothing unless it is armed."""
    if _armed or _folder is not None:
        _hit(name, SYSTEM_CLOCK)


def arm(name: str, action: str, seed: int = 0) -> None:
    """Arm one failpoint in this process; a second time replaces the first and counts anew."""
    if name not in FAILPOINTS:
        known = ", ".join(sorted(FAILPOINTS))
        raise UserError(f'failpoint "{name}" does not exist', "22023", hint=f"There are: {known}.")
    _armed[name] = _Armed(parse_action(action), seeded(seed).random)


def disarm(name: str | None = None) -> None:
    """Disarm one failpoint, or all of them."""
    if name is None:
        _armed.clear()
    else:
        _armed.pop(name, None)


@contextmanager
def armed(name: str, action: str, seed: int = 0) -> Iterator[None]:
    """Arm a failpoint for the length of a with block."""
    arm(name, action, seed)
    try:
        yield
    finally:
        disarm(name)


def parse_action(text: str) -> Action:
    """`exit`, `error` or `sleep(MS)`, after an optional chance and count."""
    match = _ACTION.fullmatch(text.strip())
    if match is None:
        raise UserError(
            f'action "{text}" of a failpoint is not known',
            "22023",
            hint="Write exit, error or sleep(MS), with 10% or 3* before it if you like.",
        )
    percent = float(match["percent"]) if match["percent"] else 100.0
    nth = int(match["nth"]) if match["nth"] else None
    if match["sleep_ms"]:
        return Action("sleep", int(match["sleep_ms"]), nth, percent)
    return Action("exit" if match["plain"] == "exit" else "error", 0, nth, percent)


def arm_from(environment: Mapping[str, str]) -> None:
    """Arm what the environment's variables ask for."""
    global _folder
    folder = environment.get(FOLDER_VARIABLE)
    _folder = Path(folder) if folder else None
    seed = int(environment.get(SEED_VARIABLE, "0"))
    for part in environment.get(VARIABLE, "").split(";"):
        if part.strip():
            name, _, action = part.partition("=")
            arm(name.strip(), action, seed)


def _hit(name: str, clock: Clock) -> None:
    if name not in FAILPOINTS:
        raise InvariantViolation(f'failpoint "{name}" is not declared')
    found = _armed.get(name)
    due = found is not None and found.due()
    if not due and _folder is not None:
        found = _taken(_folder / name)
        due = found is not None
    if found is None or not due:
        return
    match found.action.kind:
        case "exit":
            os._exit(EXIT_STATUS)
        case "error":
            raise TransientError(f'failpoint "{name}" was hit')
        case "sleep":
            clock.sleep(found.action.sleep_ms / 1_000)


def _taken(file: Path) -> _Armed | None:
    """What a file arms, if this hit is to act and nobody else has taken the file."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return None
    known, armed_by_file = _found.get(file.name, ("", None))
    if armed_by_file is None or known != text:
        armed_by_file = _Armed(parse_action(text), seeded(0).random)
        _found[file.name] = (text, armed_by_file)
    if not armed_by_file.due():
        return None
    del _found[file.name]
    try:
        file.unlink()
    except FileNotFoundError:
        return None
    return armed_by_file


arm_from(os.environ)
