"""A system relation: its shape, and how its rows are computed.

Rows come column-wise: a mapping from column name to the values of that column, or
to a single value that every row has (never a list then).  At least one column of a
relation with rows is a list; it says how many there are.

    rows    computed from facts, again whenever they may have changed (`scope`)
    fixed   rows about the system relations themselves; computed once per process

        scope      the rows change with
        catalog    the catalog's version
        database   that, the session's database, and its temporary objects
        moment     anything; nothing is kept
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.state import SYSTEM_SCHEMA_IDS
from headwater.core.errors import InvariantViolation
from headwater.core.relation import Column, Relation

Columns = Mapping[str, Any]
Scope = Literal["catalog", "database", "moment"]

# Relations that PostgreSQL does not have, or has under changing oids, are numbered from here.
FIRST_OID = 16_800


def no_rows(facts: SystemFacts) -> Columns:
    """For relations about kinds of objects that nobody can make yet; see `empty`."""
    return {}


@dataclass(frozen=True, slots=True)
class BuiltinTable:
    """One system relation.  `number` is its own for ever: id and oid follow from it.

    Numbers from 3000 to 3199 are for kinds of sources that come with other packages.
    """

    number: int
    schema: str
    name: str
    description: str
    columns: tuple[Column, ...]
    rows: Callable[[SystemFacts], Columns] = no_rows
    fixed: Callable[[Sequence[BuiltinTable]], Columns] | None = None
    scope: Scope = "catalog"
    database_columns: tuple[str, ...] = ()  # hold the name of the session's database in every row
    postgres_oid: int | None = None
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.columns))

    @property
    def id(self) -> str:
        return f"s{self.number}"

    @property
    def oid(self) -> int:
        return self.postgres_oid or FIRST_OID + self.number

    @property
    def schema_id(self) -> str:
        return SYSTEM_SCHEMA_IDS[self.schema]


_HEADING = re.compile(r"(?P<name>\w+) \((?P<number>\d+)(, (?P<oid>\d+))?\): (?P<description>.+)")


def empty(schema: str, text: str) -> tuple[BuiltinTable, ...]:
    """Relations that have only a shape, a paragraph each: name (number, PostgreSQL's oid), columns."""
    relations = []
    for paragraph in text.strip().split("\n\n"):
        heading, _, columns = paragraph.strip().partition("\n")
        found = _HEADING.fullmatch(heading)
        if found is None:
            raise InvariantViolation(f"{heading!r} does not say which relation it is")
        oid = None if found["oid"] is None else int(found["oid"])
        number, name, description = int(found["number"]), found["name"], found["description"]
        relations.append(BuiltinTable(number, schema, name, description, shape(columns), postgres_oid=oid))
    return tuple(relations)
