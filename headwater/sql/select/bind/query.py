"""Binds whole queries: WITH, set operations, VALUES, ORDER BY and LIMIT over any of them.

Not here: one SELECT (bind/select.py), the public functions (__init__.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headwater.core.errors import UserError
from headwater.core.limits import LITERAL_ROWS_MIN
from headwater.core.types import INT8, UNKNOWN, SqlType
from headwater.sql.select.bind.clause import Clause, Collected
from headwater.sql.select.bind.coerce import assign, castable, coerce, common_type, resolved_unknown, unified
from headwater.sql.select.bind.expression import bind
from headwater.sql.select.bind.group import require_equality
from headwater.sql.select.bind.order import output_keys
from headwater.sql.select.bind.planning import BoundQuery, Planning, Targets, reference
from headwater.sql.select.bind.scope import Scope, TableInScope
from headwater.sql.select.bind.select import bind_select
from headwater.sql.select.bind.types_by_name import type_name
from headwater.sql.select.bind.with_items import in_order
from headwater.sql.select.parse.query import parse_scalar
from headwater.sql.select.parse.syntax import (
    Body,
    QuerySyntax,
    SelectBody,
    SetBody,
    String,
    Syntax,
    ValuesBody,
    Word,
)
from headwater.sql.select.plan.literals import constants
from headwater.sql.select.plan.nodes import (
    ColumnRef,
    Constant,
    Expression,
    Limit,
    Node,
    Project,
    SetOperation,
    Sort,
    Values,
)
from headwater.sql.select.plan.walk import free_column_ids, literal_rows


def bind_query(
    planning: Planning,
    query: QuerySyntax,
    outer: Scope,
    targets: Targets | None = None,
    keep_unknown: bool = False,
) -> BoundQuery:
    """A query inside `outer`.  With targets, literals and parameters take their columns' types."""
    scope = with_scope(query, outer)
    body = query.body
    bare = query.limit is None and query.offset is None
    if isinstance(body, SelectBody):
        bound = bind_select(planning, body, query.order_by, scope, targets, keep_unknown and bare)
    else:
        bound = bind_body(planning, body, scope, targets, keep_unknown and bare and not query.order_by)
        if query.order_by:
            what = "UNION/INTERSECT/EXCEPT" if isinstance(body, SetBody) else "VALUES"
            keys = output_keys(planning, bound.columns, query.order_by, what)
            bound = BoundQuery(Sort(bound.node, keys), bound.columns)
    check_unused(planning, query, scope)
    return bound if bare else BoundQuery(_limit(planning, query, bound.node, scope), bound.columns)


def with_scope(query: QuerySyntax, outer: Scope) -> Scope:
    """The scope with the common tables; each sees those before it, or of WITH RECURSIVE all."""
    tables = dict(outer.tables)
    names: set[str] = set()
    for item in query.with_items:
        if item.name in names:
            raise UserError(
                f'WITH query name "{item.name}" specified more than once', "42712", position=item.at + 1
            )
        names.add(item.name)
    for item, recursive in in_order(query.with_items):
        tables[item.name] = TableInScope(item, outer, dict(tables), recursive)
    return replace(outer, tables=tables) if query.with_items else outer


def check_unused(planning: Planning, query: QuerySyntax, scope: Scope) -> None:
    """A common table that nobody reads must still be a query that could be run."""
    for item in query.with_items:
        if item not in planning.tables_bound:
            read = set(planning.relation_ids)
            planning.table(planning, scope.tables[item.name])
            planning.relation_ids = read


def bind_body(
    planning: Planning, body: Body, scope: Scope, targets: Targets | None, keep_unknown: bool
) -> BoundQuery:
    """A query without its WITH, ORDER BY and LIMIT."""
    match body:
        case SelectBody():
            return bind_select(planning, body, (), scope, targets, keep_unknown)
        case ValuesBody():
            return _values(planning, body, scope, targets)
        case SetBody():
            return _set_operation(planning, body, scope, targets)
        case QuerySyntax():
            return bind_query(planning, body, scope, targets, keep_unknown)


def _limit(planning: Planning, query: QuerySyntax, node: Node, scope: Scope) -> Node:
    count = None if query.limit is None else _bound_count(planning, query.limit, scope, "LIMIT", "2201W")
    offset = None if query.offset is None else _bound_count(planning, query.offset, scope, "OFFSET", "2201X")
    return Limit(node, count, offset)


def _bound_count(
    planning: Planning, syntax: Syntax, scope: Scope, what: str, sqlstate: str
) -> Expression | None:
    value = bind(Clause(planning, Scope((), scope, scope.tables), what, Collected()), syntax)
    if free_column_ids(value):
        raise UserError(f"argument of {what} must not contain variables", "42P10", position=syntax.at + 1)
    if not castable(value.type, INT8, "assignment"):
        raise UserError(
            f"argument of {what} must be type bigint, not type {type_name(value.type)}",
            "42804",
            position=syntax.at + 1,
        )
    value = coerce(planning, value, INT8, syntax.at)
    if isinstance(value, Constant):
        if value.value is None:
            return None
        if int(value.value) < 0:
            raise UserError(f"{what} must not be negative", sqlstate, position=syntax.at + 1)
    return value


# VALUES


