"""Types as rows: what pg_type, mz_types and their relatives list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headwater.core.types import FACTS, SqlType, format_type, modifier_of, oid_of

# Element types a client cannot name in a column; they are in the list because results have them.
_PSEUDO_KINDS: Final = frozenset({"record", "unknown", "void"})
# Families of types: each column has one of its own, with its element.
_GENERIC_KINDS: Final = frozenset({"array"})
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

    @property
    def collation_oid(self) -> int:
        return collation_oid(self.name)


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


def collation_oid(pg_name: str) -> int:
    """The collation of a type, as PostgreSQL has it: `default`, `C` for names, none for others."""
    if pg_name in ("text", "varchar", "bpchar", "_text", "_varchar", "_bpchar"):
        return 100
    return 950 if pg_name in ("name", "_name") else 0


def _rows() -> tuple[TypeRow, ...]:
    rows = []
    for kind, facts in FACTS.items():
        if kind in _GENERIC_KINDS:
            continue
        schema_name = "mz_catalog" if facts.oid >= 16_384 else "pg_catalog"
        rows.append(
            TypeRow(
                facts.oid,
                facts.pg_name,
                facts.size,
                facts.category,
                0,
                facts.array_oid,
                kind in _PSEUDO_KINDS,
                schema_name,
            )
        )
        if facts.array_oid:
            name = f"_{facts.pg_name}"
            rows.append(TypeRow(facts.array_oid, name, -1, "A", facts.oid, 0, False, schema_name))
    return tuple(sorted(rows, key=lambda row: row.oid))


TYPES: Final = _rows()
TYPES_BY_OID: Final = {row.oid: row for row in TYPES}
