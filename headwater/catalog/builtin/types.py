"""Types as rows: what pg_type, mz_types and their relatives list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headwater.core.types import FACTS, SqlType, format_type, modifier_of, oid_of

# Categories of what a client cannot name in a column; in the list because results have them.
_PSEUDO: Final = frozenset("PX")
_ALIGNMENTS: Final = {1: "c", 2: "s", 4: "i", 8: "d"}


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One type.  `element_oid` is 0 unless it is an array; `array_oid` is 0 when nobody can make one."""

    oid: int
    name: str
    size: int
    category: str
    element_oid: int
    array_oid: int
    pseudo: bool
    schema_name: str
    preferred: bool
    collation_oid: int

    @property
    def id(self) -> str:
        return type_id(self.oid)

    @property
    def by_value(self) -> bool:
        return self.size in (1, 2, 4, 8)

    @property
    def alignment(self) -> str:
        return _ALIGNMENTS.get(self.size, "i")

    @property
    def storage(self) -> str:
        return "x" if self.size == -1 else "p"


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """What lists of columns say of a type."""

    oid: int
    modifier: int
    name: str  # without length or scale


# Thousands of columns share a few dozen types.
@lru_cache(maxsize=1_024)
def type_facts(type_: SqlType) -> TypeFacts:
    """The facts of a column's type."""
    return TypeFacts(oid_of(type_), modifier_of(type_), format_type(type_.bare()))


def type_id(oid: int) -> str:
    """A type's id; the numbers of system relations are far below."""
    return f"s{10_000 + oid}"


def _rows() -> tuple[TypeRow, ...]:
    rows = []
    for facts in FACTS.values():
        if not facts.oid:  # an array has one with its element
            continue
        rows.append(
            TypeRow(
                facts.oid,
                facts.pg_name,
                facts.size,
                facts.category,
                0,
                facts.array_oid,
                facts.category in _PSEUDO,
                facts.schema_name,
                facts.preferred,
                facts.collation_oid,
            )
        )
        if facts.array_oid:
            name, collation = f"_{facts.pg_name}", facts.collation_oid
            rows.append(
                TypeRow(
                    facts.array_oid, name, -1, "A", facts.oid, 0, False, facts.schema_name, False, collation
                )
            )
    return tuple(sorted(rows, key=lambda row: row.oid))


TYPES: Final = _rows()
TYPES_BY_OID: Final = {row.oid: row for row in TYPES}
