"""Kernels for AT TIME ZONE, and for whatever a session in another zone than UTC computes by its clocks.

Zones have the names of the tz database, in any case, POSIX specifications (formats/zones.py), and the usual
abbreviations.  Rows with the same zone, which are all but always all of them, are computed together.

Not here: anything in UTC (times.py), text of moments (formats/text_times.py), templates (patterns.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import (
    DAY_US,
    HOUR_S,
    MINUTE_S,
    MOMENT_DAYS_MAX,
    SECOND_US,
    add_months,
)
from headwater.core.errors import UserError
from headwater.core.types import INTERVAL
from headwater.formats.abbreviations import abbreviated_zone
from headwater.formats.columns import map_distinct
from headwater.formats.text import to_text
from headwater.formats.zones import Zone, find_zone, zone, zone_of_offset
from headwater.sql.select.kernels.columns import Numbers, array_of, missing_in, numbers_of, rows_by_name
from headwater.sql.select.kernels.fields import (
    extracted,
    fields_extracted,
    fields_truncated,
    parts_of_dates,
    truncated,
)
from headwater.sql.select.kernels.kernel import Kernel, arrow_of
from headwater.sql.select.kernels.times import checked, finite, out_of_range


@lru_cache(maxsize=256)
def zone_named(name: str) -> Zone:
    """A zone by the name that AT TIME ZONE is given: an abbreviation comes first."""
    found = abbreviated_zone(name) or find_zone(name)
    if found is None:
        raise UserError(f'time zone "{name}" not recognized', "22023")
    return found


def _converted(convert: Callable[[Zone, Numbers], Numbers], kind: str) -> Callable[..., pa.Array]:
    """Moments or clocks by the zones in each row; infinite ones are the same everywhere."""

    def run(names: pa.Array, values: pa.Array) -> pa.Array:
        given = numbers_of(values)
        missing = missing_in(names, values)
        result = given.copy()
        for name, rows in rows_by_name(names, missing):
            rows &= finite(given)
            result[rows] = checked(convert(zone_named(name), given[rows]))
        return array_of(result, kind, missing)

    return run


def _shifted(sign: int, kind: str) -> Callable[..., pa.Array]:
    """Moments or clocks by clocks that are so far ahead of UTC, in whole seconds."""

    def run(lengths: pa.Array, values: pa.Array) -> pa.Array:
        missing = missing_in(lengths, values)
        months, days, rest = (numbers_of(lengths.field(i)) for i in range(3))
        wrong = ~missing & ((months != 0) | (days != 0))
        if wrong.any():
            shown = to_text(lengths.filter(pa.array(wrong))[:1], INTERVAL)[0].as_py()
            raise UserError(f'interval time zone "{shown}" must not include months or days', "22023")
        given = numbers_of(values)
        known = finite(given) & ~missing
        ahead = np.where(known, np.sign(rest) * (np.abs(rest) // SECOND_US) * SECOND_US, 0)
        made = checked(np.where(known, given, 0) + sign * ahead)
        return array_of(np.where(known, made, given), kind, missing)

    return run


def _as_written(names: pa.Array) -> pa.Array:
    """Zones as make_timestamptz() is given them: hours with a sign are those that clocks are ahead of UTC,
    where AT TIME ZONE reads a POSIX specification."""
    return map_distinct(names, _one_written, pa.string())


def _one_written(name: str) -> str:
    if name[:1].isdigit():
        raise UserError(
            f'invalid input syntax for type numeric time zone: "{name}"',
            "22023",
            hint='Numeric time zones must have "-" or "+" as first character.',
        )
    found = _AHEAD.fullmatch(name)
    if found is None:
        return name
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    if found[3] is None and len(name) > 3:
        hours, minutes = divmod(hours, 100)
    offset = hours * 3600 + minutes * 60 + seconds
    written = zone_of_offset(-offset if found[1] == "-" else offset)
    if written is None or hours > 15 or minutes > 59 or seconds > 59:
        raise UserError(f'numeric time zone "{name}" out of range', "22023")
    return written.name


_AHEAD: Final = re.compile(r"([+-])([0-9]{1,9})(?::([0-9]{1,2})(?::([0-9]{1,2}))?)?")

# For the session's own zone, which is the same in every row


def _session_zone(zones: pa.Array) -> Zone:
    return zone(zones[0].as_py()) if len(zones) else zone("UTC")


def _by_clocks(convert: Callable[[Zone, Numbers], Numbers], kind: str) -> Callable[..., pa.Array]:
    def run(values: pa.Array, zones: pa.Array) -> pa.Array:
        given = numbers_of(values)
        known = finite(given)
        made = checked(convert(_session_zone(zones), np.where(known, given, 0)))
        return array_of(np.where(known, made, given), kind, missing_in(values))

    return run


_OF_CLOCKS: Final = frozenset({"microseconds", "milliseconds", "second", "minute", "hour"})
"""What is cut off within an hour leaves the offset as it is, also in an hour that comes twice."""


def _truncated(zone: Zone) -> Callable[[Numbers, str], Numbers]:
    def cut(moments: Numbers, field: str) -> Numbers:
        known = finite(moments)
        given = np.where(known, moments, 0)
        offsets = zone.offsets_at(given) * SECOND_US
        clocks = truncated(given + offsets, field)
        made = clocks - offsets if field in _OF_CLOCKS else zone.from_clock(clocks)
        return np.where(known, made, moments)

    return cut


def _trunc_at(names: pa.Array, values: pa.Array, zones: pa.Array) -> pa.Array:
    """date_trunc with a zone of its own, which may be another in every row."""
    known = [name for name in pc.unique(zones).to_pylist() if name is not None]
    if len(known) == 1 and not zones.null_count:
        return fields_truncated("timestamptz", names, values, _truncated(zone_named(known[0])))
    result = pa.nulls(len(values), arrow_of("timestamptz"))
    for name in known:
        rows = pc.fill_null(pc.equal(zones, name), False)
        some = fields_truncated(
            "timestamptz", names.filter(rows), values.filter(rows), _truncated(zone_named(name))
        )
        result = pc.replace_with_mask(result, rows, some)
    return result


def _field(zone: Zone) -> Callable[[Numbers, str], Numbers]:
    """A field's value in millionths, by the zone's clocks."""

    def look(moments: Numbers, field: str) -> Numbers:
        if field == "epoch":
            return moments
        offsets = zone.offsets_at(moments)
        size: Numbers = np.abs(offsets)
        sign: Numbers = np.sign(offsets)
        match field:
            case "timezone":
                return offsets * SECOND_US
            case "timezone_hour":
                return sign * (size // HOUR_S) * SECOND_US
            case "timezone_minute":
                return sign * (size // MINUTE_S % 60) * SECOND_US
        return extracted(moments + offsets * SECOND_US, field)

    return look


def add_in_zone(
    zone: Zone, moments: Numbers, months: Numbers, days: Numbers, microseconds: Numbers
) -> Numbers:
    """Months and days as the clocks count them, and what is left as it passes."""
    for count, move in ((months, add_months), (days, np.add)):
        if not count.any():
            continue
        clocks = zone.to_clock(moments)
        day = move(clocks // DAY_US, count)
        if np.any(np.abs(day) > MOMENT_DAYS_MAX):
            raise out_of_range()
        moments = np.where(count != 0, zone.from_clock(day * DAY_US + clocks % DAY_US), moments)
    return moments + microseconds


def _add(sign: int) -> Kernel:
    def run(values: pa.Array, months: pa.Array, days: pa.Array, rest: pa.Array, zones: pa.Array) -> pa.Array:
        missing = missing_in(values, months, days, rest)
        given = numbers_of(values)
        known = finite(given) & ~missing
        parts = (np.where(known, sign * numbers_of(part), 0) for part in (months, days, rest))
        made = checked(add_in_zone(_session_zone(zones), np.where(known, given, 0), *parts))
        return array_of(np.where(known, made, given), "timestamptz", missing)

    name = f"hw_timestamptz_{'add' if sign > 0 else 'sub'}_in_zone"
    return Kernel(name, ("timestamptz", "int8", "int8", "int8", "text"), "timestamptz", run)


_FIELD: Final = ("text", "timestamptz", "text")

KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_to_zone", ("text", "timestamptz"), "timestamp", _converted(Zone.to_clock, "timestamp")),
    Kernel("hw_from_zone", ("text", "timestamp"), "timestamptz", _converted(Zone.from_clock, "timestamptz")),
    Kernel("hw_to_offset", ("interval", "timestamptz"), "timestamp", _shifted(1, "timestamp")),
    Kernel("hw_from_offset", ("interval", "timestamp"), "timestamptz", _shifted(-1, "timestamptz")),
    Kernel("hw_zone_as_written", ("text",), "text", _as_written),
    Kernel("hw_clock", ("timestamptz", "text"), "timestamp", _by_clocks(Zone.to_clock, "timestamp")),
    Kernel("hw_of_clock", ("timestamp", "text"), "timestamptz", _by_clocks(Zone.from_clock, "timestamptz")),
    Kernel("hw_date_trunc_at_zone", _FIELD, "timestamptz", _trunc_at),
    Kernel(
        "hw_date_trunc_in_zone",
        _FIELD,
        "timestamptz",
        lambda names, values, zones: fields_truncated(
            "timestamptz", names, values, _truncated(_session_zone(zones))
        ),
    ),
    Kernel(
        "hw_extract_in_zone",
        _FIELD,
        "int8",
        lambda names, values, zones: fields_extracted(
            "timestamptz", names, values, _field(_session_zone(zones))
        ),
    ),
    Kernel(
        "hw_date_part_in_zone",
        _FIELD,
        "float8",
        lambda names, values, zones: parts_of_dates(
            "timestamptz", names, values, _field(_session_zone(zones))
        ),
    ),
    _add(1),
    _add(-1),
)
