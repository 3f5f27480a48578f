"""Upstreams: one folder per kind.

    <kind>/__init__.py     KIND      what the cluster asks of it        contract.py
    <kind>/dialect.py      DIALECT   what statements ask of it          dialect.py, dialects.py

What several kinds need and none of them owns stands beside them:

    connections.py external.py       options of connections, their values, and where they may lead
    column_options.py                TEXT COLUMNS and EXCLUDE COLUMNS of tables of a database
    spooled.py stretches.py          a log that has arrived; what a stretch of it is to one table
    unshown.py                       transactions that have arrived and do not show upstream yet
    patience.py                      waiting for a server that may not be heard any more
    flawed.py                        values that cannot be stored
    unforeseen.py                    errors of one table that nobody foresaw

A new kind of source is one folder and one line in `_PACKAGES`.  A kind may also come with another
distribution that is installed beside this one: an entry point in the group `headwater.sources` that
names its package.  Nothing in here imports Spark or another kind's folder, and nobody outside imports a
kind's folder.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from headwater.core.errors import InvariantViolation, UserError
from headwater.sources.contract import SourceType

ENTRY_POINTS: Final = "headwater.sources"

_PACKAGES: Final = (
    "headwater.sources.load_generator",
    "headwater.sources.postgres",
    "headwater.sources.kafka",
    "headwater.sources.mysql",
)


def told_by_kinds(module: str, name: str) -> dict[str, Any]:
    """By package, what all kinds say under a name in a module of theirs."""
    told = {}
    for package in (*_PACKAGES, *(entry.value for entry in entry_points(group=ENTRY_POINTS))):
        try:
            told[package] = getattr(import_module(package + module), name)
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"the kind of sources in the package {package} cannot be loaded: {error}",
                "58000",
                hint="Install another version of the package, or uninstall it.",
            ) from error
    return told


def _by_name(kinds: dict[str, SourceType]) -> dict[str, SourceType]:
    named: dict[str, SourceType] = {}
    for kind in kinds.values():
        if named.setdefault(kind.name, kind) is not kind:
            raise InvariantViolation(f"two kinds of sources are called {kind.name}")
    return named


SOURCE_TYPES: Final = _by_name(told_by_kinds("", "KIND"))
"""By name."""
