"""Where transactions begin and end in a log, what they are called, and what statements say.

    gtid            flags:1 server uuid:16 number:8 kind:1 last committed:8 sequence:8
                    committed here:7 [committed where it began:7, if the highest bit before says so]
    gtid, tagged    fields with a number before each, all as numbers of one to nine bytes
    mariadb gtid    number:8 domain:4 flags:1
    query           thread:4 seconds:4 schema size:1 error:2 size:2 (number:1 value)* schema\\0 statement
    xa prepare      one phase:1 format:4 gtrid size:4 bqual size:4 gtrid bqual

A transaction begins with its GTID.  MySQL's ends with XID, with the statement COMMIT, or is one statement
that no BEGIN came before; MariaDB says in the GTID whether it is one statement.

Not here: sets of transactions (gtid.py).
"""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.sources.mysql.charsets import charset_of, decoded, readable
from headwater.sources.mysql.events import (
    ANNOTATE_ROWS,
    ANONYMOUS_GTID,
    GTID,
    GTID_TAGGED,
    HEADER,
    INTVAR,
    MARIADB_GTID,
    QUERY,
    RAND,
    ROWS_QUERY,
    USER_VAR,
    XA_PREPARE,
    XID,
    Booleans,
    Events,
    Integers,
)
from headwater.sources.mysql.frontier import Last
from headwater.sources.mysql.gtid import Gtid

_TIME_AT: Final = HEADER + 42
_TIME_MASK: Final = (1 << 55) - 1
_HAS_ORIGINAL: Final = 1 << 55
_STANDALONE: Final = 1
_QUERY: Final = struct.Struct("<IIBHH")
_MODES, _CHARSETS, _CATALOG = 1, 4, 6
_SIZES: Final = {0: 4, _MODES: 8, 3: 4, _CHARSETS: 6}
"""Of what a statement has before it of its session, by number; others have sizes of their own."""
_NO_BACKSLASHES: Final = 1 << 20
_UTF8: Final = "utf8mb4"
_XA: Final = struct.Struct("<?iii")
_BESIDE: Final = (ROWS_QUERY, ANNOTATE_ROWS, INTVAR, RAND, USER_VAR)
_ENDING: Final = re.compile(rb"\s*(?:COMMIT|ROLLBACK(?!\s+(?:WORK\s+)?TO\b))\b", re.IGNORECASE)
_WITHIN: Final = re.compile(rb"\s*(?:SAVEPOINT|RELEASE|ROLLBACK\s+(?:WORK\s+)?TO|XA\s+END)\b", re.IGNORECASE)
_OPENING: Final = re.compile(
    rb"\s*(?:BEGIN\s*$|XA\s+(?:START|BEGIN)\b|START\s+TRANSACTION\b|CREATE\b.*\bSTART\s+TRANSACTION\s*$)",
    re.IGNORECASE | re.DOTALL,
)


class Transaction(NamedTuple):
    """One that has committed, as the log tells of it."""

    gtid: Gtid
    time_us: int
    place: int  # in the log's file: behind the event that it begins with

    def known(self, server: str) -> Last:
        """What is kept of it, sent by a server."""
        return Last(str(self.gtid), self.time_us, server, self.place)


@dataclass(frozen=True, slots=True)
class Begun:
    """Transactions that begin among events."""

    at: Integers  # the numbers of the events
    sources: tuple[str, ...]  # empty: transactions without a name
    which: Integers  # of each its source, by place
    numbers: Integers
    servers: Integers | None  # MariaDB
    times_us: Integers  # of the commits, as exactly as the server says them
    places: Integers  # in the log's file: behind the events

    def transaction(self, place: int) -> Transaction:
        return Transaction(self.gtid(place), int(self.times_us[place]), int(self.places[place]))

    def transactions(self) -> Iterator[Transaction]:
        return map(self.transaction, range(len(self.at)))

    def gtid(self, place: int) -> Gtid:
        server = None if self.servers is None else int(self.servers[place])
        return Gtid(self.sources[self.which[place]], int(self.numbers[place]), server)


def begun(events: Events) -> Begun:
    """The transactions that begin among events; ValueError if one cannot be read."""
    at = events.of_kind(MARIADB_GTID)
    return _mariadb(events, at) if len(at) else _mysql(events)


