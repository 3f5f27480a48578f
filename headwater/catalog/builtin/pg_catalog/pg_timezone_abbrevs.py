"""pg_catalog.pg_timezone_abbrevs: abbreviations of time zones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import duration
from headwater.core.calendar import HOUR_MS

# (abbreviation, hours from UTC, daylight saving)
_ABBREVIATIONS: Final = (
    ("ACST", 9.5, False),
    ("AEDT", 11, True),
    ("AEST", 10, False),
    ("AKDT", -8, True),
    ("AKST", -9, False),
    ("BST", 1, True),
    ("CDT", -5, True),
    ("CEST", 2, True),
    ("CET", 1, False),
    ("CST", -6, False),
    ("EDT", -4, True),
    ("EEST", 3, True),
    ("EET", 2, False),
    ("EST", -5, False),
    ("GMT", 0, False),
    ("HST", -10, False),
    ("JST", 9, False),
    ("KST", 9, False),
    ("MDT", -6, True),
    ("MSK", 3, False),
    ("MST", -7, False),
    ("NZDT", 13, True),
    ("NZST", 12, False),
    ("PDT", -7, True),
    ("PST", -8, False),
    ("UTC", 0, False),
    ("WET", 0, False),
    ("WEST", 1, True),
    ("Z", 0, False),
)


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    return {
        "abbrev": [name for name, _, _ in _ABBREVIATIONS],
        "utc_offset": [duration(int(hours * HOUR_MS)) for _, hours, _ in _ABBREVIATIONS],
        "is_dst": [daylight for _, _, daylight in _ABBREVIATIONS],
    }


RELATION = BuiltinTable(
    number=432,
    schema="pg_catalog",
    name="pg_timezone_abbrevs",
    description="Abbreviations of time zones.",
    columns=shape(
        """
        abbrev text?
        utc_offset interval?
        is_dst bool?
        """
    ),
    fixed=_fixed,
)
