"""The tie between a table and a reference, as a value.

The catalog keeps it, the environment tells it to the cluster, and kinds of sources read for it; so it
belongs to none of them.

Not here: what a kind of source does with it (sources/contract.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headwater.core.change import FLAWS, KEY, Discipline
from headwater.core.relation import Column, Relation
from headwater.core.types import BYTEA, JSONB, TEXT

_ON_VALUE_ERROR: Final = "on_value_error"
_ODD_KEYS: Final = "odd_keys"
ODD_KEYS: Final = ((_ODD_KEYS, True),)
"""Options of an export some of whose keys may be impossible to store."""


@dataclass(frozen=True, slots=True)
class OnValueError:
    """What becomes of a row with a value that cannot be stored; the value itself is NULL."""

    fails: bool = True  # the table cannot be read while it has such a row
    column: str | None = None  # of the table: it says what the values were

    def options(self) -> tuple[tuple[str, Any], ...]:
        """Those of an export."""
        return () if self == OnValueError() else ((_ON_VALUE_ERROR, [self.fails, self.column]),)


@dataclass(frozen=True, slots=True)
class Pinned:
    """What a kind of source writes down of a reference when a table is made of it, in JSON values.

    What the values mean is the kind's own.  Others rely on this: two tables of one reference with equal
    `reference` have the same rows, and a column of which the same is pinned has the same values in both.
    """

    columns: tuple[Any, ...] = ()  # one for each column of the export, in its order; none: nothing of any
    reference: Mapping[str, Any] = field(default_factory=dict)  # of the reference as a whole
    constraints: tuple[Any, ...] = ()  # what holds of the rows, and makes them no others

    def of_column(self, place: int) -> Any:
        """What is pinned of the column at a place of the export."""
        return self.columns[place] if self.columns else None

    def at(self, places: Sequence[int]) -> Pinned:
        """The same for some of the columns, in this order."""
        return replace(self, columns=tuple(self.columns[place] for place in places)) if self.columns else self

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "reference": dict(self.reference),
            "constraints": list(self.constraints),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Pinned:
        return Pinned(tuple(value["columns"]), value["reference"], tuple(value["constraints"]))


@dataclass(frozen=True, slots=True)
class Export:
    """The tie of one table to one reference: which columns it takes and how they are kept."""

    table_id: str
    reference: tuple[str, ...]  # Reference.path()
    relation: Relation  # the table's columns; names may differ from the reference's
    columns: tuple[str, ...]  # the reference's column for each of them
    discipline: Discipline
    options: tuple[tuple[str, Any], ...] = ()
    pinned: Pinned = field(default_factory=Pinned)  # when the table was made

    @property
    def on_value_error(self) -> OnValueError:
        return OnValueError(*dict(self.options).get(_ON_VALUE_ERROR, ()))

    @property
    def visible(self) -> Relation:
        """The columns that readers of the table see."""
        name = self.on_value_error.column
        if name is None:
            return self.relation
        return Relation((*self.relation.columns, Column(name, JSONB)), self.relation.keys)

    @property
    def odd_keys(self) -> bool:
        """Whether some of its keys may be impossible to store."""
        return bool(dict(self.options).get(_ODD_KEYS, False))

    @property
    def kept(self) -> Relation:
        """The table's own columns, and the one that tells odd keys apart, if it has one."""
        if not self.odd_keys:
            return self.relation
        keys = ((*self.relation.keys[0], len(self.relation.columns)),)
        return Relation((*self.relation.columns, Column(KEY, BYTEA)), keys)

    @property
    def stored(self) -> Relation:
        """The columns of its files: one of them says which values could not be stored."""
        name = self.on_value_error.column
        flaws = Column(FLAWS, TEXT) if name is None else Column(name, JSONB)
        return Relation((*self.kept.columns, flaws), self.kept.keys, flaws.name)

    def to_json(self) -> dict[str, Any]:
        return {
            "table_id": self.table_id,
            "reference": list(self.reference),
            "relation": self.relation.to_json(),
            "columns": list(self.columns),
            "discipline": self.discipline,
            "options": [list(pair) for pair in self.options],
            "pinned": self.pinned.to_json(),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Export:
        return Export(
            value["table_id"],
            tuple(value["reference"]),
            Relation.from_json(value["relation"]),
            tuple(value["columns"]),
            value["discipline"],
            tuple((name, option) for name, option in value["options"]),
            Pinned.from_json(value["pinned"]),
        )
