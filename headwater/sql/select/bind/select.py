"""Binds one SELECT: its clauses become nodes, in this order from the bottom up.

    FROM -> Filter (WHERE) -> Aggregate (GROUP BY) -> Filter (HAVING) -> Window
         -> Join with a set-returning function -> Project (the list) -> Distinct -> Sort

As in PostgreSQL, DISTINCT ON with an ORDER BY chooses rows before set-returning functions multiply
them, unless it sorts by what such a function gives.

Not here: set operations, LIMIT, WITH (bind/query.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headwater.core.errors import UserError, not_supported
from headwater.core.types import INT8, UNKNOWN
from headwater.sql.select.bind.clause import Clause, Collected
from headwater.sql.select.bind.coerce import coerce, resolved_unknown
from headwater.sql.select.bind.expression import bind, condition
from headwater.sql.select.bind.from_clause import ONE_ROW, bind_from, reads_found_rows
from headwater.sql.select.bind.group import Grouping, group_expressions, require_equality
from headwater.sql.select.bind.order import Outputs, distinct_on, order_keys
from headwater.sql.select.bind.output_names import output_name
from headwater.sql.select.bind.planning import BoundQuery, Planning, Targets, reference
from headwater.sql.select.bind.scope import Scope, find_item, missing_item
from headwater.sql.select.bind.side_by_side import side_by_side
from headwater.sql.select.parse.syntax import FieldOf, OrderItem, SelectBody, SelectItem, Star, WindowSpec
from headwater.sql.select.plan.nodes import (
    Distinct,
    Expression,
    Filter,
    Join,
    Node,
    OutputColumn,
    Project,
    Sort,
    SortKey,
    Window,
)
from headwater.sql.select.plan.walk import column_ids, rebuild_window


@dataclass(slots=True)
class _Select:
    """A SELECT on its way to becoming nodes."""

    planning: Planning
    body: SelectBody
    clause: Clause
    node: Node


def bind_select(
    planning: Planning,
    body: SelectBody,
    order_by: tuple[OrderItem, ...],
    outer: Scope,
    targets: Targets | None,
    keep_unknown: bool,
) -> BoundQuery:
    """A SELECT with its ORDER BY."""
    source = bind_from(planning, body.from_items, outer)
    scope = Scope(source.items, outer, outer.tables)
    node = source.node
    if body.where is not None:
        where = condition(Clause(planning, scope, "WHERE", Collected()), body.where)
        node = Filter(node, where)
    clause = Clause(
        planning, scope, "SELECT", Collected(), True, True, True, named_windows=_named_windows(body)
    )
    select = _Select(planning, body, clause, node)
    outputs = _outputs(select, targets, keep_unknown and not body.distinct and not order_by)
    keys = order_keys(outputs, order_by, hidden_allowed=not body.distinct or bool(body.distinct_on))
    on = distinct_on(outputs, body.distinct_on, keys) if body.distinct_on else ()
    columns, keys, chosen = _nodes(select, outputs, on, keys)
    if clause.collected.aggregates and reads_found_rows(body.from_items, outer):
        raise UserError(
            "aggregate functions are not allowed in a recursive query's recursive term",
            "42P19",
            position=body.at + 1,
        )
    node = Project(select.node, tuple(columns))
    visible = tuple(column for column, _ in columns[: outputs.visible])
    if body.distinct and not chosen:
        for column, value in columns[: outputs.visible] if not on else ():
            require_equality(value, body.at)
            if column.type.kind == "json":
                raise not_supported("DISTINCT of json", position=body.at + 1)
        node = Distinct(node, on, keys if on else ())
    if keys:
        node = Sort(node, keys)
    return BoundQuery(node, visible)


def _named_windows(body: SelectBody) -> dict[str, WindowSpec]:
    named: dict[str, WindowSpec] = {}
    for name, spec in body.windows:
        if name in named:
            raise UserError(f'window "{name}" is already defined', "42P20", position=spec.at + 1)
        named[name] = spec
    return named


# The list


def _outputs(select: _Select, targets: Targets | None, keep_unknown: bool) -> Outputs:
    planning = select.planning
    columns: list[tuple[OutputColumn, Expression]] = []
    for item in select.body.items:
        for name, value in _expanded(select.clause, item):
            wanted = None if targets is None else targets.type_at(len(columns))
            if value.type == UNKNOWN and wanted is not None:
                value = coerce(planning, value, wanted, item.at)
            elif value.type == UNKNOWN and not keep_unknown:
                value = resolved_unknown(planning, value)
            columns.append((planning.column(name, value.type), value))
    order = replace(select.clause, name="ORDER BY", sets=False)
    return Outputs(planning, columns, len(columns), lambda item: bind(order, item))


def _expanded(clause: Clause, item: SelectItem) -> Iterator[tuple[str, Expression]]:
    """An item of the list with its name; a star is many."""
    expression = item.expression
    if isinstance(expression, Star):
        yield from _star(clause, expression)
    elif isinstance(expression, FieldOf) and expression.field == "*":
        raise not_supported("(record).*", position=item.at + 1)
    else:
        name = item.alias if item.alias is not None else output_name(expression)
        yield name, bind(clause, expression)


def _star(clause: Clause, star: Star) -> Iterator[tuple[str, Expression]]:
    if star.qualifier:
        item = find_item(clause.scope, star.qualifier, star.at)
        if item is None:
            raise missing_item(clause.scope, star.qualifier, star.at)
        columns = item.columns
    else:
        if not clause.scope.items:
            raise UserError("SELECT * with no tables specified is not valid", "42601", position=star.at + 1)
        columns = tuple(clause.scope.visible_columns())
    for column in columns:
        yield column.name, column.value


# Nodes


def _nodes(
    select: _Select, outputs: Outputs, on: tuple[Expression, ...], keys: tuple[SortKey, ...]
) -> tuple[list[tuple[OutputColumn, Expression]], tuple[SortKey, ...], bool]:
    """Puts the nodes below the Project in place.

    Gives the Project's columns, the keys to sort them by, and whether DISTINCT ON has had its turn.
    """
    body, clause = select.body, select.clause
    collected = clause.collected
    columns = outputs.columns
    group_clause = Clause(select.planning, clause.scope, "GROUP BY", collected)
    named = [(column.name, value) for column, value in columns[: outputs.visible]]
    sets = group_expressions(group_clause, body.group_by, named, body.groups_distinct)
    having = None
    if body.having is not None:
        having_clause = replace(clause, name="HAVING", windows=False, sets=False)
        having = condition(having_clause, body.having)
    made = {column.id for function in collected.sets for column in function.columns}
    if any(column_ids(group) & made for groups in sets for group in groups):
        # Grouping by a set-returning function's values: they come before the groups.
        _add_sets(select)
    if collected.aggregates or collected.groupings or having is not None or body.group_by:
        columns = _grouped(select, sets, columns, having)
    if collected.windows:
        select.node = Window(select.node, tuple(collected.windows))
    early = _choose_rows(select, columns, on, keys) if collected.sets else None
    if early is not None:
        columns, keys = [*columns, early], (*keys, SortKey(reference(early[0]), False, False))
    _add_sets(select)
    return columns, keys, early is not None


def _choose_rows(
    select: _Select,
    columns: list[tuple[OutputColumn, Expression]],
    on: tuple[Expression, ...],
    keys: tuple[SortKey, ...],
) -> tuple[OutputColumn, Expression] | None:
    """DISTINCT ON below the set-returning functions, if it comes first.

    Then gives a column that keeps their rows in order.
    """
    functions = select.clause.collected.sets
    values: dict[Expression, Expression] = {reference(column): value for column, value in columns}
    wanted = {values[expression] for expression in (*on, *(key.expression for key in keys))}
    made = {column.id for function in functions for column in function.columns}
    if not on or not keys or any(column_ids(value) & made for value in wanted):
        return None
    by = tuple(replace(key, expression=values[key.expression]) for key in keys)
    select.node = Distinct(select.node, tuple(values[value] for value in on), by)
    place = select.planning.column("ordinality", INT8)
    function = functions[0] if len(functions) == 1 else side_by_side(functions)
    select.clause.collected.sets = [replace(function, ordinality=place.id)]
    return select.planning.column("order", INT8), reference(place)


def _add_sets(select: _Select) -> None:
    """Every row meets each row of the set-returning functions, which go side by side."""
    functions = select.clause.collected.sets
    select.clause.collected.sets = []
    if not functions:
        return
    function = functions[0] if len(functions) == 1 else side_by_side(functions)
    select.node = (
        function if select.node == ONE_ROW else Join("cross", select.node, function, None, lateral=True)
    )


def _grouped(
    select: _Select,
    sets: list[list[Expression]],
    columns: list[tuple[OutputColumn, Expression]],
    having: Expression | None,
) -> list[tuple[OutputColumn, Expression]]:
    """Rewrites everything above GROUP BY in terms of its groups, then adds the node."""
    collected, body = select.clause.collected, select.body
    grouping = Grouping(select.planning, select.clause.scope, sets)
    items = [item.at for item in body.items]
    places = items + [body.at] * (len(columns) - len(items))
    rewritten = [
        (column, grouping.rewritten(value, at)) for (column, value), at in zip(columns, places, strict=False)
    ]
    if having is not None and body.having is not None:
        having = grouping.rewritten(having, body.having.at)

    def each(value: Expression) -> Expression:
        return grouping.rewritten(value, body.at)

    collected.windows = [(column, rebuild_window(call, each)) for column, call in collected.windows]
    collected.sets = [
        replace(function, arguments=tuple(map(each, function.arguments))) for function in collected.sets
    ]
    select.node = grouping.node(select.node, collected.aggregates)
    if having is not None:
        select.node = Filter(select.node, having)
    return rewritten
