"""What a log says of tables before it brings changes of their rows.

    table map   id:6 flags:2 size:1 schema\\0 size:packed table\\0 columns:packed kind:1*
                size:packed details of the kinds, a bit for each column that may be NULL
                (field:1 size:packed value)*          what else the server was set to tell

A table map counts for the row events behind it that have its id, until there is another one with that id.
One that cannot be read is that of one table, which may be nobody's: it says so, and others are read.

Not here: the rows (rows.py), how a table map fits what a table of ours takes (altered.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from headwater.sources.mysql.events import HEADER, TABLE_MAP, Events, Integers, is_rows, packed
from headwater.sources.mysql.facts import Flavour

TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, OLD_TIMESTAMP, LONGLONG, INT24 = 1, 2, 3, 4, 5, 6, 7, 8, 9
DATE, OLD_TIME, OLD_DATETIME, YEAR, NEWDATE, VARCHAR, BIT = 10, 11, 12, 13, 14, 15, 16
TIMESTAMP, DATETIME, TIME, TYPED_ARRAY = 17, 18, 19, 20
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
VECTOR, JSON, DECIMAL, ENUM, SET = 242, 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = 249, 250, 251, 252, 253, 254, 255

SIZES: Final = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8, FLOAT: 4, DOUBLE: 8, YEAR: 1}
_DETAILS: Final = {
    FLOAT: 1, DOUBLE: 1, VARCHAR: 2, VAR_STRING: 2, VARCHAR_COMPRESSED: 2, BIT: 2, DECIMAL: 2, STRING: 2,
    ENUM: 2, SET: 2, BLOB: 1, TINY_BLOB: 1, MEDIUM_BLOB: 1, LONG_BLOB: 1, BLOB_COMPRESSED: 1, GEOMETRY: 1,
    JSON: 1, VECTOR: 1, TIMESTAMP: 1, DATETIME: 1, TIME: 1,
}  # fmt: skip
"""How many bytes say more of a kind; none of the others."""
_NUMBERS: Final = frozenset((TINY, SHORT, INT24, LONG, LONGLONG, DECIMAL, FLOAT, DOUBLE, YEAR))
_TEXTS: Final = frozenset(
    (
        STRING,
        VAR_STRING,
        VARCHAR,
        BLOB,
        TINY_BLOB,
        MEDIUM_BLOB,
        LONG_BLOB,
        BLOB_COMPRESSED,
        VARCHAR_COMPRESSED,
    )
)
_DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_COLUMNS_MAX: Final = 4096
_CUT_OFF: Final = "a table map is cut off"
BINARY_COLLATION: Final = 63

(
    _SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_LABELS, _ENUM_LABELS, _, _KEY, _KEY_PREFIXES,
    _LABELS_DEFAULT_CHARSET, _LABELS_CHARSET, _VISIBILITY,
) = range(1, 13)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A column as a table map describes it; None: it does not say."""

    kind: int
    detail: (
        int  # of VARCHAR, STRING: bytes at most; BLOB: bytes of its length; DECIMAL: precision << 8 | scale …
    )
    nullable: bool
    name: str | None = None
    unsigned: bool | None = None
    collation: int | None = None  # of texts and labels
    labels: tuple[bytes, ...] | None = None  # of ENUM and SET, in their charset
    visible: bool | None = None

    def size(self) -> int | None:
        """Of a value in a row; None: each has its own."""
        match self.kind:
            case 17:  # TIMESTAMP
                return 4 + (self.detail + 1) // 2
            case 18:  # DATETIME
                return 5 + (self.detail + 1) // 2
            case 19:  # TIME
                return 3 + (self.detail + 1) // 2
            case 10 | 14:  # DATE, NEWDATE
                return 3
            case 16 | 247 | 248:  # BIT, ENUM, SET
                return self.detail
            case 246:  # DECIMAL
                return decimal_size(self.detail >> 8, self.detail & 0xFF)
        return SIZES.get(self.kind)

    def length_size(self) -> int:
        """How many bytes say how long a value is, where each has its own size."""
        if self.kind in (VARCHAR, VAR_STRING, STRING, VARCHAR_COMPRESSED):
            return 1 if self.detail < 256 else 2
        return self.detail


@dataclass(frozen=True, slots=True)
class TableMap:
    """The shape of a table from this place of the log on."""

    table_id: int
    schema: str
    name: str
    columns: tuple[MapColumn, ...]
    primary_key: tuple[int, ...] | None = None  # places of columns
    full: bool = field(default=False)  # whether it names the columns
    unreadable: str | None = None  # why nothing but its name is known


