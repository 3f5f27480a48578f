"""The function table: every function, operator, aggregate and cast there is.

    FUNCTIONS       by lower-case SQL name or operator symbol, all overloads
    find_cast       how a type becomes another, and in which context
    sort_key        what to order a value of a type by
    equality_key    what to group and join it by

One file a family.  A name that is not here does not exist for queries: nothing is passed
through to an engine.  Forms are explained in entry.py; aggregates mark the engine's own call
as `<<name|arguments>>`, table functions give a list whose elements are the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from headwater.sql.select.functions import (
    aggregates,
    arrays,
    comparisons,
    json,
    numbers,
    strings,
    system,
    tables,
    time,
    windows,
)
from headwater.sql.select.functions.casts import CastEntry, assignment_cast, find_cast
from headwater.sql.select.functions.comparisons import equality_key, sort_key
from headwater.sql.select.functions.entry import Function

__all__ = [
    "FUNCTIONS",
    "CastEntry",
    "Function",
    "assignment_cast",
    "equality_key",
    "find_cast",
    "sort_key",
]

_FAMILIES: Final = (comparisons, numbers, strings, time, json, arrays, aggregates, windows, tables, system)


def _by_name() -> Mapping[str, tuple[Function, ...]]:
    found: dict[str, list[Function]] = {}
    for family in _FAMILIES:
        for function in family.FUNCTIONS:
            found.setdefault(function.name, []).append(function)
    return MappingProxyType({name: tuple(entries) for name, entries in found.items()})


FUNCTIONS: Final[Mapping[str, tuple[Function, ...]]] = _by_name()
