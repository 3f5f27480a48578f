"""Kernels for AT TIME ZONE: what the clocks of a zone show.

Zones have the names of the tz database, in any case, and the usual abbreviations.  An hour that
a clock skips counts by the offset before the change, one that it shows twice is the later one.

Not here: anything in UTC (times.py).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.kernel import Kernel, row_wise

_EPOCH: Final = datetime(1970, 1, 1)
_ABBREVIATIONS: Final = {
    "utc": 0, "gmt": 0, "z": 0, "zulu": 0, "ut": 0, "uct": 0, "wet": 0, "cet": 3600, "met": 3600, "bst": 3600,
    "west": 3600, "eet": 7200, "cest": 7200, "mest": 7200, "eest": 10800, "msk": 10800, "jst": 32400,
    "kst": 32400, "est": -18000, "edt": -14400, "cst": -21600, "cdt": -18000, "mst": -25200, "mdt": -21600,
    "pst": -28800, "pdt": -25200,
}  # fmt: skip


@lru_cache(maxsize=1)
def _zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo | int:
    """A zone by name, or the seconds east that an abbreviation stands for."""
    word = name.strip().lower()
    if word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    known = _zone_names().get(word)
    if known is not None:
        return ZoneInfo(known)
    if any(character in "+-0123456789" for character in word):
        raise not_supported(
            f'time zone "{name}"', hint="Name a zone of the tz database, as in 'Europe/Berlin'."
        )
    raise UserError(f'time zone "{name}" not recognized', "22023")


def _local(moment: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        raise _beyond_zones() from None


def _beyond_zones() -> UserError:
    return not_supported("time zones outside the years 1 to 9999")


def to_zone(name: str, moment: int) -> int:
    """A moment as the clock in the zone shows it."""
    zone = _zone(name)
    if isinstance(zone, int):
        return moment + zone * 1_000_000
    try:
        offset = zone.fromutc(_local(moment).replace(tzinfo=zone)).utcoffset()
    except OverflowError:
        raise _beyond_zones() from None
    return moment + _offset_us(offset)


def from_zone(name: str, clock: int) -> int:
    """The moment at which the clock in the zone shows this; an hour that comes twice is the later."""
    zone = _zone(name)
    if isinstance(zone, int):
        return clock - zone * 1_000_000
    local = _local(clock).replace(tzinfo=zone)
    first, second = local.utcoffset(), local.replace(fold=1).utcoffset()
    ambiguous = first is not None and second is not None and first > second
    return clock - _offset_us(second if ambiguous else first)


def _offset_us(offset: timedelta | None) -> int:
    return 0 if offset is None else int(offset.total_seconds()) * 1_000_000


KERNELS: Final[tuple[Kernel, ...]] = (
    row_wise("hw_to_zone", ("text", "timestamptz"), "timestamp", to_zone),
    row_wise("hw_from_zone", ("text", "timestamp"), "timestamptz", from_zone),
)
