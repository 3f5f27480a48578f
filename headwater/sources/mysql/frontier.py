"""Where a MySQL or MariaDB source stands: the transactions that it has read.

Servers that have taken over from each other have the same transactions under the same names, so a source
goes on at any of them that has all it has read.  Names alone do not tell a server whose log was thrown away
and that has counted from one again, so the newest transaction is kept with the time of its commit, and must
be the same when it is met again (history.py).

A source that begins anew, because what it had read cannot be continued, does so as another generation of
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from headwater.core.frontier import Frontier
from headwater.core.relation import Column
from headwater.core.types import TEXT, UINT4, UINT8, UUID
from headwater.sources.mysql.facts import Flavour
from headwater.sources.mysql.gtid import GtidPosition, GtidSet, parse_gtids

_UUIDS: Final = 1 << 128


class Last(NamedTuple):
    """A transaction that has committed, as the stream tells of it; before the first one, the log's file."""

    gtid: str  # empty: a file
    time_us: int  # of its commit, as exactly as the server says it; when the file was begun
    server: str  # which has sent it
    place: int  # in a file of that server's log; the number of the file


@dataclass(frozen=True, slots=True)
class GtidFrontier:
    """All these transactions have been read, and no others."""

    gtids: GtidSet | GtidPosition
    last: Last | None = None  # the newest that was read, or was there when reading began
    generation: int = 0  # how often the source has begun anew

    @property
    def flavour(self) -> Flavour:
        return "mysql" if isinstance(self.gtids, GtidSet) else "mariadb"

    def __le__(self, other: GtidFrontier) -> bool:
        return self.flavour == other.flavour and self.gtids <= cast(Any, other.gtids)

    def to_json(self) -> object:
        last = None if self.last is None else list(self.last)
        return [self.flavour, str(self.gtids), last, self.generation]

    @staticmethod
    def from_json(value: Any) -> GtidFrontier:
        flavour, gtids, last, generation = value
        read = None if last is None else Last(*last)
        return GtidFrontier(parse_gtids(flavour, gtids), read, int(generation))

    def at(self, gtids: GtidSet | GtidPosition, last: Last | None = None) -> GtidFrontier:
        """Other transactions of the same generation."""
        return GtidFrontier(gtids, last, self.generation)

    def __str__(self) -> str:
        """As the server prints it."""
        return str(self.gtids)


def gtids_of(frontier: Frontier) -> GtidSet | GtidPosition:
    """The transactions of a frontier that must be of this kind."""
    if not isinstance(frontier, GtidFrontier):
        raise TypeError(f"a MySQL source was given the frontier {frontier}")
    return frontier.gtids


def offset(frontier: Frontier) -> int | None:
    """How many transactions have been read, for statistics."""
    return gtids_of(frontier).count()


def reached(frontier: Frontier, position: Frontier) -> bool:
    """Whether everything before a position was read."""
    there, wanted = gtids_of(frontier), gtids_of(position)
    return type(there) is type(wanted) and wanted <= cast(Any, there)


def position_from_text(options: Mapping[str, Any], text: str) -> GtidFrontier:
    """A set of transactions as written; ValueError says what is wanted."""
    flavour: Flavour = options["flavour"]
    try:
        gtids = parse_gtids(flavour, text)
    except ValueError:
        gtids = None
    if gtids is None or not gtids.count():
        example = "0-1-270" if flavour == "mariadb" else "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-57"
        setting = "@@gtid_current_pos" if flavour == "mariadb" else "@@gtid_executed"
        raise ValueError(f"transactions as SELECT {setting} shows them, as in {example}")
    return GtidFrontier(gtids)


def progress_columns(options: Mapping[str, Any]) -> tuple[Column, ...]:
    """Of a source as a relation."""
    if options["flavour"] == "mariadb":
        return (
            Column("domain_id", UINT4, False),
            Column("server_id", UINT4, False),
            Column("sequence_number", UINT8, False),
        )
    return (
        Column("source_id_lower", UUID, False),
        Column("source_id_upper", UUID, False),
        Column("transaction_id", UINT8),
        Column("tag", TEXT),
    )


def progress_rows(frontier: Any) -> list[tuple[Any, ...]]:
    """MariaDB: the last transaction of each domain.  MySQL: the next of each server; 0 for those between.

    Tagged transactions of a server are numbered on their own: each tag has a row behind those that tile the
    servers.
    """
    gtids = GtidFrontier.from_json(frontier).gtids
    if isinstance(gtids, GtidPosition):
        return [(int(domain), server, number) for domain, (number, server) in gtids.last.items()]
    rows: list[tuple[str, str, int, str | None]] = []
    tagged: list[tuple[str, str, int, str | None]] = []
    begin = 0
    for source, intervals in gtids.intervals.items():
        server, _, tag = source.partition(":")
        if tag:
            tagged.append((server, server, intervals[-1][1] + 1, tag))
            continue
        place = int(source.replace("-", ""), 16)
        if begin < place:
            rows.append((_uuid(begin), _uuid(place - 1), 0, None))
        rows.append((source, source, intervals[-1][1] + 1, None))
        begin = place + 1
    if begin < _UUIDS:
        rows.append((_uuid(begin), _uuid(_UUIDS - 1), 0, None))
    return [*rows, *tagged]


def _uuid(number: int) -> str:
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