def _mariadb(events: Events, at: Integers) -> Begun:
    starts = events.starts[at] + HEADER
    domains, which = np.unique(events.numbers(starts + 8, 4), return_inverse=True)
    servers = events.numbers(events.starts[at] + 5, 4)
    times = events.times[at] * 1_000_000
    numbers, places = events.numbers(starts, 8), _places(events, at)
    return Begun(at, tuple(map(str, domains.tolist())), which, numbers, servers, times, places)


def _mysql(events: Events) -> Begun:
    at = events.of_kind(GTID, ANONYMOUS_GTID, GTID_TAGGED)
    count = len(at)
    starts, kinds = events.starts[at], events.kinds[at]
    tagged = np.flatnonzero(kinds == GTID_TAGGED)
    plain = np.flatnonzero(kinds != GTID_TAGGED)
    low, high, numbers, times = (np.zeros(count, np.int64) for _ in range(4))
    low[plain] = events.numbers(starts[plain] + HEADER + 1, 8)
    high[plain] = events.numbers(starts[plain] + HEADER + 9, 8)
    numbers[plain] = events.numbers(starts[plain] + HEADER + 17, 8)
    times[plain] = _times(events, at[plain])
    pairs, which = np.unique(np.stack((low, high), axis=1), axis=0, return_inverse=True)
    names = [_uuid(pair.tobytes()) for pair in pairs]
    which = which.reshape(-1)
    for place in tagged.tolist():
        source, number, time = _parse_tagged(events.event(int(at[place])))
        if source not in names:
            names.append(source)
        which[place], numbers[place], times[place] = names.index(source), number, time
    for place in np.flatnonzero(kinds == ANONYMOUS_GTID).tolist():
        which[place] = len(names)
    return Begun(at, (*names, ""), which, numbers, None, times, _places(events, at))


def _places(events: Events, at: Integers) -> Integers:
    return events.numbers(events.starts[at] + 13, 4)


def _times(events: Events, at: Integers) -> Integers:
    starts, lengths = events.starts[at], events.lengths[at]
    times: Integers = events.times[at] * 1_000_000
    told = lengths >= _TIME_AT + 7
    here = events.numbers(starts[told] + _TIME_AT, 7)
    original = events.numbers(starts[told] + _TIME_AT + 7, 7)
    times[told] = np.where(here & _HAS_ORIGINAL, original, here) & _TIME_MASK
    return times


def _uuid(raw: bytes) -> str:
    return str(uuid.UUID(bytes=raw))


_Read = Callable[[bytes, int], tuple[int, int]]


def _parse_tagged(event: bytes) -> tuple[str, int, int]:
    """Source, number, time of the commit."""
    try:
        return _tagged(event)
    except (IndexError, ValueError) as error:
        raise ValueError("a tagged GTID is not of a form that is known") from error


