"""The state of planning one query: numbers for columns, parameters' types, what was used.

Not here: any binding (bind/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headwater.core.errors import UserError
from headwater.core.limits import PLAN_COLUMNS_MAX
from headwater.core.names import Names, SessionFacts
from headwater.core.relation import Column
from headwater.core.types import TEXT, UNKNOWN, SqlType, holds_moments
from headwater.sql.select.bind.scope import Scope, TableInScope
from headwater.sql.select.parse.syntax import CommonTable, QuerySyntax
from headwater.sql.select.plan.nodes import ColumnId, ColumnRef, Constant, Node, OutputColumn, Parameter


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A bound query: its node, and those of the node's columns that are its result."""

    node: Node
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Targets:
    """The columns a query's rows are meant for, so that literals and parameters take their types."""

    columns: tuple[Column, ...]

    def type_at(self, index: int) -> SqlType | None:
        return self.columns[index].type if index < len(self.columns) else None


@dataclass(slots=True)
class Planning:
    """One query being planned; `query` binds a query inside it, `table` a common table."""

    names: Names
    facts: SessionFacts
    query: Callable[[Planning, QuerySyntax, Scope], BoundQuery]
    table: Callable[[Planning, TableInScope], BoundQuery]
    parameters: dict[int, SqlType] = field(default_factory=dict)
    parameters_seen: set[int] = field(default_factory=set)
    tables_bound: set[CommonTable] = field(default_factory=set)
    relation_ids: set[str] = field(default_factory=set)
    view_ids: set[str] = field(default_factory=set)
    named_ids: set[str] = field(default_factory=set)
    uses_mz_now: bool = False
    column_count: int = 0
    recursion_count: int = 0
    view_depth: int = 0
    moments: list[tuple[int, str, SqlType]] = field(default_factory=list)

    def column(self, name: str, type_: SqlType, nullable: bool = True) -> OutputColumn:
        """A new column with a number of its own."""
        self.column_count += 1
        if self.column_count > PLAN_COLUMNS_MAX:
            raise UserError(
                "query is too large",
                "54001",
                detail=f"Its plan, with all views inlined, has more than {PLAN_COLUMNS_MAX} columns.",
            )
        return OutputColumn(ColumnId(self.column_count), name, type_, nullable)

    def note_moment(self, literal: Constant, type_: SqlType) -> None:
        """A literal of the query's own text is one or more moments."""
        if literal.value is not None and literal.at >= 0 and not self.view_depth and holds_moments(type_):
            self.moments.append((literal.at, literal.value, type_))

    def parameter(self, number: int, at: int) -> Parameter:
        """`$n`, of the type it has so far."""
        if number < 1:
            raise UserError(f"there is no parameter ${number}", "42P02", position=at + 1)
        self.parameters_seen.add(number)
        return Parameter(number, self.parameters.get(number, UNKNOWN))

    def typed_parameter(self, parameter: Parameter, type_: SqlType) -> Parameter:
        """Gives a parameter the type its place wants, unless another place was first."""
        return Parameter(parameter.number, self.parameters.setdefault(parameter.number, type_))

    def parameter_types(self) -> tuple[SqlType, ...]:
        """The types of $1 to the last one used; UserError when one could not be told."""
        count = max(self.parameters_seen, default=0)
        count = max(count, max(self.parameters, default=0))
        missing = [n for n in range(1, count + 1) if n not in self.parameters and n in self.parameters_seen]
        if missing:
            raise UserError(f"could not determine data type of parameter ${missing[0]}", "42P18")
        return tuple(self.parameters.get(n, TEXT) for n in range(1, count + 1))


def reference(column: OutputColumn) -> ColumnRef:
    """A reference to a column."""
    return ColumnRef(column.id, column.type)
