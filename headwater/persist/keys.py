"""When two rows have the same key, as SQL of either engine: the one definition for reads, folds and hubs.

NULL is a value like others: a key that could not be stored has one, and another column tells which it is
(core/export.py).  And -0 is 0, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterable


def same_key(one: str, other: str, keys: Iterable[str]) -> str:
    """The condition for rows of two relations."""
    return " AND ".join(f"{one}.{key} IS NOT DISTINCT FROM {other}.{key}" for key in keys)
