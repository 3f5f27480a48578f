"""Ranges of keys in a server's own order, which is that of its collations.

A bound is a key that a row had when it was looked: whatever is done to rows later, all keys lie in one of
the ranges between the bounds.  Tables without a key, or with one that cannot be written as a constant
exactly, are one range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pymysql.connections import Connection

from headwater.core.limits import MYSQL_SNAPSHOT_BOUNDS_MAX
from headwater.core.quoting import backquoted
from headwater.sources.contract import Export
from headwater.sources.mysql.facts import ColumnFacts

_NUMBERS: Final = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal"))
_MOMENTS: Final = frozenset(("date", "datetime", "timestamp"))
_TEXTS: Final = frozenset(("char", "varchar"))
_BYTES: Final = frozenset(("binary", "varbinary"))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a table is cut: by these columns, at these keys, of constants each."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    rows: int  # as far as known

    def to_json(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "keys": [list(key) for key in self.keys], "rows": self.rows}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Bounds:
        keys = tuple(tuple(key) for key in value["keys"])
        return Bounds(tuple(value["columns"]), keys, value["rows"])


def bounds_of(session: Connection[Any], export: Export, step: int) -> Bounds:
    """Bounds with about so many rows between them."""
    schema, table = export.pinned.reference["schema"], export.pinned.reference["table"]
    estimate = _estimate(session, schema, table)
    if export.discipline != "keyed":
        return Bounds((), (), estimate)
    columns = [ColumnFacts.from_json(export.pinned.columns[place]) for place in export.relation.keys[0]]
    constants = [_constant(column) for column in columns]
    if estimate <= step or None in constants:
        return Bounds((), (), estimate)
    names = tuple(backquoted(column.name) for column in columns)
    order = ", ".join(names)
    query = f"SELECT {', '.join(map(str, constants))} FROM {backquoted(schema)}.{backquoted(table)}"
    found = Bounds(names, (), estimate)
    keys: list[tuple[str, ...]] = []
    with session.cursor() as cursor:
        while len(keys) < MYSQL_SNAPSHOT_BOUNDS_MAX:
            where = f" WHERE {_beyond(names, keys[-1])}" if keys else ""
            cursor.execute(f"{query}{where} ORDER BY {order} LIMIT 1 OFFSET {step}")
            row = cursor.fetchone()
            if row is None:
                break
            keys.append(tuple(map(str, row)))
    return Bounds(found.columns, tuple(keys), max(estimate, step * len(keys)))


def condition(bounds: Bounds, index: int) -> str:
    """Which rows are in the range with this number."""
    parts = []
    if index > 0:
        parts.append(_beyond(bounds.columns, bounds.keys[index - 1]))
    if index < len(bounds.keys):
        parts.append(_before(bounds.columns, bounds.keys[index]))
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _beyond(names: Sequence[str], key: Sequence[str]) -> str:
    """At the key or after it.  Servers look up ranges by the first column alone if it is compared alone."""
    last = f"{names[-1]} >= {key[-1]}"
    for name, value in zip(reversed(names[:-1]), reversed(key[:-1]), strict=True):
        last = f"{name} >= {value} AND ({name} > {value} OR {last})"
    return f"({last})"


def _before(names: Sequence[str], key: Sequence[str]) -> str:
    last = f"{names[-1]} < {key[-1]}"
    for name, value in zip(reversed(names[:-1]), reversed(key[:-1]), strict=True):
        last = f"{name} <= {value} AND ({name} < {value} OR {last})"
    return f"({last})"


def _constant(column: ColumnFacts) -> str | None:
    """What makes the constant of a value; None: a range cannot be told by it."""
    name = backquoted(column.name)
    if column.data_type in _NUMBERS:
        return f"CONCAT('', {name})"
    if column.data_type in _MOMENTS:
        return f"CONCAT('''', {name}, '''')"
    if column.data_type in _BYTES:
        return f"CONCAT('x''', HEX({name}), '''')"
    if column.data_type in _TEXTS and column.charset in ("utf8mb4", "utf8mb3", "utf8", "ascii", "latin1"):
        return f"CONCAT('_utf8mb4 x''', HEX(CONVERT({name} USING utf8mb4)), '''')"
    return None


def _estimate(session: Connection[Any], schema: str, table: str) -> int:
    with session.cursor() as cursor:
        cursor.execute(
            "SELECT table_rows FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
            (schema, table),
        )
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0
