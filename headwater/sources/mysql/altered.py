"""What has happened to a table upstream that one here cannot follow, in words.

    changed    the facts of now against what was pinned
    said       a table map of the log against it: where in it the pinned columns are, or why they are not

With FULL metadata the log tells columns by their names, so that others may come, go and move freely; without
it by their places, and no more than their kinds are known.  Types must stay as they are, wider ones included:
a server that changes a type changes the values of all rows, and logs none of that.

Not here: who asks, and at which place of the log (reader.py, decode.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headwater.core.quoting import backquoted
from headwater.core.types import UUID
from headwater.sources.contract import Pinned
from headwater.sources.mysql import table_map as kinds
from headwater.sources.mysql.facts import ENGINE, ColumnFacts, KeyFacts, TableFacts
from headwater.sources.mysql.server import FULL, METADATA
from headwater.sources.mysql.table_map import MapColumn, TableMap

_PREFIX: Final = "incompatible schema change: "

_Part = Mapping[str, Any]
"""What is pinned of a column or a key."""

_TEXTS: Final = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BLOBS: Final = ("tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext")
_BLOB_KINDS: Final = frozenset(
    (
        *(kinds.BLOB, kinds.TINY_BLOB, kinds.MEDIUM_BLOB, kinds.LONG_BLOB),
        *(kinds.BLOB_COMPRESSED, kinds.GEOMETRY, kinds.JSON, kinds.VECTOR),
    )
)
_KINDS: Final[Mapping[str, frozenset[int]]] = {
    "tinyint": frozenset((kinds.TINY,)),
    "smallint": frozenset((kinds.SHORT,)),
    "mediumint": frozenset((kinds.INT24,)),
    "int": frozenset((kinds.LONG,)),
    "bigint": frozenset((kinds.LONGLONG,)),
    "bit": frozenset((kinds.BIT,)),
    "float": frozenset((kinds.FLOAT,)),
    "double": frozenset((kinds.DOUBLE,)),
    "decimal": frozenset((kinds.DECIMAL,)),
    "year": frozenset((kinds.YEAR,)),
    "date": frozenset((kinds.DATE, kinds.NEWDATE)),
    "time": frozenset((kinds.TIME, kinds.OLD_TIME)),
    "datetime": frozenset((kinds.DATETIME, kinds.OLD_DATETIME)),
    "timestamp": frozenset((kinds.TIMESTAMP, kinds.OLD_TIMESTAMP)),
    "char": frozenset((kinds.STRING, kinds.VAR_STRING)),
    "binary": frozenset((kinds.STRING, kinds.VAR_STRING)),
    **dict.fromkeys((UUID.kind, "inet4", "inet6"), frozenset((kinds.STRING,))),
    **dict.fromkeys(
        ("varchar", "varbinary"), frozenset((kinds.VARCHAR, kinds.VARCHAR_COMPRESSED, kinds.VAR_STRING))
    ),
    **dict.fromkeys(_BLOBS, _BLOB_KINDS - {kinds.JSON, kinds.GEOMETRY, kinds.VECTOR}),
    "json": frozenset((kinds.JSON,)),
    "enum": frozenset((kinds.ENUM,)),
}


def dropped(schema: str, table: str) -> str:
    """A table is gone, or has another name."""
    return f"table was dropped: {backquoted(schema)}.{backquoted(table)}"


def changed(pinned: Pinned, table: TableFacts | None) -> str | None:
    """What makes the upstream's table another one than was pinned; None: nothing that matters."""
    schema, name = pinned.reference["schema"], pinned.reference["table"]
    if table is None:
        return dropped(schema, name)
    if table.engine.lower() != ENGINE.lower():
        return f"{_PREFIX}table {name} is kept by {table.engine or 'no known engine'} now"
    found = {column.name: column for column in table.columns}
    by_place = pinned.reference["metadata"] != FULL
    for column in pinned.columns:
        now = found.get(column["name"])
        if now is None:
            return f"{_PREFIX}column {column['name']} no longer present in table {name}"
        what = _of_column(column, now)
        if what is None and by_place and now.place != column["place"]:
            what = f"it is column {now.place + 1} now, and the log tells columns by their places"
        if what is not None:
            return _altered(column["name"], name, what)
    for key in pinned.constraints:
        if not any(_same_key(key, now) for now in table.keys):
            return (
                f"{_PREFIX}keys in table {name} have been altered: {key['name']}"
                f" ({', '.join(key['columns'])}) is not there any more"
            )
    return None


