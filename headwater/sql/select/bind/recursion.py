"""Binds common tables; one that reads itself becomes a Recursion.

The base alone says what types the columns have, as the step is bound over them.  Only numerics
may turn out wider than the base has them, since here scales are a matter of types: then all of
it is bound once more over numerics of any scale.

Not here: whether the parts read what they may (with_items.py).
"""

from __future__ import annotations

from dataclasses import replace

from headwater.core.errors import InvariantViolation, UserError
from headwater.core.types import TEXT, UNKNOWN, SqlType, format_type, numeric
from headwater.sql.select.bind.coerce import coerce, common_type, same
from headwater.sql.select.bind.group import require_equality
from headwater.sql.select.bind.planning import BoundQuery, Planning
from headwater.sql.select.bind.query import bind_body, cast_leaf, check_unused, values_of, with_scope
from headwater.sql.select.bind.scope import Scope, TableInScope
from headwater.sql.select.bind.with_items import union_of
from headwater.sql.select.parse.syntax import CommonTable, SetBody
from headwater.sql.select.plan.nodes import Constant, FoundRows, OutputColumn, Recursion


def bind_table(planning: Planning, table: TableInScope) -> BoundQuery:
    """A common table where it is read."""
    if table.number is not None:
        return _found_rows(planning, table, table.number)
    scope = replace(table.parent or Scope(), tables=table.tables)
    if not table.recursive:
        return planning.query(planning, table.syntax.query, scope)
    return _recursive(planning, table.syntax, scope)


def _found_rows(planning: Planning, table: TableInScope, number: int) -> BoundQuery:
    pairs = tuple((planning.column(own.name, own.type), own.id) for own in table.columns)
    return BoundQuery(FoundRows(number, table.syntax.name, pairs), tuple(column for column, _ in pairs))


def _recursive(planning: Planning, item: CommonTable, scope: Scope) -> BoundQuery:
    around, union = union_of(item.query)
    if union is None:
        raise InvariantViolation(f"the recursive query {item.name} is no UNION")
    scopes = []
    for query in around:
        scope = with_scope(query, scope)
        scopes.append(scope)
    base = bind_body(planning, union.left, scope, None, keep_unknown=True)
    types = [TEXT if column.type == UNKNOWN else column.type for column in base.columns]
    bound = _bound(planning, item, union, base, types, scope)
    if isinstance(bound, list):
        bound = _bound(planning, item, union, base, bound, scope)
    if isinstance(bound, list):
        raise InvariantViolation(f"numerics of the recursive query {item.name} wider than any")
    for query, inner in zip(around, scopes, strict=True):
        check_unused(planning, query, inner)
    return bound


def _bound(
    planning: Planning,
    item: CommonTable,
    union: SetBody,
    base: BoundQuery,
    types: list[SqlType],
    scope: Scope,
) -> BoundQuery | list[SqlType]:
    """The recursion over columns of these types, or the types that its numerics need instead."""
    columns = _columns(planning, item, base, types)
    planning.recursion_count += 1
    number = planning.recursion_count
    found = TableInScope(item, None, {}, number=number, columns=columns)
    inside = replace(scope, tables={**scope.tables, item.name: found})
    step = bind_body(planning, union.right, inside, None, keep_unknown=True)
    if len(base.columns) != len(step.columns):
        raise UserError(
            "each UNION query must have the same number of columns", "42601", position=union.at + 1
        )
    pairs = list(zip(values_of(base), values_of(step), strict=True))
    overall = [common_type(pair, "UNION", union.at) for pair in pairs]
    for (literal, _), type_ in zip(pairs, overall, strict=True):
        if literal.type == UNKNOWN:
            coerce(planning, literal, type_, union.at)  # one that cannot be read is the first error
    wider = [_fitting(item, *three) for three in zip(range(1, len(types) + 1), types, overall, strict=True)]
    if wider != types:
        return wider
    if not union.all:
        for type_ in types:
            require_equality(Constant(None, type_), union.at)
    base, step = cast_leaf(planning, base, types, union.at), cast_leaf(planning, step, types, union.at)
    node = Recursion(
        number,
        item.name,
        union.all,
        base.node,
        step.node,
        tuple(column.id for column in base.columns),
        tuple(column.id for column in step.columns),
        columns,
    )
    return BoundQuery(node, columns)


def _columns(
    planning: Planning, item: CommonTable, base: BoundQuery, types: list[SqlType]
) -> tuple[OutputColumn, ...]:
    if len(item.columns) > len(types):
        raise UserError(
            f'WITH query "{item.name}" has {len(types)} columns available'
            f" but {len(item.columns)} columns specified",
            "42P10",
            position=item.at + 1,
        )
    names = (*item.columns, *(column.name for column in base.columns[len(item.columns) :]))
    return tuple(planning.column(name, type_) for name, type_ in zip(names, types, strict=True))


def _fitting(item: CommonTable, place: int, type_: SqlType, overall: SqlType) -> SqlType:
    """The type a column is to have, when its base has one and the whole has another."""
    if type_ == overall or _any_scale(type_) == type_ == _any_scale(overall):
        return type_
    if _any_scale(type_) != type_ and same(type_, overall):
        return _any_scale(type_)
    raise UserError(
        f'recursive query "{item.name}" column {place} has type {format_type(_any_scale(type_))}'
        f" in non-recursive term but type {format_type(_any_scale(overall))} overall",
        "42804",
        hint="Cast the output of the non-recursive term to the correct type.",
        position=item.at + 1,
    )


def _any_scale(type_: SqlType) -> SqlType:
    """The type with numerics of any scale in the places of others."""
    if type_.element is not None:
        return replace(type_, element=_any_scale(type_.element))
    return numeric() if type_.kind == "numeric" else type_