def decimal_size(precision: int, scale: int) -> int:
    """The bytes of a decimal in a row."""
    whole = precision - scale
    return whole // 9 * 4 + _DIGIT_BYTES[whole % 9] + scale // 9 * 4 + _DIGIT_BYTES[scale % 9]


def parse_table_map(event: bytes, flavour: Flavour) -> TableMap:
    """A table map of such a server; ValueError if not even the table's name can be read."""
    try:
        table_id = int.from_bytes(event[HEADER : HEADER + 6], "little")
        schema, at = _text(event, HEADER + 8)
        name, at = _text(event, at + 1)
    except IndexError as error:
        raise ValueError(_CUT_OFF) from error
    named = TableMap(table_id, schema, name, ())
    try:
        return _described(named, event, at + 1, _TEXTS | {GEOMETRY} if flavour == "mariadb" else _TEXTS)
    except (IndexError, KeyError):
        return replace(named, unreadable=_CUT_OFF)
    except ValueError as error:
        return replace(named, unreadable=str(error))


def _described(named: TableMap, event: bytes, at: int, texts: frozenset[int]) -> TableMap:
    count, at = packed(event, at)
    if count > _COLUMNS_MAX or at + count > len(event):
        raise ValueError(f"a table map tells of {count} columns")
    kinds = event[at : at + count]
    size, at = packed(event, at + count)
    details, at = _bounded(event, at, size)
    nullable, at = _bounded(event, at, (count + 7) // 8)
    columns = _columns(kinds, details, nullable)
    key: tuple[int, ...] | None = None
    full = False
    while at < len(event):
        told, at = event[at], at + 1
        size, at = packed(event, at)
        value, at = _bounded(event, at, size)
        if told in (_KEY, _KEY_PREFIXES):
            key = tuple(_packed_all(value)[:: 1 if told == _KEY else 2])
        full = full or told == _NAMES
        _tell(columns, told, value, texts)
    return replace(named, columns=tuple(columns), primary_key=key, full=full)


def _bounded(event: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(event):
        raise ValueError(_CUT_OFF)
    return event[at : at + size], at + size


def _text(event: bytes, at: int) -> tuple[str, int]:
    size, at = packed(event, at)
    text, at = _bounded(event, at, size)
    return text.decode(errors="replace"), at


def _columns(kinds: bytes, details: bytes, nullable: bytes) -> list[MapColumn]:
    columns, at = [], 0
    for place, kind in enumerate(kinds):
        size = _DETAILS.get(kind, 0)
        given = details[at : at + size]
        if len(given) < size:
            raise ValueError(_CUT_OFF)
        at += size
        kind, detail = _detailed(kind, given)
        columns.append(MapColumn(kind, detail, bool(nullable[place // 8] >> place % 8 & 1)))
    return columns


def _detailed(kind: int, given: bytes) -> tuple[int, int]:
    """The kind that a column really has, and what else is to be known of it."""
    if kind == STRING:
        # What is longer than 255 bytes has two bits of its length in those of the kind, inverted.
        inner, length = given
        if inner & 0x30 != 0x30:
            return inner | 0x30, length | ((inner & 0x30) ^ 0x30) << 4
        return (inner, length) if inner in (ENUM, SET) else (STRING, length)
    if kind == DECIMAL:
        precision, scale = given
        if not (0 < precision <= 65 and scale <= precision):
            raise ValueError(f"a table map tells of a decimal({precision},{scale})")
        return kind, precision << 8 | scale
    if kind in (ENUM, SET):
        return kind, given[1]
    if kind == BIT:
        bits, whole = given
        return kind, whole + (bits > 0)
    detail = int.from_bytes(given, "little")
    if kind in (TIMESTAMP, DATETIME, TIME) and detail > 6:
        raise ValueError(f"a table map tells of a time with {detail} digits")
    blob = kind in (BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB_COMPRESSED, GEOMETRY, JSON, VECTOR)
    if blob and not 1 <= detail <= 4:
        raise ValueError(f"a table map tells of a blob with {detail} bytes for its length")
    return kind, detail


def _tell(columns: list[MapColumn], told: int, value: bytes, texts: frozenset[int]) -> None:
    """Puts into the columns what an optional field says of them."""
    if told in (_LABELS_DEFAULT_CHARSET, _LABELS_CHARSET):
        texts = frozenset((ENUM, SET))
    if told == _SIGNEDNESS:
        for bit, place in enumerate(_places(columns, _NUMBERS)):
            columns[place] = replace(columns[place], unsigned=_high_bit(value, bit))
    elif told == _VISIBILITY:
        for place in range(len(columns)):
            columns[place] = replace(columns[place], visible=_high_bit(value, place))
    elif told == _NAMES:
        at = 0
        for place, column in enumerate(columns):
            name, at = _text(value, at)
            columns[place] = replace(column, name=name)
    elif told in (_DEFAULT_CHARSET, _LABELS_DEFAULT_CHARSET):
        default, *exceptions = _packed_all(value)
        others = dict(zip(exceptions[::2], exceptions[1::2], strict=True))
        for number, place in enumerate(_places(columns, texts)):
            columns[place] = replace(columns[place], collation=others.get(number, default))
    elif told in (_COLUMN_CHARSET, _LABELS_CHARSET):
        for place, collation in zip(_places(columns, texts), _packed_all(value), strict=True):
            columns[place] = replace(columns[place], collation=collation)
    elif told in (_SET_LABELS, _ENUM_LABELS):
        at = 0
        for place in _places(columns, frozenset((SET if told == _SET_LABELS else ENUM,))):
            labels, at = _labels(value, at)
            columns[place] = replace(columns[place], labels=labels)


def _places(columns: list[MapColumn], kinds: frozenset[int]) -> list[int]:
    return [place for place, column in enumerate(columns) if column.kind in kinds]


def _high_bit(bits: bytes, place: int) -> bool:
    return bool(bits[place // 8] << place % 8 & 0x80)


def _packed_all(value: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(value):
        number, at = packed(value, at)
        numbers.append(number)
    return numbers


def _labels(value: bytes, at: int) -> tuple[tuple[bytes, ...], int]:
    count, at = packed(value, at)
    labels = []
    for _ in range(count):
        size, at = packed(value, at)
        label, at = _bounded(value, at, size)
        labels.append(label)
    return tuple(labels), at


class TableMaps:
    """Which table map each row event has; goes on where the events before ended."""

    def __init__(self, known: Iterable[bytes], flavour: Flavour) -> None:
        """`known`: table maps that came before."""
        self._flavour: Flavour = flavour
        self._maps: list[TableMap] = []
        self._places: dict[bytes, int] = {}  # of a table map's bytes behind its header, in the list
        self._now: dict[int, int] = {}  # by id
        for event in known:
            self._know(event[HEADER:])

    def _know(self, body: bytes) -> int:
        place = self._places.get(body)
        if place is None:
            place = self._places[body] = len(self._maps)
            self._maps.append(parse_table_map(bytes(HEADER) + body, self._flavour))
        self._now[int.from_bytes(body[:6], "little")] = place
        return place

    def of(self, events: Events) -> tuple[Sequence[TableMap], Integers]:
        """All table maps so far, and of every event the place of its own; -1 where it is about no table.

        ValueError if a row event has none.
        """
        which = np.full(len(events), -1, np.int64)
        rows = np.flatnonzero(is_rows(events.kinds))
        maps = events.of_kind(TABLE_MAP)
        if not len(rows):
            which[maps] = self._all(events, maps)
            return self._maps, which
        ids = events.numbers(events.starts[rows] + HEADER, 6)
        before = dict(self._now)
        places = self._all(events, maps)
        # The newest table map with the same id before each event: both sorted by id, then by place.
        known = events.numbers(events.starts[maps] + HEADER, 6)
        number = np.concatenate((maps, rows))
        key = np.concatenate((known, ids))
        order = np.lexsort((number, key))
        from_maps = np.concatenate((places, np.full(len(rows), -1)))[order]
        place_of = np.maximum.accumulate(np.where(from_maps >= 0, np.arange(len(order)), -1))
        found = np.where(place_of >= 0, from_maps[place_of], -1)
        same = (place_of >= 0) & (key[order][place_of] == key[order])
        earlier = np.array([before.get(id_, -1) for id_ in key[order][~same].tolist()], np.int64)
        found[~same] = earlier
        which[number[order]] = found
        if np.any(which[rows] < 0):
            raise ValueError("changes of rows came without a table map before them")
        return self._maps, which

    def _all(self, events: Events, maps: Integers) -> Integers:
        data, starts, ends = events.data, events.starts, events.ends
        places = [
            self._know(data[start + HEADER : end])
            for start, end in zip(starts[maps].tolist(), ends[maps].tolist(), strict=True)
        ]
        return np.array(places, np.int64)
