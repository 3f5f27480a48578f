"""pg_catalog.pg_timezone_abbrevs: abbreviations of time zones, with what they mean now."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import duration
from headwater.formats.abbreviations import abbreviations


def _rows(facts: SystemFacts) -> Columns:
    known = abbreviations(facts.now_ms * 1_000)
    return {
        "abbrev": [name for name, _, _ in known],
        "utc_offset": [duration(offset_s * 1_000) for _, offset_s, _ in known],
        "is_dst": [daylight for _, _, daylight in known],
    }


RELATION = BuiltinTable(
    number=432,
    schema="pg_catalog",
    name="pg_timezone_abbrevs",
    description="Abbreviations of time zones, with what they mean now.",
    columns=shape(
        """
        abbrev text?
        utc_offset interval?
        is_dst bool?
        """
    ),
    rows=_rows,
    scope="moment",
)
