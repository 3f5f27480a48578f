"""SELECT: from a query's text to a typed plan, and from the plan to an engine's SQL.

    text --parse--> syntax --bind--> plan --passes--> plan --generate--> DuckDB's or Spark's SQL

    parse/      PostgreSQL's grammar; every piece of syntax knows its place
    bind/       names, what may stand where, casts, overloads: syntax and catalog to plan
    plan/       the plan itself, and how to walk, compare and show one
    passes/     rewrites of it
    generate/   DuckDB's and Spark's SQL, with the same modules for both
    functions/  every function there is, and how each engine spells it
    kernels/    what neither engine computes as PostgreSQL does, over Arrow columns

Binding is pure: it asks the catalog through `Names` and nothing else.  Whatever is not in the
grammar, the function table or the plan is an error here, so no text of a user ever reaches
an engine.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.errors import UserError
from headwater.core.names import Names, SessionFacts
from headwater.core.relation import Column
from headwater.core.types import BOOL, SqlType
from headwater.sql.select.bind.clause import Clause, Collected
from headwater.sql.select.bind.coerce import assign, require_assignable, resolved_unknown
from headwater.sql.select.bind.expression import bind
from headwater.sql.select.bind.planning import BoundQuery, Planning, Targets, reference
from headwater.sql.select.bind.query import assigned, bind_query, finished
from headwater.sql.select.bind.recursion import bind_table
from headwater.sql.select.bind.scope import RangeColumn, RangeItem, Scope
from headwater.sql.select.depth import deep
from headwater.sql.select.parse.names import narrow, qualify, quote_name, relations_of, rename
from headwater.sql.select.parse.query import parse_query, parse_scalar
from headwater.sql.select.parse.syntax import ValuesBody
from headwater.sql.select.passes import after_binding
from headwater.sql.select.passes.constant_parts import constant_parts
from headwater.sql.select.passes.count_rows import count_rows
from headwater.sql.select.passes.put_arguments import put_arguments
from headwater.sql.select.passes.session_zone import session_zone
from headwater.sql.select.passes.take_actions import Action, take_actions
from headwater.sql.select.passes.total_order import ambiguous, total_order
from headwater.sql.select.plan.explain import explain
from headwater.sql.select.plan.nodes import (
    Cast,
    ColumnId,
    Constant,
    Expression,
    OutputColumn,
    Project,
    Query,
    Scan,
    Values,
)
from headwater.sql.select.plan.pinning import pin_moments
from headwater.sql.select.plan.sameness import picked_columns, same_meaning, used_columns
from headwater.sql.select.plan.walk import highest_id

__all__ = [
    "Action",
    "ambiguous",
    "before_rows",
    "bind_parameters",
    "cast_output",
    "count_rows",
    "explain",
    "narrow",
    "picked_columns",
    "pin_moments",
    "plan_condition",
    "plan_expression",
    "plan_query",
    "qualify",
    "quote_name",
    "relations_of",
    "rename",
    "same_meaning",
    "take_actions",
    "total_order",
    "used_columns",
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
def plan_condition(
    text: str,
    names: Names,
    facts: SessionFacts,
    relation_id: str,
    columns: tuple[Column, ...],
    number: Column,
    offset: int = 0,
) -> Query:
    """Plan a condition over the rows of a relation: a query of each row's `number` and whether it holds.

    The relation has these columns, which the condition may name, and the number, which it may not.
    """
    planning = _planning(names, facts, ())
    outputs = tuple(planning.column(column.name, column.type) for column in columns)
    seen = RangeItem(None, (), tuple(RangeColumn(c.name, reference(c)) for c in outputs))
    clause = Clause(planning, Scope((seen,)), "CHECK expressions", Collected())
    try:
        syntax = parse_scalar(text)
        value = assign(planning, bind(clause, syntax), BOOL, "CHECK", syntax.at)
    except UserError as error:
        if error.position:
            error.position += offset
        raise
    planning.relation_ids.add(relation_id)
    row = planning.column(number.name, number.type)
    shown, holds = planning.column(number.name, number.type), planning.column("holds", BOOL)
    made = Project(Scan(relation_id, relation_id, (*outputs, row)), ((shown, reference(row)), (holds, value)))
    return _query(planning, BoundQuery(made, (shown, holds)))


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
    whole = replace(query, root=Project(query.root, tuple(made)), output=tuple(column for column, _ in made))
    return session_zone(whole)


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
        frozenset(planning.view_ids),
        frozenset(planning.named_ids),
        zone=planning.facts.zone,
        moments=tuple(planning.moments),
    )
    return after_binding(query)
