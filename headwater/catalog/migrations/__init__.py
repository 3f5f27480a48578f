"""Versions of the metadata database's catalog tables, one file each.

A file `NNNN_title.py` has `STATEMENTS`, run once and in order inside one transaction
when a database older than NNNN is opened.  A file is never edited after a release;
what was wrong in it is corrected by the next one.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from version - 1 to version."""

    version: int
    name: str
    statements: tuple[str, ...]


def load_migrations() -> tuple[Migration, ...]:
    """All migrations of this release, in order."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        number, _, title = module.name.partition("_")
        statements = importlib.import_module(f"{__name__}.{module.name}").STATEMENTS
        found.append(Migration(int(number), title, tuple(statements)))
    return tuple(sorted(found, key=lambda migration: migration.version))