def _values(planning: Planning, body: ValuesBody, scope: Scope, targets: Targets | None) -> BoundQuery:
    clause = Clause(planning, Scope((), scope, scope.tables), "VALUES", Collected())
    if targets is not None:
        read = _strings_read(body, targets, planning.facts.zone)
        rows = [
            [
                (read[place].get(item.text) if isinstance(item, String) and place < len(read) else None)
                or _assigned(clause, item, targets, place)
                for place, item in enumerate(row)
            ]
            for row in body.rows
        ]
    else:
        bound = [[bind(clause, item) for item in row] for row in body.rows]
        columns = [
            unified(planning, [row[i] for row in bound], "VALUES", body.at) for i in range(len(bound[0]))
        ]
        rows = [[column[i] for column in columns] for i in range(len(bound))]
    outputs = tuple(planning.column(f"column{i}", value.type) for i, value in enumerate(rows[0], 1))
    literal = literal_rows(rows, outputs)
    return BoundQuery(Values(tuple(tuple(row) for row in rows), outputs, literal), outputs)


def _strings_read(body: ValuesBody, targets: Targets, zone: str) -> list[dict[str, Constant]]:
    """Of many rows: the strings of each column as constants of its type, all of a column at once."""
    if len(body.rows) < LITERAL_ROWS_MIN:
        return []
    read: list[dict[str, Constant]] = []
    for place, column in enumerate(targets.columns[: len(body.rows[0])]):
        texts = {item.text for row in body.rows if isinstance(item := row[place], String)}
        read.append(constants(texts, column.type, zone))
    return read


def _assigned(clause: Clause, item: Syntax, targets: Targets, place: int) -> Expression:
    """A value of INSERT ... VALUES as one of its column's type; DEFAULT is the column's own."""
    if place >= len(targets.columns):
        raise UserError("INSERT has more expressions than target columns", "42601", position=item.at + 1)
    column = targets.columns[place]
    if isinstance(item, Word) and item.word == "default":
        item = Word("null", item.at) if column.default is None else parse_scalar(column.default)
    return assign(clause.planning, bind(clause, item), column.type, column.name, item.at)


# Set operations


def _set_operation(planning: Planning, body: SetBody, scope: Scope, targets: Targets | None) -> BoundQuery:
    word = body.operator.upper()
    left = bind_body(planning, body.left, scope, targets, keep_unknown=True)
    right = bind_body(planning, body.right, scope, targets, keep_unknown=True)
    if len(left.columns) != len(right.columns):
        raise UserError(
            f"each {word} query must have the same number of columns", "42601", position=body.at + 1
        )
    pairs = list(zip(values_of(left), values_of(right), strict=True))
    types = [common_type(pair, word, body.at) for pair in pairs]
    if not (body.operator == "union" and body.all):
        for type_ in types:
            require_equality(Constant(None, type_), body.at)
    left, right = cast_leaf(planning, left, types, body.at), cast_leaf(planning, right, types, body.at)
    columns = tuple(
        planning.column(column.name, type_) for column, type_ in zip(left.columns, types, strict=True)
    )
    node = SetOperation(
        body.operator,
        body.all,
        left.node,
        right.node,
        tuple(column.id for column in left.columns),
        tuple(column.id for column in right.columns),
        columns,
    )
    return BoundQuery(node, columns)


def values_of(bound: BoundQuery) -> list[Expression]:
    """What the columns are made of, where that is at hand: literals have no type yet."""
    if isinstance(bound.node, Project):
        made = {column.id: value for column, value in bound.node.columns}
        return [made[column.id] for column in bound.columns]
    return [reference(column) for column in bound.columns]


def cast_leaf(planning: Planning, bound: BoundQuery, types: Sequence[SqlType], at: int) -> BoundQuery:
    """One side with its columns in the common types."""
    if all(column.type == type_ for column, type_ in zip(bound.columns, types, strict=True)):
        return bound
    direct = isinstance(bound.node, Project)
    values = values_of(bound)
    columns = tuple(
        (planning.column(column.name, type_), coerce(planning, value, type_, at))
        for column, value, type_ in zip(bound.columns, values, types, strict=True)
    )
    node = Project(bound.node.input if isinstance(bound.node, Project) and direct else bound.node, columns)
    return BoundQuery(node, tuple(column for column, _ in columns))


# The whole result


def finished(planning: Planning, bound: BoundQuery) -> BoundQuery:
    """A result in which nothing is of unknown type."""
    if all(column.type != UNKNOWN for column in bound.columns):
        return bound
    columns = tuple(
        (planning.column(column.name, value.type), value)
        for column in bound.columns
        for value in (resolved_unknown(planning, reference(column)),)
    )
    return BoundQuery(Project(bound.node, columns), tuple(column for column, _ in columns))


def assigned(planning: Planning, bound: BoundQuery, targets: Targets) -> BoundQuery:
    """A result cast to the columns it is meant for; missing columns at the end are an error of the caller."""
    if len(bound.columns) > len(targets.columns):
        raise UserError("INSERT has more expressions than target columns", "42601")
    if len(bound.columns) < len(targets.columns):
        raise UserError("INSERT has more target columns than expressions", "42601")
    values: list[Expression] = [
        assign(planning, reference(column), target.type, target.name, -1)
        for column, target in zip(bound.columns, targets.columns, strict=True)
    ]
    if all(isinstance(value, ColumnRef) for value in values):
        columns = tuple(
            replace(column, name=target.name)
            for column, target in zip(bound.columns, targets.columns, strict=True)
        )
        return BoundQuery(bound.node, columns)
    made = tuple(
        (planning.column(target.name, value.type), value)
        for target, value in zip(targets.columns, values, strict=True)
    )
    return BoundQuery(Project(bound.node, made), tuple(column for column, _ in made))
