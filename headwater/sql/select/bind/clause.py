"""The clause an expression stands in: what names it sees and what it may contain.

Aggregates, window functions and set-returning functions do not stay in expressions: where a
clause allows them they are collected, each as a column of a node of its own, and the
expression refers to that column.

Not here: turning what was collected into nodes (bind/select.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.sql.select.bind.planning import Planning, reference
from headwater.sql.select.bind.scope import Scope
from headwater.sql.select.parse.syntax import WindowSpec
from headwater.sql.select.plan.nodes import AggregateCall, ColumnRef, OutputColumn, TableFunction, WindowCall


@dataclass(slots=True)
class Collected:
    """The calls of one SELECT that become nodes; equal calls share a column."""

    aggregates: list[tuple[OutputColumn, AggregateCall]] = field(default_factory=list)
    windows: list[tuple[OutputColumn, WindowCall]] = field(default_factory=list)
    sets: list[TableFunction] = field(default_factory=list)
    groupings: bool = False  # whether GROUPING(...) was called

    def aggregate(self, planning: Planning, call: AggregateCall) -> ColumnRef:
        """The column of an aggregate."""
        for column, known in self.aggregates:
            if known == call:
                return reference(column)
        column = planning.column(call.function.name, call.type)
        self.aggregates.append((column, call))
        return reference(column)

    def window(self, planning: Planning, call: WindowCall) -> ColumnRef:
        """The column of a window function."""
        for column, known in self.windows:
            if known == call:
                return reference(column)
        column = planning.column(call.call.function.name, call.type)
        self.windows.append((column, call))
        return reference(column)


@dataclass(frozen=True, slots=True)
class Clause:
    """Where an expression stands; `name` is how errors call the place."""

    planning: Planning
    scope: Scope
    name: str
    collected: Collected
    aggregates: bool = False
    windows: bool = False
    sets: bool = False
    named_windows: Mapping[str, WindowSpec] = field(default_factory=dict)
    sets_refused: str = ""  # the construct that set-returning functions may not stand in
    inside: str = ""  # "aggregate" or "window" while binding such a call's arguments

    def within_aggregate(self) -> Clause:
        """For an aggregate's arguments."""
        return replace(self, aggregates=False, windows=False, sets=False, inside="aggregate")

    def without_sets(self, construct: str) -> Clause:
        """For the parts of CASE and COALESCE, which are not always evaluated."""
        return replace(self, sets=False, sets_refused=construct) if self.sets else self

    def within_window(self) -> Clause:
        """For a window function's arguments: aggregates may stand there."""
        return replace(self, windows=False, sets=False, inside="window")