def said(pinned: Pinned, table: TableMap) -> list[int] | str:
    """For each pinned column its place in the rows behind a table map; or why they are of another table."""
    name = pinned.reference["table"]
    if table.unreadable is not None:
        return f"what the binary log tells of table {name} cannot be read: {table.unreadable}"
    if pinned.reference["metadata"] != FULL:
        return _by_place(pinned, table)
    if not table.full:
        return (
            f"Table {name} was created with {METADATA}={FULL} but {METADATA} has since been set to a"
            " different value, so that its columns are not told by their names any more"
        )
    found = {column.name: place for place, column in enumerate(table.columns)}
    return _fitting(pinned, table, [found.get(column["name"]) for column in pinned.columns])


def _by_place(pinned: Pinned, table: TableMap) -> list[int] | str:
    places = [column["place"] for column in pinned.columns]
    return _fitting(pinned, table, [place if place < len(table.columns) else None for place in places])


def _fitting(pinned: Pinned, table: TableMap, places: Sequence[int | None]) -> list[int] | str:
    """These places of the pinned columns, if what is there still fits."""
    name = pinned.reference["table"]
    fitting = []
    for column, place in zip(pinned.columns, places, strict=True):
        if place is None:
            return f"{_PREFIX}column {column['name']} no longer present in table {name}"
        what = _of_map(ColumnFacts.from_json(column), table.columns[place])
        if what is not None:
            return _altered(column["name"], name, what)
        fitting.append(place)
    return fitting


def _altered(column: str, table: str, what: str) -> str:
    return f"{_PREFIX}column {column} in table {table} has been altered: {what}"


def _of_column(column: _Part, now: ColumnFacts) -> str | None:
    was = ColumnFacts.from_json(column)
    if now.nullable and not was.nullable:
        return "it may be NULL now"
    if was.expression != now.expression:
        return f"it is generated as {now.expression} now" if now.generated else "it is not generated any more"
    if column["text"] and was.data_type == now.data_type == "enum":
        return None  # the log has the labels as well
    if _shape(was) == _shape(now):
        return None
    return f"it is {_described(now)} now instead of {_described(was)}"


def _shape(column: ColumnFacts) -> tuple[object, ...]:
    """All that values follow from; not how wide a number is displayed."""
    return (
        column.data_type,
        column.unsigned,
        column.length,
        None if column.data_type in _INTEGERS else column.precision,
        column.scale,
        column.fraction,
        column.charset if column.data_type in _TEXTS else None,
        column.labels,
    )


_INTEGERS: Final = ("tinyint", "smallint", "mediumint", "int", "bigint")


def _described(column: ColumnFacts) -> str:
    charset = f" CHARACTER SET {column.charset}" if column.charset and column.data_type in _TEXTS else ""
    return f"{column.column_type}{charset}"


def _of_map(column: ColumnFacts, now: MapColumn) -> str | None:
    """What does not fit; a table map says less than the catalog."""
    fits = now.kind in _KINDS.get(column.data_type, frozenset())
    if fits and now.unsigned is not None and column.data_type in (*_INTEGERS, "decimal", "float", "double"):
        fits = now.unsigned == column.unsigned
    if fits and now.kind == kinds.DECIMAL:
        fits = (now.detail >> 8, now.detail & 0xFF) == (column.precision, column.scale)
    if fits and now.kind in (kinds.TIME, kinds.DATETIME, kinds.TIMESTAMP):
        fits = now.detail == (column.fraction or 0)
    if not fits:
        return f"it is not {column.column_type} any more"
    return None


def _same_key(pinned: _Part, now: KeyFacts) -> bool:
    return now.primary == pinned["primary"] and now.columns == tuple(pinned["columns"])
