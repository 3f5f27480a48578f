"""Abbreviations of time zones in the texts of moments, as PostgreSQL has them (its timezonesets/Default).

Most are offsets for all times.  Some have meant different offsets over the years, as MSK has, which was
UTC+4 from 2011 to 2014.  Those are looked up in the history of a zone that uses them.

Not here: zones by name and POSIX specifications (zones.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headwater.formats.zones import Zone, zone

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
_OFFSETS: Final = {word: offset for offset, words in _FIXED.items() for word in words.split()}
_ZONES: Final = {word: name for name, words in _CHANGING.items() for word in words.split()}


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
    past, future = range(now, -1, -1), range(now + 1, len(found.offsets))
    used = next((period for period in (*past, *future) if found.abbreviations[period] == name), now)
    return int(found.offsets[used])
