"""The typed plan of a query: what the binder makes and both generators read.

Every column that any node puts out has a number of its own, unique in the whole
query (`ColumnId`), and is referred to by that number alone.  So there are no
scopes, aliases or ambiguities left in a plan, a correlated subquery simply uses
an outer number, and a generator may name a column `c<number>` anywhere.

Every expression knows its SQL type.  Implicit casts have become explicit `Cast`
nodes, operators and functions have become `Call`s of one entry of the function
table, `*` is gone, views are inlined, names of session functions (now(),
current_user) are literals.

    Query
      root        a tree of Node
      output      the names, types and numbers of the result's columns
      parameters  the types of $1, $2, ...

Not here: how either engine spells it (generate/duckdb/query.py, spark.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import NewType, TypeAlias

from headwater.core.relation import Column
from headwater.core.types import BOOL, SqlType, in_zone
from headwater.sql.select.functions.entry import Function

ColumnId = NewType("ColumnId", int)


# Expressions


@dataclass(frozen=True, slots=True)
class Constant:
    """A value in PostgreSQL's canonical text form (`t`, `1.5`, `2026-01-01`); None is NULL.

    A constant of an array type has array text (`{1,2}`), of a record type record text.  A literal that has
    no type yet knows where it stands in the query's text.
    """

    value: str | None
    type: SqlType
    at: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$n`, counted from 1.  `bind` puts a constant in its place before generation."""

    number: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of some node below, or of an enclosing query."""

    id: ColumnId
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function or operator; the arguments' types are exactly what the entry wants.

    What depends on the session's zone (also casts, aggregates and table functions) says which one it
    is computed for; it is empty in UTC and wherever the answer does not depend on it.
    """

    function: Function
    arguments: tuple[Expression, ...]
    type: SqlType
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion; `implicit` when nobody wrote it."""

    input: Expression
    type: SqlType
    implicit: bool = False
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """CASE with conditions; the form with an operand has been rewritten to this one."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Logical:
    """AND and OR over two or more, NOT over one, IS NULL, IS NOT NULL, IS TRUE ... over one."""

    operator: OneOf["and", "or", "not", "is null", "is not null", "is true", "is false"]
    arguments: tuple[Expression, ...]
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class InList:
    """`input IN (items)`; NOT IN is a Logical around it."""

    input: Expression
    items: tuple[Expression, ...]
    type: SqlType = BOOL


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query inside an expression.

    scalar   one column, at most one row (more is an error at run time)
    exists   whether there is a row
    any/all  `operand comparison ANY (query)`; IN is `= any`
    array    ARRAY(SELECT ...)
    """

    kind: OneOf["scalar", "exists", "any", "all", "array"]
    root: Node
    column: ColumnId | None
    type: SqlType
    operand: Expression | None = None
    comparison: Function | None = None


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """ARRAY[...] or LIST[...], elements all of the element type."""

    elements: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class RecordOf:
    """ROW(...); the fields' names stand in the type."""

    fields: tuple[Expression, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class SortKey:
    """One item of an ORDER BY, with the place of NULLs made explicit."""

    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate, in an Aggregate node or under a window."""

    function: Function
    arguments: tuple[Expression, ...]
    type: SqlType
    distinct: bool = False
    order_by: tuple[SortKey, ...] = ()
    filter: Expression | None = None
    zone: str = ""


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """ROWS/RANGE/GROUPS BETWEEN start AND end, each as (word, offset)."""

    unit: OneOf["rows", "range", "groups"]
    start: tuple[OneOf["unbounded preceding", "preceding", "current row", "following"], Expression | None]
    end: tuple[OneOf["unbounded following", "preceding", "current row", "following"], Expression | None]


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function (row_number, lag, ...) or an aggregate OVER (...)."""

    call: AggregateCall
    partition_by: tuple[Expression, ...]
    order_by: tuple[SortKey, ...]
    frame: WindowFrame | None
    type: SqlType


Expression: TypeAlias = (
    "Constant | Parameter | ColumnRef | Call | Cast | Case | Logical | InList | Subquery | ArrayOf | RecordOf"
)


def zoned_types(values: tuple[Expression, ...], zone: str) -> tuple[SqlType, ...]:
    """The types of arguments as forms are told them: those of moments say the zone to compute for."""
    return tuple(in_zone(value.type, zone) for value in values)


# Nodes


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column that a node puts out."""

    id: ColumnId
    name: str
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Scan:
    """A relation of the catalog, user's or system's: `columns` pairs its column names with numbers.

    Only the columns that are used need be listed.  Values arrive in stored form.
    """

    relation_id: str
    name: str  # for EXPLAIN
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows of expressions; SELECT without FROM is one row of none.

    `literal` says that there are many, all of constants of their columns' types: walks pass by, and
    an engine may be handed them as data.
    """

    rows: tuple[tuple[Expression, ...], ...]
    columns: tuple[OutputColumn, ...]
    literal: bool = False


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A set-returning function in FROM; lateral: arguments may use columns from its left."""

    function: Function
    arguments: tuple[Expression, ...]
    columns: tuple[OutputColumn, ...]
    ordinality: ColumnId | None = None
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """Computes columns; passes nothing on that is not listed."""

    input: Node
    columns: tuple[tuple[OutputColumn, Expression], ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps rows for which the predicate is true."""

    input: Node
    predicate: Expression


@dataclass(frozen=True, slots=True)
class Join:
    """Puts out the columns of both sides; `lateral` when the right side uses columns of the left."""

    kind: OneOf["inner", "left", "right", "full", "cross"]
    left: Node
    right: Node
    condition: Expression | None
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """GROUP BY: puts out the groups' columns, then the aggregates'.  No groups: exactly one row."""

    input: Node
    groups: tuple[tuple[OutputColumn, Expression], ...]
    aggregates: tuple[tuple[OutputColumn, AggregateCall], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Adds window columns to those of its input."""

    input: Node
    calls: tuple[tuple[OutputColumn, WindowCall], ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """DISTINCT over all columns, or DISTINCT ON (on) keeping the first by `order_by`."""

    input: Node
    on: tuple[Expression, ...] = ()
    order_by: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT, EXCEPT; both sides have as many columns as `columns`, of the same types."""

    kind: OneOf["union", "intersect", "except"]
    all: bool
    left: Node
    right: Node
    left_columns: tuple[ColumnId, ...]
    right_columns: tuple[ColumnId, ...]
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Recursion:
    """WITH RECURSIVE: the rows of `base`, then those of `step` over the rows found last, until none come.

    Without `all`, rows that were found before do not count as found.  `number` is the recursion's
    own in the whole query; `columns` pairs up with the columns picked of both inputs, of the same types.
    """

    number: int
    name: str  # for EXPLAIN
    all: bool
    base: Node
    step: Node
    base_columns: tuple[ColumnId, ...]
    step_columns: tuple[ColumnId, ...]
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Inside the step of a recursion: the rows found last, each column beside the recursion's own."""

    number: int
    name: str  # for EXPLAIN
    columns: tuple[tuple[OutputColumn, ColumnId], ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """ORDER BY."""

    input: Node
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT and OFFSET; either may be missing."""

    input: Node
    count: Expression | None
    offset: Expression | None


Node: TypeAlias = (
    "Scan | Values | TableFunction | Project | Filter | Join | Aggregate | Window | Distinct"
    " | SetOperation | Recursion | FoundRows | Sort | Limit"
)


@dataclass(frozen=True, slots=True)
class Query:
    """A planned query."""

    root: Node
    output: tuple[OutputColumn, ...]
    parameters: tuple[SqlType, ...] = ()
    relation_ids: frozenset[str] = frozenset()
    uses_mz_now: bool = False
    view_ids: frozenset[str] = frozenset()  # that are inlined
    named_ids: frozenset[str] = frozenset()  # relations and views that it names itself, not by a view
    zone: str = ""  # that texts given for parameters are read in; empty for UTC
    moments: tuple[tuple[int, str, SqlType], ...] = ()  # literals of them: place, text as written, type
    with_zeros: frozenset[ColumnId] = frozenset()  # numerics that keep their zeros; known before generating

    def columns(self) -> tuple[Column, ...]:
        """The result's columns as a client sees them."""
        return tuple(Column(column.name, column.type, column.nullable) for column in self.output)
