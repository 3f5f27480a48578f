"""Sets of transactions, as MySQL and MariaDB name them.

    MySQL     3e11fa47-71ca-11e1-9e33-c80aa9429562:1-57:60,3e11fa47-71ca-11e1-9e33-c80aa9429562:tag:1-3
              of each server on which transactions began, and of each tag there, the numbers that are in
    MariaDB   0-1-270,5-2-14
              of each domain the server and the number of the last one; all with a lower number are in

MySQL's numbers may come in any order and with gaps, so a set is kept as intervals.  MariaDB's rise within a
domain, whichever server gives them.

Not here: what a source makes of them (frontier.py), how they lie in events (transactions.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.sources.mysql.facts import Flavour

Interval = tuple[int, int]  # the first and the last
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

NUMBER_MAX: Final = (1 << 63) - 1
_UUID: Final = r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
_SOURCE: Final = re.compile(_UUID)
_TAG: Final = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_NUMBERS: Final = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_POSITION: Final = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
_MARIADB_ID_MAX: Final = (1 << 32) - 1


class Gtid(NamedTuple):
    """One transaction."""

    source: str  # MySQL: a server's UUID, with `:tag` if it has one; MariaDB: a domain
    number: int
    server: int | None = None  # MariaDB: the server on which it began

    def __str__(self) -> str:
        """As the server prints it."""
        if self.server is None:
            return f"{self.source}:{self.number}"
        return f"{self.source}-{self.server}-{self.number}"


@dataclass(frozen=True, slots=True)
class GtidSet:
    """Transactions of MySQL servers."""

    intervals: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)
    """By source, in its order: intervals in their order, none touching the next."""

    @staticmethod
    def parse(text: str) -> GtidSet:
        """What a server prints, with or without line breaks; ValueError says what it should be."""
        found: dict[str, list[Interval]] = {}
        for part in filter(None, (part.strip() for part in text.lower().split(","))):
            uuid, *rest = (piece.strip() for piece in part.split(":"))
            if not _SOURCE.fullmatch(uuid) or not rest:
                raise ValueError(f"{part!r} is no part of a GTID set, as uuid:1-5 is")
            source = uuid = _hyphenated(uuid)
            for piece in rest:
                if numbers := _NUMBERS.fullmatch(piece):
                    found.setdefault(source, []).append(_interval(*numbers.groups()))
                elif _TAG.fullmatch(piece):
                    source = f"{uuid}:{piece}"
                else:
                    raise ValueError(f"{piece!r} is no interval of a GTID set, as 1-5 is")
        return GtidSet({source: _merged(found[source]) for source in sorted(found)})

    def __str__(self) -> str:
        """In the order of sources; untagged transactions of a server come before tagged ones."""
        told = []
        for uuid, sources in groupby(self.intervals, lambda source: source.partition(":")[0]):
            parts = (source.removeprefix(uuid) + _printed(self.intervals[source]) for source in sources)
            told.append(uuid + "".join(parts))
        return ",".join(told)

    def __le__(self, other: GtidSet) -> bool:
        """Whether the other has all of them."""
        return all(
            any(low <= first and last <= high for low, high in other.intervals.get(source, ()))
            for source, intervals in self.intervals.items()
            for first, last in intervals
        )

    def __contains__(self, gtid: Gtid) -> bool:
        return any(low <= gtid.number <= high for low, high in self.intervals.get(gtid.source, ()))

    def union(self, other: GtidSet) -> GtidSet:
        sources = sorted(self.intervals.keys() | other.intervals.keys())
        return GtidSet({
            source: _merged([*self.intervals.get(source, ()), *other.intervals.get(source, ())])
            for source in sources
        })  # fmt: skip

    def minus(self, other: GtidSet) -> GtidSet:
        """Those that the other has not."""
        left = {
            source: _without(intervals, other.intervals.get(source, ()))
            for source, intervals in self.intervals.items()
        }
        return GtidSet({source: intervals for source, intervals in left.items() if intervals})

    def newest(self, server: str) -> GtidSet:
        """One of them: the last of a server's own, or if there is none of another's."""
        for source in (server, *self.intervals):
            if source in self.intervals:
                last = self.intervals[source][-1][1]
                return GtidSet({source: ((last, last),)})
        return GtidSet()

    def with_gtids(self, gtids: Iterable[Gtid]) -> GtidSet:
        """These as well."""
        found: dict[str, list[Interval]] = {}
        for source, number, _ in gtids:
            found.setdefault(source, []).append((number, number))
        return self.union(GtidSet({source: _merged(found[source]) for source in sorted(found)}))

    def having(self, source: str, numbers: Integers) -> Booleans:
        """Of transactions of a source: whether they are in."""
        intervals = self.intervals.get(source, ())
        firsts = np.array([first for first, _ in intervals], np.int64)
        lasts = np.array([0, *(last for _, last in intervals)], np.int64)
        found: Booleans = numbers <= lasts[np.searchsorted(firsts, numbers, side="right")]
        return found

    def count(self) -> int:
        """How many there are."""
        return sum(last - first + 1 for intervals in self.intervals.values() for first, last in intervals)


@dataclass(frozen=True, slots=True)
class GtidPosition:
    """Transactions of MariaDB servers: in each domain all up to one."""

    last: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By domain, in its order: (number, server)."""

    @staticmethod
    def parse(text: str) -> GtidPosition:
        """What a server prints; ValueError says what it should be."""
        found: dict[str, tuple[int, int]] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            if not (numbers := _POSITION.fullmatch(part)):
                raise ValueError(f"{part!r} is no GTID, as 0-1-5 is")
            domain, server, number = map(int, numbers.groups())
            if domain > _MARIADB_ID_MAX or server > _MARIADB_ID_MAX or number > NUMBER_MAX:
                raise ValueError(f"{part!r} is no GTID: a number is too great")
            # Of a binlog's state, which has one of each server in a domain, the newest counts.
            found[str(domain)] = max(found.get(str(domain), (0, 0)), (number, server))
        return GtidPosition({domain: found[domain] for domain in sorted(found, key=int)})

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{number}" for domain, (number, server) in self.last.items())

    def __le__(self, other: GtidPosition) -> bool:
        """Whether the other has all of them."""
        return all(number <= other._number(domain) for domain, (number, _) in self.last.items())

    def __contains__(self, gtid: Gtid) -> bool:
        return gtid.number <= self._number(gtid.source)

    def _number(self, domain: str) -> int:
        return self.last.get(domain, (0, 0))[0]

    def union(self, other: GtidPosition) -> GtidPosition:
        domains = sorted(self.last.keys() | other.last.keys(), key=int)
        none = (0, 0)
        return GtidPosition({
            domain: max(self.last.get(domain, none), other.last.get(domain, none), key=lambda last: last[0])
            for domain in domains
        })  # fmt: skip

    def without(self, newest: GtidPosition) -> GtidPosition:
        """Up to the numbers before these."""
        last = dict(self.last)
        for domain, (number, server) in newest.last.items():
            last[domain] = (number - 1, server)
        return GtidPosition({domain: gtid for domain, gtid in last.items() if gtid[0]})

    def newest(self, server: int) -> GtidPosition:
        """The last of one domain: that of a server's own, or if there is none of another's."""
        for domain, last in sorted(self.last.items(), key=lambda item: item[1][1] != server):
            return GtidPosition({domain: last})
        return GtidPosition()

    def with_gtids(self, gtids: Iterable[Gtid]) -> GtidPosition:
        """Up to these as well."""
        found: dict[str, tuple[int, int]] = {}
        for domain, number, server in gtids:
            if number >= found.get(domain, (0, 0))[0]:
                found[domain] = (number, server or 0)
        return self.union(GtidPosition(found))

    def having(self, source: str, numbers: Integers) -> Booleans:
        """Of transactions of a domain: whether they are in."""
        found: Booleans = numbers <= self._number(source)
        return found

    def count(self) -> int:
        """How many there are at most: a number may have been left out."""
        return sum(number for number, _ in self.last.values())


def parse_gtids(flavour: Flavour, text: str) -> GtidSet | GtidPosition:
    """What a server of this flavour prints."""
    return GtidPosition.parse(text) if flavour == "mariadb" else GtidSet.parse(text)


def _hyphenated(uuid: str) -> str:
    digits = uuid.replace("-", "")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _interval(first: str, last: str | None) -> Interval:
    low = int(first)
    high = low if last is None else int(last)
    if not 0 < low <= high <= NUMBER_MAX:
        raise ValueError(f"the interval {first}-{last or first} of a GTID set is not in order")
    return low, high


def _printed(intervals: tuple[Interval, ...]) -> str:
    return "".join(f":{first}" if first == last else f":{first}-{last}" for first, last in intervals)


def _merged(intervals: list[Interval]) -> tuple[Interval, ...]:
    merged: list[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _without(intervals: tuple[Interval, ...], others: tuple[Interval, ...]) -> tuple[Interval, ...]:
    left: list[Interval] = []
    for first, last in intervals:
        for low, high in others:
            if high < first or last < low:
                continue
            if first < low:
                left.append((first, low - 1))
            first = high + 1
        if first <= last:
            left.append((first, last))
    return tuple(left)
