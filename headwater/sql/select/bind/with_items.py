"""The queries of a WITH: which of them read which, and whether a recursive one has the form it must have.

A query of WITH RECURSIVE may read those after it and itself.  One that reads itself is
`base UNION [ALL] step`: the base does not read it, the step does so once, in a place where rows
only ever add rows to the result.

Not here: what the queries mean (bind/query.py, bind/recursion.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Final, Literal

from headwater.core.errors import UserError
from headwater.sql.select.parse.names import tables_of
from headwater.sql.select.parse.syntax import (
    CommonTable,
    InTest,
    JoinedTable,
    Quantified,
    QuerySyntax,
    QueryValue,
    SetBody,
    TableName,
)

_Place = Literal["step", "base", "subquery", "outer join", "INTERSECT", "EXCEPT"]

_REFUSED: Final[dict[_Place, str]] = {
    "base": "its non-recursive term",
    "subquery": "a subquery",
    "outer join": "an outer join",
    "INTERSECT": "INTERSECT",
    "EXCEPT": "EXCEPT",
}


def in_order(items: tuple[CommonTable, ...]) -> Iterator[tuple[CommonTable, bool]]:
    """The queries, each after those it reads, and whether it reads itself."""
    if not items or not items[0].recursive:
        yield from ((item, False) for item in items)
        return
    names = {item.name for item in items}
    reads = {item.name: names & _read_by(item) for item in items}
    left = list(items)
    while left:
        waiting = {item.name for item in left}
        ready = [item for item in left if not reads[item.name] & (waiting - {item.name})]
        if not ready:
            raise UserError(
                "mutual recursion between WITH items is not implemented", "0A000", position=left[0].at + 1
            )
        left.remove(ready[0])
        recursive = ready[0].name in reads[ready[0].name]
        if recursive:
            _check_form(ready[0])
        yield ready[0], recursive


def union_of(query: QuerySyntax) -> tuple[list[QuerySyntax], SetBody | None]:
    """The UNION that a query is, and the queries around it, which are all it is under parentheses."""
    around = [query]
    while isinstance(query.body, QuerySyntax):
        query = query.body
        around.append(query)
    body = query.body
    return around, body if isinstance(body, SetBody) and body.operator == "union" else None


def _read_by(item: CommonTable) -> set[str]:
    return {table.parts[0] for table in tables_of(item.query) if len(table.parts) == 1}


def _check_form(item: CommonTable) -> None:
    around, union = union_of(item.query)
    if union is None:
        raise UserError(
            f'recursive query "{item.name}" does not have the form'
            " non-recursive-term UNION [ALL] recursive-term",
            "42P19",
            position=item.at + 1,
        )
    _Check(item.name).walk(union.left, "base", False)
    _Check(item.name).walk(union.right, "step", False)
    for query in around:
        for inner in query.with_items:
            _Check(item.name).walk(inner.query, "subquery", False)
        for what, given in (("ORDER BY", query.order_by), ("OFFSET", query.offset), ("LIMIT", query.limit)):
            if given:
                raise UserError(
                    f"{what} in a recursive query is not implemented", "0A000", position=item.at + 1
                )


@dataclass(slots=True)
class _Check:
    """The search for reads of a recursive query in a part of it."""

    name: str
    count: int = 0

    def walk(self, value: object, place: _Place, hidden: bool) -> None:
        """Refuses reads that may not stand in this place; `hidden` when the name means another query."""
        match value:
            case TableName():
                if value.parts == (self.name,) and not hidden:
                    self._read(value, place)
            case QuerySyntax():
                self._query(value, place, hidden)
            case QueryValue() | InTest() | Quantified():
                for inner in _parts(value):
                    self.walk(inner, "subquery" if isinstance(inner, QuerySyntax) else place, hidden)
            case JoinedTable():
                outer = _within(place, "outer join")
                self.walk(value.left, outer if value.kind in ("right", "full") else place, hidden)
                self.walk(value.right, outer if value.kind in ("left", "full") else place, hidden)
                self.walk(value.condition, place, hidden)
            case SetBody():
                left, right = _sides(value, place)
                self.walk(value.left, left, hidden)
                self.walk(value.right, right, hidden)
            case _:
                for inner in _parts(value):
                    self.walk(inner, place, hidden)

    def _read(self, table: TableName, place: _Place) -> None:
        self.count += 1
        where = "more than once" if place == "step" else f"within {_REFUSED[place]}"
        if place != "step" or self.count > 1:
            raise UserError(
                f'recursive reference to query "{self.name}" must not appear {where}',
                "42P19",
                position=table.at + 1,
            )

    def _query(self, query: QuerySyntax, place: _Place, hidden: bool) -> None:
        hidden = hidden or any(item.recursive and item.name == self.name for item in query.with_items)
        for item in query.with_items:
            self.walk(item.query, place, hidden)
            hidden = hidden or item.name == self.name
        for part in (query.body, query.order_by, query.limit, query.offset):
            self.walk(part, place, hidden)


def _within(place: _Place, inner: _Place) -> _Place:
    """The outermost reason to refuse a read is the one that is told."""
    return inner if place == "step" else place


def _sides(body: SetBody, place: _Place) -> tuple[_Place, _Place]:
    match body.operator:
        case "intersect":
            both = _within(place, "INTERSECT") if body.all else place
            return both, both
        case "except":
            right = _within(place, "EXCEPT")
            return right if body.all else place, right
    return place, place


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        yield from value
    elif is_dataclass(value):
        for field in fields(value):
            yield getattr(value, field.name)
