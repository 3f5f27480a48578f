"""What names mean in a query: the items of FROM, common tables, and the queries around.

A column of FROM is found by name in the innermost scope that has it; a scope's parent is
the query around it (or, for LATERAL, the items on the left).  A merged column of JOIN
USING has a value of its own and hides the two it was made of from unqualified names.

Not here: making scopes from FROM (bind/from_clause.py), expressions (bind/expression.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headwater.core.errors import UserError
from headwater.core.types import OID
from headwater.sql.select.parse.syntax import CommonTable, Name
from headwater.sql.select.plan.nodes import ColumnId, ColumnRef, Constant, Expression, OutputColumn


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A column as seen by name."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class RangeItem:
    """One item of FROM.

    `path` is the full name of a relation that has no alias.  `key` are the positions of the
    primary key's columns.  `scalar` marks a function with one column, whose name may be used
    as that column.  `oid` is a relation's own, which it has as the hidden column `tableoid`.
    """

    alias: str | None
    path: tuple[str, ...]
    columns: tuple[RangeColumn, ...]
    columns_visible: bool = True
    key: tuple[int, ...] = ()
    scalar: bool = False
    oid: int | None = None

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """Whether a qualifier of one to three parts names this item."""
        if len(qualifier) == 1:
            return self.alias == qualifier[0]
        return self.path[-1:] == (self.alias,) and self.path[-len(qualifier) :] == qualifier


@dataclass(frozen=True, slots=True)
class TableInScope:
    """A common table with the surroundings it is to be bound in.

    `recursive` when its query reads itself.  In the step of its own recursion it stands for the
    rows found last: those of the recursion with this number, which has these columns.
    """

    syntax: CommonTable
    parent: Scope | None
    tables: Mapping[str, TableInScope]
    recursive: bool = False
    number: int | None = None
    columns: tuple[OutputColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """The items of one FROM and the scope around it."""

    items: tuple[RangeItem, ...] = ()
    parent: Scope | None = None
    tables: Mapping[str, TableInScope] = field(default_factory=dict)

    def visible_columns(self) -> Iterator[RangeColumn]:
        """What `*` means."""
        for item in self.items:
            if item.columns_visible:
                yield from item.columns

    def local_ids(self) -> frozenset[ColumnId]:
        """The numbers of this scope's own columns."""
        return frozenset(
            column.value.id
            for item in self.items
            for column in item.columns
            if isinstance(column.value, ColumnRef)
        )


def find_item(scope: Scope | None, qualifier: tuple[str, ...], at: int) -> RangeItem | None:
    """The item a qualifier names, in the innermost scope that has one."""
    while scope is not None:
        found = [item for item in scope.items if item.answers(qualifier)]
        if len(found) > 1:
            raise UserError(f'table reference "{qualifier[-1]}" is ambiguous', "42P09", position=at + 1)
        if found:
            return found[0]
        scope = scope.parent
    return None


def find_column(scope: Scope, name: Name) -> Expression:
    """The value a column's name stands for."""
    column, qualifier = name.parts[-1], name.parts[:-1]
    if qualifier:
        return _qualified(scope, name, qualifier, column)
    inner: Scope | None = scope
    while inner is not None:
        found = [c for c in inner.visible_columns() if c.name == column]
        if len(found) > 1:
            raise UserError(f'column reference "{column}" is ambiguous', "42702", position=name.at + 1)
        if found:
            return found[0].value
        inner = inner.parent
    if column == "tableoid" and len(scope.items) == 1 and scope.items[0].oid is not None:
        return Constant(str(scope.items[0].oid), OID)
    item = find_item(scope, (column,), name.at)
    if item is not None:
        if item.scalar:
            return item.columns[0].value
        raise UserError(f'table "{column}" as a value not yet supported', "0A000", position=name.at + 1)
    raise UserError(
        f'column "{column}" does not exist', "42703", hint=_near(scope, column), position=name.at + 1
    )


def _qualified(scope: Scope, name: Name, qualifier: tuple[str, ...], column: str) -> Expression:
    item = find_item(scope, qualifier, name.at)
    if item is None:
        raise missing_item(scope, qualifier, name.at)
    found = [c for c in item.columns if c.name == column]
    if len(found) > 1:
        raise UserError(f'column reference "{column}" is ambiguous', "42702", position=name.at + 1)
    if not found and column == "tableoid" and item.oid is not None:
        return Constant(str(item.oid), OID)
    if not found:
        near = difflib.get_close_matches(column, [c.name for c in item.columns], 1)
        hint = f'Perhaps you meant to reference the column "{qualifier[-1]}.{near[0]}".' if near else None
        raise UserError(
            f"column {qualifier[-1]}.{column} does not exist", "42703", hint=hint, position=name.at + 1
        )
    return found[0].value


def missing_item(scope: Scope, qualifier: tuple[str, ...], at: int) -> UserError:
    """A qualifier that names nothing in FROM."""
    shown = qualifier[-1]
    inner: Scope | None = scope
    while inner is not None:
        for item in inner.items:
            if item.alias is not None and item.path and item.path[-1] == shown and item.alias != shown:
                return UserError(
                    f'invalid reference to FROM-clause entry for table "{shown}"',
                    "42P01",
                    hint=f'Perhaps you meant to reference the table alias "{item.alias}".',
                    position=at + 1,
                )
        inner = inner.parent
    return UserError(f'missing FROM-clause entry for table "{shown}"', "42P01", position=at + 1)


def _near(scope: Scope, column: str) -> str | None:
    """A hint with the nearest column's name."""
    known: dict[str, str] = {}
    inner: Scope | None = scope
    while inner is not None:
        for item in inner.items:
            for candidate in item.columns:
                shown = f"{item.alias}.{candidate.name}" if item.alias else candidate.name
                known.setdefault(candidate.name, shown)
        inner = inner.parent
    near = difflib.get_close_matches(column, list(known), 1)
    return f'Perhaps you meant to reference the column "{known[near[0]]}".' if near else None


def column_names(scope: Scope) -> dict[ColumnId, str]:
    """How errors name this scope's columns: `t.x`."""
    names: dict[ColumnId, str] = {}
    for item in scope.items:
        for column in item.columns:
            if isinstance(column.value, ColumnRef):
                names.setdefault(
                    column.value.id, f"{item.alias}.{column.name}" if item.alias else column.name
                )
    return names
