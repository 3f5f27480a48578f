"""Abbreviations of time zones, in texts and in AT TIME ZONE, as PostgreSQL has them (timezonesets/Default).

Most are offsets for all times.  Some have meant different offsets over the years, as MSK has, which was
UTC+4 from 2011 to 2014.  Those are looked up in the history of a zone that uses them.
pg_timezone_abbrevs lists them all.

Not here: zones by name and POSIX specifications (zones.py).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from headwater.core.calendar import SECOND_US
from headwater.formats.zones import Zone, zone, zone_of_offset

_FIXED: Final = {
    -36_000: "hst taht",
    -34_200: "mart",
    -32_400: "akst gamt",
    -28_800: "akdt pst",
    -25_200: "mst pdt",
    -21_600: "cst galt mdt",
    -18_000: "act cdt cot est pet",
    -14_400: "amt ast bot edt",
    -12_600: "nft nst",
    -10_800: "adt bra brt clst gft pmst pyst uyt wgt",
    -9_000: "ndt",
    -7_200: "brst fnt pmdt uyst wgst",
    -3_600: "azot egt fnst",
    0: "azost egst gmt uct ut utc wet z zulu",
    3_600: "bst cet met mez wat wetdst",
    7_200: "bdst cest cetdst eet ist mest mesz metdst sast",
    10_800: "eat eest eetdst fet idt",
    12_600: "irt",
    14_400: "msd mut ret sct",
    16_200: "aft",
    18_000: "must mvt pkt tft tjt uzt",
    20_700: "npt",
    21_600: "almt bdt btt kgst pkst uzst xjt yekst",
    23_400: "mmt",
    25_200: "almst cxt ict wast",
    28_800: "awst bnt bort cct hkt myt pht wadt",
    31_500: "acwst",
    32_400: "awsst jayt jst kst pwt ulast wdt",
    34_200: "acst cast",
    36_000: "aest chut ddut kdt ligt mpt pgt trut yapt",
    37_800: "acdt acsst cadt lhst sadt",
    39_600: "aedt aesst pont vut",
    43_200: "fjt gilt mht nzst nzt tvt wakt wft",
    45_900: "chast",
    46_800: "fjst nzdt tot",
    49_500: "chadt",
}
_CHANGING: Final = {
    "America/Argentina/Buenos_Aires": "arst art",
    "America/Asuncion": "pyt",
    "America/Caracas": "vet",
    "America/Guyana": "gyt",
    "America/Santiago": "clt",
    "Antarctica/Davis": "davt",
    "Antarctica/Mawson": "mawt",
    "Asia/Anadyr": "anast anat",
    "Asia/Ashgabat": "tmt",
    "Asia/Baku": "azst azt",
    "Asia/Bishkek": "kgt",
    "Asia/Colombo": "lkt",
    "Asia/Irkutsk": "irkst irkt",
    "Asia/Kamchatka": "petst pett",
    "Asia/Krasnoyarsk": "krast krat",
    "Asia/Magadan": "magst magt",
    "Asia/Novosibirsk": "novst novt",
    "Asia/Omsk": "omsst omst",
    "Asia/Singapore": "sgt",
    "Asia/Tbilisi": "gest get",
    "Asia/Ulaanbaatar": "ulat",
    "Asia/Vladivostok": "vlast vlat",
    "Asia/Yakutsk": "yakst yakt",
    "Asia/Yekaterinburg": "yekt",
    "Asia/Yerevan": "amst",
    "Atlantic/Stanley": "fkst fkt",
    "Australia/Lord_Howe": "lhdt",
    "Europe/Moscow": "msk",
    "Europe/Volgograd": "volt",
    "Indian/Chagos": "iot",
    "Pacific/Easter": "easst east",
    "Pacific/Fakaofo": "tkt",
    "Pacific/Kiritimati": "lint",
    "Pacific/Kosrae": "kost",
    "Pacific/Niue": "nut",
    "Pacific/Rarotonga": "ckt",
}
_SUMMERS: Final = """
    acdt acsst adt aedt aesst akdt almst awsst azost bdst brst bst cadt cdt cest cetdst chadt clst edt eest
    eetdst egst fjst fnst idt kdt kgst mdt mest mesz metdst msd must ndt nzdt pdt pkst pmdt pyst sadt ulast
    uyst uzst wadt wdt wetdst wgst yekst
"""
_DAYLIGHT: Final = frozenset(_SUMMERS.split())
_OFFSETS: Final = {word: offset for offset, words in _FIXED.items() for word in words.split()}
_ZONES: Final = {word: name for name, words in _CHANGING.items() for word in words.split()}


def abbreviations(now_us: int) -> list[tuple[str, int, bool]]:
    """All of them, with the seconds east of UTC that they mean now, and whether that is daylight saving.

    One that its zone does not use any more means what the zone's clocks show now.
    """
    known = [(word, offset, word in _DAYLIGHT) for word, offset in _OFFSETS.items()]
    now = datetime.fromtimestamp(now_us // SECOND_US, UTC)
    for word, name in _ZONES.items():
        found = zone(name)
        period = int(found.periods(np.array([now_us], np.int64))[0])
        offset = int(found.offsets[_used(found, word.upper(), period)])
        known.append((word, offset, bool(now.astimezone(ZoneInfo(name)).dst())))
    return sorted((word.upper(), offset, daylight) for word, offset, daylight in known)


def abbreviated_zone(word: str) -> Zone | None:
    """Clocks that always go by an abbreviation, as AT TIME ZONE takes it; None if it is none."""
    lowered = word.lower()
    if lowered in _OFFSETS:
        return zone_of_offset(_OFFSETS[lowered])
    if lowered not in _ZONES:
        return None
    found = zone(_ZONES[lowered])
    offsets = [int(found.offsets[_used(found, word.upper(), period)]) for period in range(len(found.offsets))]
    return replace(found, name=word, offsets=np.array(offsets, np.int64))


def abbreviation_offset(word: str, clock_us: int) -> int | None:
    """The seconds east of UTC that an abbreviation means when clocks show this; None if it is none.

    One whose offset has changed means the last that its zone used under this name, or else the first to come.
    """
    lowered = word.lower()
    if lowered in _OFFSETS:
        return _OFFSETS[lowered]
    return _changing_offset(zone(_ZONES[lowered]), word.upper(), clock_us) if lowered in _ZONES else None


def _changing_offset(found: Zone, name: str, clock_us: int) -> int:
    now = int(found.periods(found.from_clock(np.array([clock_us], np.int64)))[0])
    return int(found.offsets[_used(found, name, now)])


def _used(found: Zone, name: str, now: int) -> int:
    """The last period until now that has this name, or else the first to come."""
    past, future = range(now, -1, -1), range(now + 1, len(found.offsets))
    return next((period for period in (*past, *future) if found.abbreviations[period] == name), now)
