"""Which item of FROM every qualified name of a query means: `t.a`, `s.t.a`, `d.s.t.*`.

An item is found by its name alone, whatever its columns are, so this needs the text and no
catalog.  What is in sight where is the same as in bind/from_clause.py and bind/query.py:

    SELECT list, WHERE, GROUP BY, ORDER BY    the items of FROM, then the query around
    ON                                        the two sides of the join, then the query around
    LATERAL, functions in FROM                the items on the left, then the query around
    WITH, VALUES, LIMIT, other subqueries     the query around

Not here: writing the text anew (names.py), columns (scope.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass

from headwater.sql.select.parse.syntax import (
    DerivedTable,
    FromItem,
    FunctionCall,
    FunctionTable,
    JoinedTable,
    Name,
    QuerySyntax,
    SelectBody,
    ShownTable,
    Star,
    TableName,
)

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Qualifier:
    """The qualifier of a column or star: its parts, and where they begin in the text."""

    parts: Parts
    at: int


@dataclass(eq=False, slots=True)
class FromEntry:
    """An item of FROM by its name, which is empty when it has none, and the names beside it."""

    name: str
    beside: frozenset[str] = frozenset()

    def answers(self, qualifier: Parts) -> bool:
        """Whether a qualifier names this item, as RangeItem.answers says."""
        return qualifier == (self.name,)

    def note(self, qualifier: Qualifier) -> None:
        """This qualifier means it; only a relation wants to know."""


@dataclass(eq=False, slots=True)
class RelationEntry(FromEntry):
    """A relation in FROM, its full name, and the qualifiers that mean it."""

    table: TableName = field(kw_only=True)
    path: Parts = field(kw_only=True)
    qualifiers: list[Qualifier] = field(default_factory=list)

    def answers(self, qualifier: Parts) -> bool:
        if len(qualifier) == 1:
            return self.name == qualifier[0]
        return self.path[-1] == self.name and self.path[-len(qualifier) :] == qualifier

    def note(self, qualifier: Qualifier) -> None:
        self.qualifiers.append(qualifier)


@dataclass(frozen=True, slots=True)
class Entries:
    """All relations of a query, and how often each name is an item's."""

    relations: tuple[RelationEntry, ...]
    names: Counter[str]

    def unused(self, name: str) -> str:
        """A name like this one that no item has; it is taken from now on."""
        number = 1
        while f"{name}_{number}" in self.names:
            number += 1
        self.names[f"{name}_{number}"] += 1
        return f"{name}_{number}"


def entries_of(query: QuerySyntax, path: Callable[[Parts], Parts]) -> Entries:
    """The relations that a query reads, each with the names that mean it; `path` tells full names."""
    walk = _Walk(path)
    walk.query(query, (), frozenset())
    relations = tuple(entry for entry in walk.entries if isinstance(entry, RelationEntry))
    return Entries(relations, Counter(entry.name for entry in walk.entries))


_Frame = tuple[FromEntry, ...]
_Sight = tuple[_Frame, ...]
"""Items in sight, the innermost frame first."""


class _Walk:
    def __init__(self, path: Callable[[Parts], Parts]) -> None:
        self._path = path
        self.entries: list[FromEntry] = []

    def query(self, query: QuerySyntax, sight: _Sight, common: frozenset[str]) -> None:
        common = common | {item.name for item in query.with_items if item.recursive}
        for item in query.with_items:
            self.query(item.query, sight, common)
            common = common | {item.name}
        if isinstance(query.body, SelectBody):
            inner = self._select(query.body, sight, common)
        else:
            self.value(query.body, sight, common)
            inner = sight
        self.value(query.order_by, inner, common)
        self.value((query.limit, query.offset), sight, common)

    def value(self, value: object, sight: _Sight, common: frozenset[str]) -> None:
        """Anything but an item of FROM."""
        match value:
            case QuerySyntax():
                self.query(value, sight, common)
            case SelectBody():
                self._select(value, sight, common)
            case Name():
                self._refer(value.parts[:-1], value.at, sight)
            case Star():
                self._refer(value.qualifier, value.at, sight)
            case tuple():
                for part in value:
                    self.value(part, sight, common)
            case _ if is_dataclass(value):
                for part in fields(value):
                    self.value(getattr(value, part.name), sight, common)

    def _refer(self, qualifier: Parts, at: int, sight: _Sight) -> None:
        for frame in sight if qualifier else ():
            found = [entry for entry in frame if entry.answers(qualifier)]
            if found:
                found[0].note(Qualifier(qualifier, at))
                return

    def _select(self, body: SelectBody, sight: _Sight, common: frozenset[str]) -> _Sight:
        frame: _Frame = ()
        for item in body.from_items:
            frame += self._item(item, frame, sight, common)
        _side_by_side(frame)
        inner = (frame, *sight)
        for part in fields(body):
            if part.name != "from_items":
                self.value(getattr(body, part.name), inner, common)
        return inner

    def _item(self, item: FromItem, left: _Frame, sight: _Sight, common: frozenset[str]) -> _Frame:
        alias = "" if item.alias is None else item.alias.name
        match item:
            case TableName():
                return (self._entry(self._relation(item, alias, common)),)
            case DerivedTable():
                self.query(item.query, (left, *sight) if item.lateral else sight, common)
            case FunctionTable():
                self.value(item.call, (left, *sight), common)
                if not alias and isinstance(item.call, FunctionCall):
                    alias = item.call.name[-1]
            case JoinedTable():
                frame = tuple(self._join(item, left, sight, common))
                if not alias:
                    return frame
            case ShownTable():
                pass
        return (self._entry(FromEntry(alias)),)

    def _relation(self, item: TableName, alias: str, common: frozenset[str]) -> FromEntry:
        if len(item.parts) == 1 and item.parts[0] in common:
            return FromEntry(alias or item.parts[0])
        path = self._path(item.parts)
        return RelationEntry(alias or path[-1], table=item, path=path)

    def _join(
        self, item: JoinedTable, left: _Frame, sight: _Sight, common: frozenset[str]
    ) -> Iterator[FromEntry]:
        first = self._item(item.left, left, sight, common)
        second = self._item(item.right, left + first, sight, common)
        self.value(item.condition, (first + second, *sight), common)
        _side_by_side(first + second)
        yield from first + second

    def _entry(self, entry: FromEntry) -> FromEntry:
        self.entries.append(entry)
        return entry


def _side_by_side(frame: _Frame) -> None:
    for entry in frame:
        entry.beside = frozenset(other.name for other in frame if other is not entry)