def _tagged(event: bytes) -> tuple[str, int, int]:
    at = HEADER
    for _ in range(3):  # the version of the form, the size, the last field that matters
        _, at = _number(event, at)
    raw, tag, number, here, original = b"", "", 0, 0, 0
    while at < len(event):
        field, at = _number(event, at)
        if field == 1:
            digits = []
            for _ in range(16):
                digit, at = _number(event, at)
                digits.append(digit)
            raw = bytes(digits)
        elif field == 3:
            size, at = _number(event, at)
            tag, at = event[at : at + size].decode("ascii"), at + size
        else:
            value, at = _number(event, at)
            if field == 2:
                number = value >> 1  # it has a sign, in its lowest bit
            elif field == 6:
                here = value
            elif field == 7:
                original = value
    name = _uuid(raw)
    return (f"{name}:{tag}" if tag else name), number, original or here


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number whose first byte tells by its lowest ones how many follow."""
    first = data[at]
    more = 8 if first == 0xFF else (first ^ (first + 1)).bit_length() - 1
    if at + more >= len(data):
        raise IndexError("cut off")
    whole = int.from_bytes(data[at : at + more + 1], "little")
    return whole >> (8 if more == 8 else more + 1), at + more + 1


class Ends:
    """Which events end their transactions; goes on where the events before ended."""

    def __init__(self) -> None:
        self._open = False  # whether something began that only a commit ends

    def of(self, events: Events) -> Booleans:
        """The last event of each transaction."""
        kinds = events.kinds
        ends: Booleans = np.isin(kinds, (XID, XA_PREPARE))
        queries = np.flatnonzero(kinds == QUERY)
        plain = _begins(events, queries)
        opening = np.zeros(len(events), np.int8)  # 1: a transaction that is closed; -1: one statement
        gtids = events.of_kind(MARIADB_GTID)
        alone = events.array[events.starts[gtids] + HEADER + 12] & _STANDALONE != 0
        opening[gtids] = np.where(alone, -1, 1)
        opening[events.of_kind(GTID, GTID_TAGGED, ANONYMOUS_GTID)] = -1
        opening[queries[plain]] = 1
        for number in queries[~plain].tolist():
            sql = statement(events.event(number))
            if _OPENING.match(sql):
                opening[number] = 1
            elif _ENDING.match(sql):
                ends[number] = True
            elif not _WITHIN.match(sql):
                opening[number] = 2  # the end, unless the transaction is open
        told = np.flatnonzero((opening == 1) | (opening == -1))
        before = np.searchsorted(told, np.arange(len(events)), side="left") - 1
        opened = np.where(before >= 0, opening[told[before]] == 1 if len(told) else False, self._open)
        ends |= (opening == 2) & ~opened
        if len(told):
            self._open = bool(opening[told[-1]] == 1)
        return ends


def statements_of(events: Events) -> Integers:
    """The numbers of statements, but for BEGIN."""
    queries = events.of_kind(QUERY)
    return queries[~_begins(events, queries)]


def _begins(events: Events, queries: Integers) -> Booleans:
    """Statements that are BEGIN, which most are."""
    tails = events.ends[queries]
    begin = events.numbers(tails - 5, 5) == int.from_bytes(b"BEGIN", "little")
    found: Booleans = begin & (events.array[tails - 6] == 0)
    return found


@dataclass(frozen=True, slots=True)
class Query:
    """A statement in the log; names that the server has written itself are in UTF-8 in any case."""

    schema: str  # that was in use
    sql: bytes
    error: int
    charset: str = _UTF8  # of the session
    backslashes: bool = True  # whether they escape, in texts

    def texts(self) -> tuple[str, ...]:
        """What it says; if that depends on who has written it, both."""
        text = self.sql.decode(errors="replace")
        if self.sql.isascii() or self.charset == _UTF8:
            return (text,)
        (said,) = decoded(pa.array([self.sql]), self.charset)[0].to_pylist()
        return (text,) if said in (None, text) else (said, text)


def statement(event: bytes) -> bytes:
    """The text of a statement; ValueError if it cannot be read."""
    return parse_query(event).sql


def parse_query(event: bytes) -> Query:
    """A statement; ValueError if it cannot be read."""
    if len(event) < HEADER + _QUERY.size:
        raise ValueError("a statement in the log is cut off")
    _, _, size, error, variables = _QUERY.unpack_from(event, HEADER)
    begin = HEADER + _QUERY.size
    at = begin + variables
    if at + size >= len(event):
        raise ValueError("a statement in the log is cut off")
    schema, sql = event[at : at + size].decode(errors="replace"), event[at + size + 1 :]
    return Query(schema, sql, error, *_session(event[begin:at]))


def _session(variables: bytes) -> tuple[str, bool]:
    """The charset of who has sent a statement, and whether backslashes escape there.

    Each variable has a number and a value; those of interest are among the first.
    """
    charset, backslashes, at = _UTF8, True, 0
    while at < len(variables):
        told, at = variables[at], at + 1
        value = variables[at:]
        if told == _MODES:
            backslashes = not int.from_bytes(value[:8], "little") & _NO_BACKSLASHES
        elif told == _CHARSETS:
            known = charset_of(int.from_bytes(value[:2], "little")) or _UTF8
            return (known if readable(known) else _UTF8), backslashes
        if told == _CATALOG:
            at += 1 + (value[0] if value else 0)
        elif told in _SIZES:
            at += _SIZES[told]
        else:
            break
    return charset, backslashes


@dataclass(frozen=True, slots=True)
class Prepared:
    """The first half of a commit in two phases; or, in one phase, all of it."""

    one_phase: bool
    xid: str  # as in XA COMMIT


def parse_xa_prepare(event: bytes) -> Prepared:
    """The end of a transaction that is prepared; ValueError if it cannot be read."""
    if len(event) < HEADER + _XA.size:
        raise ValueError("a prepared transaction in the log is cut off")
    one_phase, form, first, second = _XA.unpack_from(event, HEADER)
    at = HEADER + _XA.size
    if first < 0 or second < 0 or at + first + second > len(event):
        raise ValueError("a prepared transaction in the log is cut off")
    gtrid, bqual = event[at : at + first], event[at + first : at + first + second]
    return Prepared(one_phase, f"X'{gtrid.hex()}',X'{bqual.hex()}',{form}")
