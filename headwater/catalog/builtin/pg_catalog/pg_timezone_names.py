"""pg_catalog.pg_timezone_names: time zones, with their offsets now."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import duration


def _rows(facts: SystemFacts) -> Columns:
    now = datetime.fromtimestamp(facts.now_ms / 1000, tz=UTC)
    names = sorted(zoneinfo.available_timezones())
    local = [now.astimezone(zoneinfo.ZoneInfo(name)) for name in names]
    offsets_s = [(t.utcoffset() or timedelta()).total_seconds() for t in local]
    return {
        "name": names,
        "abbrev": [t.tzname() for t in local],
        "utc_offset": [duration(int(offset_s) * 1_000) for offset_s in offsets_s],
        "is_dst": [bool(t.dst()) for t in local],
    }


RELATION = BuiltinTable(
    number=431,
    schema="pg_catalog",
    name="pg_timezone_names",
    description="Time zones, with their offsets now.",
    columns=shape(
        """
        name text?
        abbrev text?
        utc_offset interval?
        is_dst bool?
        """
    ),
    rows=_rows,
    scope="moment",
)
