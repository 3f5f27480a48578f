"""The shape of a collection: columns, keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.core.types import SqlType, in_zone, type_from_json, type_to_json


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, type, and whether NULL may stand in it."""

    name: str
    type: SqlType
    nullable: bool = True
    default: str | None = None  # the SQL text of a DEFAULT, plain tables only

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "type": type_to_json(self.type),
            "nullable": self.nullable,
            "default": self.default,
        }

    @staticmethod
    def from_json(value: dict[str, object]) -> Column:
        default = value.get("default")
        return Column(
            str(value["name"]),
            type_from_json(value["type"]),
            bool(value["nullable"]),
            None if default is None else str(default),
        )


def shown_in(columns: tuple[Column, ...], zone: str) -> tuple[Column, ...]:
    """Columns whose texts are by the clocks of a zone; empty is UTC."""
    return tuple(replace(column, type=in_zone(column.type, zone)) for column in columns) if zone else columns


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns in order, and the sets of columns that are known to be unique.

    `keys` holds positions into `columns`; the first one is the primary key.  `flaws` is the name of
    the column that says which values of a row could not be stored (core/flaws.py), if there is one.
    """

    columns: tuple[Column, ...]
    keys: tuple[tuple[int, ...], ...] = field(default=())
    flaws: str | None = None

    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def key_names(self) -> tuple[str, ...]:
        """The names of the primary key's columns; empty without a key."""
        return tuple(self.columns[i].name for i in self.keys[0]) if self.keys else ()

    def to_json(self) -> dict[str, object]:
        return {
            "columns": [column.to_json() for column in self.columns],
            "keys": [list(key) for key in self.keys],
            "flaws": self.flaws,
        }

    @staticmethod
    def from_json(value: dict[str, object]) -> Relation:
        columns = value["columns"]
        keys = value["keys"]
        flaws = value.get("flaws")
        if not isinstance(columns, list) or not isinstance(keys, list):
            raise ValueError(f"not a relation: {value!r}")
        return Relation(
            tuple(Column.from_json(column) for column in columns),
            tuple(tuple(int(i) for i in key) for key in keys),
            None if flaws is None else str(flaws),
        )
