"""Which tables of a topic have the rows of another one: what was decoded once need not be fetched again.

Rows are alike where topic, formats and envelope are.  A column is what it comes from, whatever its name.
The format of keys decides about rows where there are keys, and about columns where they are taken.

A message without a header that a table has is an error in that table alone.  All other flaws are those of
every table with the same formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headwater.sources.contract import Export

_OF_KEYS: Final = ("key", "whole")


def places_in(donor: Export, export: Export, flawed: bool) -> tuple[int, ...] | None:
    """For each column of a table its place in another one that has its rows; None: none has.

    `flawed`: also if rows have flaws.
    """
    if not _alike(donor.pinned.reference, export.pinned.reference, _takes_keys(export)):
        return None
    there = _origins(donor)
    if any(origin not in there for origin in _origins(export)):
        return None
    places = tuple(there.index(origin) for origin in _origins(export))
    given = (donor.relation.columns[place].type for place in places)
    if any(type_ != column.type for type_, column in zip(given, export.relation.columns, strict=True)):
        return None
    if _key(donor) != _key(export) or (flawed and _headers(donor) != _headers(export)):
        return None
    return places


def _alike(was: Mapping[str, Any], now: Mapping[str, Any], keys: bool) -> bool:
    return was.keys() == now.keys() and all(was[name] == now[name] for name in now if keys or name != "key")


def _takes_keys(export: Export) -> bool:
    return export.discipline == "keyed" or any(origin[0] in _OF_KEYS for origin in _origins(export))


def _origins(export: Export) -> list[list[Any]]:
    return [list(origin) for origin in export.pinned.columns]


def _key(export: Export) -> list[list[Any]]:
    origins = _origins(export)
    return [origins[place] for place in export.relation.keys[0]] if export.relation.keys else []


def _headers(export: Export) -> list[list[Any]]:
    return sorted(origin for origin in _origins(export) if origin[0] == "header")
