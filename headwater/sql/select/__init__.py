"""SELECT: from a query's text to a typed plan, and from the plan to an engine's SQL.

    text --parse--> syntax --bind--> plan --passes--> plan --generate--> DuckDB's or Spark's SQL

    tokens, words, cursor, parse_*   PostgreSQL's grammar; every piece of syntax knows its place
    scope, clause, coerce, resolve   names, what may stand where, casts, overloads
    bind_*                           syntax and catalog to plan
    plan, walk, explain              the plan itself
    passes/                          rewrites of it
    functions/, kernels/             every function there is, and how each engine spells it
    duckdb*, spark*                  the generators

Binding is pure: it asks the catalog through `Names` and nothing else.  Whatever is not in the
grammar, the function table or the plan is an error here, so no text of a user ever reaches
an engine.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.errors import UserError
from headwater.core.names import Names, SessionFacts
from headwater.core.relation import Column
from headwater.core.types import SqlType
from headwater.sql.select.bind_expression import bind
from headwater.sql.select.bind_query import assigned, bind_query, finished
from headwater.sql.select.bind_recursion import bind_table
from headwater.sql.select.clause import Clause, Collected
from headwater.sql.select.coerce import assign, require_assignable, resolved_unknown
from headwater.sql.select.explain import explain
from headwater.sql.select.names import narrow, qualify, quote_name, relations_of, rename
from headwater.sql.select.parse_query import parse_query, parse_scalar
from headwater.sql.select.passes.constant_parts import constant_parts
from headwater.sql.select.passes.count_rows import count_rows
from headwater.sql.select.passes.prune_columns import prune_columns
from headwater.sql.select.passes.put_arguments import put_arguments
from headwater.sql.select.passes.total_order import ambiguous, total_order
from headwater.sql.select.plan import (
    Cast,
    ColumnId,
    Constant,
    Expression,
    OutputColumn,
    Project,
    Query,
    Values,
)
from headwater.sql.select.planning import BoundQuery, Planning, Targets, reference
from headwater.sql.select.recursion import deep
from headwater.sql.select.scope import RangeColumn, RangeItem, Scope
from headwater.sql.select.syntax import ValuesBody
from headwater.sql.select.walk import highest_id

__all__ = [
    "ambiguous",
    "before_rows",
    "bind_parameters",
    "cast_output",
    "count_rows",
    "explain",
    "narrow",
    "plan_expression",
    "plan_query",
    "qualify",
    "quote_name",
    "relations_of",
    "rename",
    "total_order",
    "values_width",
]


@deep
def plan_query(
    text: str,
    names: Names,
    facts: SessionFacts,
    parameter_types: tuple[SqlType | None, ...] = (),
    offset: int = 0,
    targets: tuple[Column, ...] | None = None,
) -> Query:
    """Plan one query.

    `offset` is how many characters of the statement stand before the text, for errors.  With
    `targets` the result is meant for those columns (INSERT): literals and parameters take
    their types, DEFAULT in VALUES is the column's own, and the output has exactly their
    names and types, by assignment casts.
    """
    planning = _planning(names, facts, parameter_types)
    wanted = None if targets is None else Targets(targets)
    try:
        bound = bind_query(planning, parse_query(text), Scope(), wanted)
        bound = finished(planning, bound) if wanted is None else assigned(planning, bound, wanted)
        return _query(planning, bound)
    except UserError as error:
        if error.position:
            error.position += offset
        raise


@deep
def values_width(text: str) -> int | None:
    """How many values a row of a VALUES list has; None of any other query."""
    try:
        body = parse_query(text).body
    except UserError:
        return None
    return len(body.rows[0]) if isinstance(body, ValuesBody) and body.rows else None


@deep
def plan_expression(
    text: str,
    names: Names,
    facts: SessionFacts,
    columns: tuple[Column, ...] = (),
    wanted: Column | None = None,
    parameter_types: tuple[SqlType | None, ...] = (),
    offset: int = 0,
) -> Query:
    """Plan one expression over a row of `columns`, as a query of one column and one row of NULLs.

    Used to check a DEFAULT (`wanted` is its column: an assignment cast is applied) and to learn an
    expression's type.
    """
    planning = _planning(names, facts, parameter_types)
    outputs = tuple(planning.column(column.name, column.type) for column in columns)
    seen = RangeItem(None, (), tuple(RangeColumn(c.name, reference(c)) for c in outputs))
    clause = Clause(planning, Scope((seen,)), "DEFAULT expressions", Collected())
    try:
        syntax = parse_scalar(text)
        value = bind(clause, syntax)
        if wanted is None:
            value = resolved_unknown(planning, value)
        else:
            value = assign(planning, value, wanted.type, wanted.name, syntax.at)
    except UserError as error:
        if error.position:
            error.position += offset
        raise
    nulls = Values((tuple(Constant(None, c.type) for c in outputs),), outputs)
    output = planning.column("?column?" if wanted is None else wanted.name, value.type)
    return _query(planning, BoundQuery(Project(nulls, ((output, value),)), (output,)))


@deep
def cast_output(query: Query, targets: tuple[Column, ...]) -> Query:
    """The query with its output cast to columns, as an assignment would."""
    if len(query.output) != len(targets):
        more = (
            "expressions than target columns"
            if len(query.output) > len(targets)
            else "target columns than expressions"
        )
        raise UserError(f"INSERT has more {more}", "42601")
    number = highest_id(query.root)
    made = []
    for column, target in zip(query.output, targets, strict=True):
        number += 1
        require_assignable(column.type, target.type, target.name)
        value: Expression = reference(column)
        if column.type != target.type:
            value = Cast(value, target.type, implicit=True)
        made.append((OutputColumn(ColumnId(number), target.name, target.type, target.nullable), value))
    return replace(query, root=Project(query.root, tuple(made)), output=tuple(column for column, _ in made))


@deep
def bind_parameters(query: Query, arguments: tuple[str | None, ...]) -> Query:
    """The query with arguments, in PostgreSQL's text form, in the places of its parameters."""
    return put_arguments(query, arguments)


@deep
def before_rows(query: Query) -> Query | None:
    """What has to be computable even if no row needs it; None when there is no such part."""
    return constant_parts(query)


def _planning(names: Names, facts: SessionFacts, parameter_types: tuple[SqlType | None, ...]) -> Planning:
    known = {n: type_ for n, type_ in enumerate(parameter_types, 1) if type_ is not None}
    return Planning(names, facts, bind_query, bind_table, known)


def _query(planning: Planning, bound: BoundQuery) -> Query:
    query = Query(
        bound.node,
        bound.columns,
        planning.parameter_types(),
        frozenset(planning.relation_ids),
        planning.uses_mz_now,
    )
    return prune_columns(query)
