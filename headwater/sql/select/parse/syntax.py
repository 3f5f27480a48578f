"""What the parser makes of a query's text: names are still names, nothing has a type.

Every node knows where it begins (`at`, characters from 0), so that an error can
point at it; names of relations also know where they end, so that they can be
replaced in the text.

Not here: reading the text (parse/), meaning (bind/).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

# Expressions


@dataclass(frozen=True, slots=True)
class Name:
    """`c`, `t.c`, `s.t.c`."""

    parts: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `t.*`."""

    qualifier: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written; minus signs directly before it belong to it."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class String:
    """A string literal, of no type yet."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Word:
    """NULL, TRUE, FALSE and DEFAULT."""

    word: Literal["null", "true", "false", "default"]
    at: int


@dataclass(frozen=True, slots=True)
class Positional:
    """`$1`."""

    number: int
    at: int


INTERVAL_FIELDS: Final = ("year", "month", "day", "hour", "minute", "second")
"""What may follow INTERVAL, the largest first."""


@dataclass(frozen=True, slots=True)
class TypeName:
    """`pg_catalog.int4`, `numeric(10, 2)[]`, `int list`, `map[text=>int]`.

    `dimensions` counts array brackets, `lists` the word LIST after the name.
    """

    parts: tuple[str, ...]
    modifiers: tuple[int, ...]
    at: int
    quoted: bool = False
    dimensions: int = 0
    lists: int = 0
    element: TypeName | None = None  # a map's values
    fields: str | None = None  # INTERVAL ... DAY TO SECOND


@dataclass(frozen=True, slots=True)
class CastTo:
    """CAST(x AS t), x::t, and the typed literal t 'x'."""

    input: Syntax
    type: TypeName
    at: int
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with one or two operands."""

    operator: str
    operands: tuple[Syntax, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Junction:
    """AND, OR over two or more, NOT over one."""

    operator: Literal["and", "or", "not"]
    operands: tuple[Syntax, ...]
    at: int


@dataclass(frozen=True, slots=True)
class IsTest:
    """`x IS [NOT] NULL|TRUE|FALSE|UNKNOWN`."""

    input: Syntax
    test: Literal["null", "true", "false", "unknown"]
    negated: bool
    at: int


@dataclass(frozen=True, slots=True)
class DistinctFrom:
    """`x IS [NOT] DISTINCT FROM y`."""

    left: Syntax
    right: Syntax
    negated: bool
    at: int


@dataclass(frozen=True, slots=True)
class BetweenTest:
    """`x [NOT] BETWEEN [SYMMETRIC] low AND high`."""

    input: Syntax
    low: Syntax
    high: Syntax
    negated: bool
    symmetric: bool
    at: int


@dataclass(frozen=True, slots=True)
class InTest:
    """`x [NOT] IN (...)` with items or a query."""

    input: Syntax
    items: tuple[Syntax, ...]
    query: QuerySyntax | None
    negated: bool
    at: int


@dataclass(frozen=True, slots=True)
class PatternTest:
    """`x [NOT] LIKE|ILIKE|SIMILAR TO pattern [ESCAPE e]`."""

    word: Literal["like", "ilike", "similar"]
    input: Syntax
    pattern: Syntax
    escape: Syntax | None
    negated: bool
    at: int


@dataclass(frozen=True, slots=True)
class Quantified:
    """`x operator ANY|ALL (query or array)`."""

    operator: str
    left: Syntax
    quantifier: Literal["any", "all"]
    right: Syntax | QuerySyntax
    at: int


@dataclass(frozen=True, slots=True)
class QueryValue:
    """A query in an expression: (SELECT ...), EXISTS (...), ARRAY(...)."""

    kind: Literal["scalar", "exists", "array"]
    query: QuerySyntax
    at: int


@dataclass(frozen=True, slots=True)
class CaseOf:
    """CASE [operand] WHEN ... THEN ... [ELSE ...] END."""

    operand: Syntax | None
    branches: tuple[tuple[Syntax, Syntax], ...]
    otherwise: Syntax | None
    at: int


@dataclass(frozen=True, slots=True)
class ListOf:
    """ARRAY[...] and LIST[...]."""

    kind: Literal["array", "list"]
    elements: tuple[Syntax, ...]
    at: int


@dataclass(frozen=True, slots=True)
class MapOf:
    """MAP['k' => v, ...]."""

    entries: tuple[tuple[Syntax, Syntax], ...]
    at: int


@dataclass(frozen=True, slots=True)
class RowOf:
    """ROW(...) or (a, b)."""

    fields: tuple[Syntax, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Subscript:
    """`x[i]`, `x[low:high]`, `x[i][j]`."""

    input: Syntax
    places: tuple[SubscriptPlace, ...]
    at: int


@dataclass(frozen=True, slots=True)
class SubscriptPlace:
    """What is between one pair of brackets; a slice may lack either side."""

    low: Syntax | None
    high: Syntax | None
    slice: bool


@dataclass(frozen=True, slots=True)
class FieldOf:
    """`(x).f`; `*` is all fields."""

    input: Syntax
    field: str
    at: int


@dataclass(frozen=True, slots=True)
class Collated:
    """`x COLLATE c`."""

    input: Syntax
    collation: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class OrderItem:
    """One item of an ORDER BY."""

    expression: Syntax
    descending: bool
    nulls_first: bool | None
    at: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A window's frame; offsets beside the words."""

    unit: Literal["rows", "range", "groups"]
    start: tuple[str, Syntax | None]
    end: tuple[str, Syntax | None]


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """OVER (...) or OVER name; `base` is the window it builds on."""

    base: str | None
    partition_by: tuple[Syntax, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None
    at: int
    bare: bool = False  # OVER w without parentheses


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call with everything that may follow it."""

    name: tuple[str, ...]
    arguments: tuple[Syntax, ...]
    at: int
    star: bool = False
    distinct: bool = False
    variadic: bool = False
    order_by: tuple[OrderItem, ...] = ()
    within_group: tuple[OrderItem, ...] = ()
    filter: Syntax | None = None
    over: WindowSpec | None = None
    keyword: bool = False  # CURRENT_DATE and the like: written without parentheses


Syntax: TypeAlias = (
    "Name | Star | Number | String | Word | Positional | CastTo | Operation | Junction | IsTest"
    " | DistinctFrom | BetweenTest | InTest | PatternTest | Quantified | QueryValue | CaseOf | ListOf"
    " | MapOf | RowOf | Subscript | FieldOf | Collated | FunctionCall"
)


# Queries


@dataclass(frozen=True, slots=True)
class Alias:
    """`AS t (a, b)`; types only after a function.  `at` to `end` is the name in the text."""

    name: str
    columns: tuple[str, ...] = ()
    at: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class TableName:
    """A relation by name; `at` to `end` is the name in the text.

    `begin` is the place of ONLY before it, or of TABLE when that is the whole query.
    """

    parts: tuple[str, ...]
    alias: Alias | None
    at: int
    end: int
    begin: int
    whole: bool = False  # TABLE t, which cannot have an alias


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A query in FROM."""

    query: QuerySyntax
    lateral: bool
    alias: Alias | None
    at: int


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A SHOW statement in FROM, by its text."""

    text: str
    alias: Alias | None
    at: int


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """A function in FROM; `typed` are the columns of AS t(a int, b text)."""

    call: Syntax
    lateral: bool
    ordinality: bool
    alias: Alias | None
    at: int


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """Two items joined."""

    kind: Literal["inner", "left", "right", "full", "cross"]
    left: FromItem
    right: FromItem
    condition: Syntax | None
    using: tuple[str, ...] | None
    natural: bool
    alias: Alias | None
    at: int


FromItem: TypeAlias = "TableName | DerivedTable | ShownTable | FunctionTable | JoinedTable"


@dataclass(frozen=True, slots=True)
class SelectItem:
    """One item of a SELECT list."""

    expression: Syntax
    alias: str | None
    at: int


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """ROLLUP (...), CUBE (...) and GROUPING SETS (...) in a GROUP BY; the last may have such in it."""

    kind: Literal["rollup", "cube", "sets"]
    items: tuple[GroupItem, ...]
    at: int


GroupItem: TypeAlias = "Syntax | GroupingSets"


@dataclass(frozen=True, slots=True)
class SelectBody:
    """SELECT ... without ORDER BY and LIMIT.  `distinct_on` is empty for a plain DISTINCT."""

    items: tuple[SelectItem, ...]
    from_items: tuple[FromItem, ...]
    where: Syntax | None
    group_by: tuple[GroupItem, ...]
    having: Syntax | None
    windows: tuple[tuple[str, WindowSpec], ...]
    distinct: bool
    distinct_on: tuple[Syntax, ...]
    at: int
    groups_distinct: bool = False  # GROUP BY DISTINCT


@dataclass(frozen=True, slots=True)
class ValuesBody:
    """VALUES (...), (...)."""

    rows: tuple[tuple[Syntax, ...], ...]
    at: int


@dataclass(frozen=True, slots=True)
class SetBody:
    """UNION, INTERSECT, EXCEPT."""

    operator: Literal["union", "intersect", "except"]
    all: bool
    left: Body
    right: Body
    at: int


Body: TypeAlias = "SelectBody | ValuesBody | SetBody | QuerySyntax"


@dataclass(frozen=True, slots=True)
class CommonTable:
    """One query of a WITH; of a WITH RECURSIVE it sees all queries, itself among them."""

    name: str
    columns: tuple[str, ...]
    query: QuerySyntax
    at: int
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class QuerySyntax:
    """A whole query; parentheses around one make another."""

    with_items: tuple[CommonTable, ...]
    body: Body
    order_by: tuple[OrderItem, ...]
    limit: Syntax | None
    offset: Syntax | None
    at: int
