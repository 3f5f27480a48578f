"""Binds FROM: relations, views, common tables, queries, functions and joins become nodes and scopes.

Items are bound from left to right.  What LATERAL (and every function) may see is the scope of
the items on its left; if it really uses them, the join that adds it is a lateral one.

Not here: the rest of a SELECT (bind/select.py), names in a scope (scope.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.core.errors import UserError, not_supported
from headwater.core.limits import EXPRESSION_DEPTH_MAX, JOINED_RELATIONS_MAX
from headwater.core.names import NamedRelation
from headwater.core.quoting import quoted
from headwater.core.types import INT8
from headwater.sql.select.bind import operator as operators
from headwater.sql.select.bind.clause import Clause, Collected
from headwater.sql.select.bind.coerce import coerce, common_type
from headwater.sql.select.bind.expression import bind, condition
from headwater.sql.select.bind.function import function_name, table_call
from headwater.sql.select.bind.planning import BoundQuery, Planning, reference
from headwater.sql.select.bind.scope import RangeColumn, RangeItem, Scope, TableInScope
from headwater.sql.select.parse.query import parse_query
from headwater.sql.select.parse.syntax import (
    Alias,
    DerivedTable,
    FromItem,
    FunctionCall,
    FunctionTable,
    JoinedTable,
    ShownTable,
    TableName,
)
from headwater.sql.select.plan.nodes import (
    Call,
    Constant,
    Expression,
    Filter,
    Join,
    Node,
    OutputColumn,
    Project,
    Scan,
    TableFunction,
    Values,
)
from headwater.sql.select.plan.walk import node_column_ids, output_columns


@dataclass(frozen=True, slots=True)
class BoundFrom:
    """A node and the items by which its columns are seen."""

    node: Node
    items: tuple[RangeItem, ...]


ONE_ROW = Values(((),), ())
"""SELECT without FROM."""


def bind_from(planning: Planning, items: tuple[FromItem, ...], outer: Scope) -> BoundFrom:
    """All items of a FROM; a comma is a cross join."""
    if not items:
        return BoundFrom(ONE_ROW, ())
    whole = _bind_item(planning, items[0], (), outer)
    for item in items[1:]:
        right = _bind_item(planning, item, whole.items, outer)
        _check_names(whole.items, right.items, item.at)
        node = _joined(whole.node, right.node, "cross", None)
        whole = BoundFrom(node, whole.items + right.items)
    return whole


def _joined(left: Node, right: Node, kind: str, on: Expression | None) -> Join:
    """A join, lateral when the right side uses columns of the left one."""
    if _relation_count(left) + _relation_count(right) > JOINED_RELATIONS_MAX:
        raise UserError(
            f"a join of more than {JOINED_RELATIONS_MAX} relations is too large",
            "54001",
            detail="Views count as the relations that they join.",
            hint="CREATE TABLE for what a part of them gives, INSERT INTO it .. SELECT, and join that.",
        )
    ids = {column.id for column in output_columns(left)}
    lateral = bool(ids & node_column_ids(right))
    return Join(kind, left, right, on, lateral)  # type: ignore[arg-type]


def _relation_count(node: Node) -> int:
    """How many stand side by side in a join; what is grouped, sorted or limited first stands for itself."""
    match node:
        case Join():
            return _relation_count(node.left) + _relation_count(node.right)
        case Filter() | Project():
            return _relation_count(node.input)
        case _:
            return 1


def _check_names(left: tuple[RangeItem, ...], right: tuple[RangeItem, ...], at: int) -> None:
    taken = {(item.alias, item.path) for item in left if item.alias is not None}
    names = {item.alias for item in left if item.alias is not None}
    for item in right:
        if item.alias is None or item.alias not in names:
            continue
        # The same table name from two schemas may stand side by side.
        if not item.path or (item.alias, item.path) in taken or item.path[-1] != item.alias:
            raise UserError(f'table name "{item.alias}" specified more than once', "42712", position=at + 1)


def _bind_item(planning: Planning, item: FromItem, left: tuple[RangeItem, ...], outer: Scope) -> BoundFrom:
    match item:
        case TableName():
            return _table(planning, item, outer)
        case DerivedTable():
            inner = Scope(left, outer, outer.tables) if item.lateral else outer
            return _named(planning.query(planning, item.query, inner), item.alias)
        case ShownTable():
            return _shown(planning, item)
        case FunctionTable():
            return _function(planning, item, Scope(left, outer, outer.tables))
        case JoinedTable():
            return _join(planning, item, left, outer)


def _named(bound: BoundQuery, alias: Alias | None) -> BoundFrom:
    """A query under an alias."""
    name = alias.name if alias is not None else None
    item = RangeItem(name, (), tuple(RangeColumn(c.name, reference(c)) for c in bound.columns))
    return BoundFrom(bound.node, (_renamed(item, alias),))


def _renamed(item: RangeItem, alias: Alias | None) -> RangeItem:
    """The item with an alias' column names."""
    if alias is None:
        return item
    if len(alias.columns) > len(item.columns):
        raise UserError(
            f'table "{alias.name}" has {len(item.columns)} columns available'
            f" but {len(alias.columns)} columns specified",
            "42P10",
        )
    renamed = tuple(
        RangeColumn(name, column.value) for name, column in zip(alias.columns, item.columns, strict=False)
    )
    return replace(item, alias=alias.name, columns=renamed + item.columns[len(renamed) :])


# Relations


def _table(planning: Planning, item: TableName, outer: Scope) -> BoundFrom:
    if len(item.parts) == 1 and item.parts[0] in outer.tables:
        return _common_table(planning, outer.tables[item.parts[0]], item)
    try:
        found = _readable(planning.names.find_relation(item.parts))
    except UserError as error:
        error.position = error.position or item.at + 1
        raise
    full = tuple(part for part in (found.database, found.schema, found.name) if part is not None)
    if not planning.view_depth:
        planning.named_ids.add(found.id)
    if found.definition is not None:
        bound = _view(planning, found)
        planning.view_ids.add(found.id)
        columns = tuple(
            RangeColumn(column.name, reference(output))
            for column, output in zip(found.relation.columns, bound.columns, strict=True)
        )
        node = bound.node
    else:
        outputs = tuple(planning.column(c.name, c.type, c.nullable) for c in found.relation.columns)
        planning.relation_ids.add(found.id)
        node = Scan(found.id, ".".join(full), outputs)
        columns = tuple(RangeColumn(c.name, reference(c)) for c in outputs)
    key = found.relation.keys[0] if found.relation.keys and found.definition is None else ()
    oid = planning.names.regclass(".".join(quoted(part) for part in full))
    bound_item = RangeItem(found.name, full, columns, key=key, oid=oid)
    return BoundFrom(node, (_renamed(bound_item, item.alias),))


def _readable(found: NamedRelation) -> NamedRelation:
    if found.kind == "source" and not found.relation.columns:
        raise UserError(
            f'source "{found.name}" has no rows of its own',
            "42809",
            hint=f"Its subsources have: SHOW SUBSOURCES ON {found.name} lists them, and its progress.",
        )
    return found


def _shown(planning: Planning, item: ShownTable) -> BoundFrom:
    """A SHOW is the query behind it."""
    if planning.facts.show is None:
        raise not_supported("SHOW in FROM", position=item.at + 1)
    try:
        text = planning.facts.show(item.text)
    except UserError as error:
        error.position = error.position + item.at if error.position else item.at + 1
        raise
    return _named(planning.query(planning, parse_query(text), Scope()), item.alias)


def _view(planning: Planning, found: NamedRelation) -> BoundQuery:
    """A view is its query, bound anew; places inside it mean nothing to the user."""
    if planning.view_depth >= EXPRESSION_DEPTH_MAX // 4:
        raise UserError(f'view "{found.name}" is nested too deeply', "54001")
    planning.view_depth += 1
    try:
        bound = planning.query(planning, parse_query(found.definition or ""), Scope())
    except UserError as error:
        error.position = 0
        raise
    planning.view_depth -= 1
    if len(bound.columns) != len(found.relation.columns):
        raise UserError(f'view "{found.name}" no longer has the columns it was created with', "XX000")
    return bound


def _common_table(planning: Planning, table: TableInScope, item: TableName) -> BoundFrom:
    planning.tables_bound.add(table.syntax)
    named = _named(planning.table(planning, table), Alias(table.syntax.name, table.syntax.columns))
    return BoundFrom(named.node, (_renamed(named.items[0], item.alias),))


def reads_found_rows(items: tuple[FromItem, ...], outer: Scope) -> bool:
    """Whether the rows of a recursion, in its own step, are among these items."""
    for item in items:
        if isinstance(item, JoinedTable):
            if reads_found_rows((item.left, item.right), outer):
                return True
        elif isinstance(item, TableName) and len(item.parts) == 1:
            table = outer.tables.get(item.parts[0])
            if table is not None and table.number is not None:
                return True
    return False


# Functions


def _function(planning: Planning, item: FunctionTable, scope: Scope) -> BoundFrom:
    clause = Clause(planning, scope, "functions in FROM", Collected())
    call = item.call
    node: TableFunction | Values | None = None
    name = "?column?"
    if isinstance(call, FunctionCall):
        name = function_name(call)
        if (
            call.over is not None
            or call.filter is not None
            or call.distinct
            or call.order_by
            or call.variadic
        ):
            raise not_supported(f"{name} with these words in FROM", position=item.at + 1)
        if not call.keyword:
            arguments = tuple(bind(clause, argument) for argument in call.arguments)
            node = table_call(clause, name, arguments, call.at)
    if node is None:
        value = bind(clause, call)
        node = Values(((value,),), (planning.column(name, value.type),))
    named_by_function = len(node.columns) == 1 and node.columns[0].name == name
    columns = node.columns
    if item.alias is not None and named_by_function:
        columns = (replace(columns[0], name=item.alias.name),)
        node = replace(node, columns=columns)
    if item.ordinality:
        node, columns = _with_ordinality(planning, node)
    seen = RangeItem(
        item.alias.name if item.alias is not None else name,
        (),
        tuple(RangeColumn(c.name, reference(c)) for c in columns),
        scalar=len(columns) == 1,
    )
    return BoundFrom(node, (_renamed(seen, item.alias),))


def _with_ordinality(
    planning: Planning, node: TableFunction | Values
) -> tuple[TableFunction | Values, tuple[OutputColumn, ...]]:
    column = planning.column("ordinality", INT8)
    if isinstance(node, TableFunction):
        return replace(node, ordinality=column.id), (*node.columns, column)
    rows = tuple((*row, Constant("1", INT8)) for row in node.rows)
    return Values(rows, (*node.columns, column)), (*node.columns, column)


# Joins


def _join(planning: Planning, item: JoinedTable, left: tuple[RangeItem, ...], outer: Scope) -> BoundFrom:
    first = _bind_item(planning, item.left, left, outer)
    second = _bind_item(planning, item.right, left + first.items, outer)
    _check_names(first.items, second.items, item.at)
    using = _common_names(first, second) if item.natural else item.using
    items = first.items + second.items
    on: Expression | None = None
    if using is not None:
        on, items = _using(planning, item, first, second, using)
    elif item.condition is not None:
        clause = Clause(planning, Scope(items, outer, outer.tables), "JOIN conditions", Collected())
        on = condition(clause, item.condition)
    kind = item.kind
    if on is None:
        kind = "cross" if kind == "inner" else kind
        on = None if kind == "cross" else operators.conjunction(())
    node = _joined(first.node, second.node, kind, on)
    if node.lateral and kind in ("right", "full"):
        raise UserError(
            "invalid reference to FROM-clause entry",
            "42P10",
            detail="The combining JOIN type must be INNER or LEFT for a LATERAL reference.",
            position=item.at + 1,
        )
    if item.alias is not None:
        merged = tuple(column for seen in items if seen.columns_visible for column in seen.columns)
        items = (_renamed(RangeItem(item.alias.name, (), merged), item.alias),)
    return BoundFrom(node, items)


def _visible(bound: BoundFrom) -> list[RangeColumn]:
    return [column for item in bound.items if item.columns_visible for column in item.columns]


def _common_names(first: BoundFrom, second: BoundFrom) -> tuple[str, ...]:
    right = {column.name for column in _visible(second)}
    return tuple(dict.fromkeys(column.name for column in _visible(first) if column.name in right))


def _using(
    planning: Planning, item: JoinedTable, first: BoundFrom, second: BoundFrom, names: tuple[str, ...]
) -> tuple[Expression | None, tuple[RangeItem, ...]]:
    """The condition, and items in which the merged columns come first."""
    if not names:
        return None, first.items + second.items
    terms: list[Expression] = []
    merged: list[RangeColumn] = []
    for name in names:
        left = _one_named(first, name, "left", item.at)
        right = _one_named(second, name, "right", item.at)
        terms.append(operators.equal(planning, left, right, item.at))
        merged.append(RangeColumn(name, _merged(planning, item, left, right)))
    rest = [column for column in (*_visible(first), *_visible(second)) if column.name not in names]
    hidden = tuple(replace(seen, columns_visible=False) for seen in first.items + second.items)
    joined = RangeItem(None, (), (*merged, *rest))
    return operators.conjunction(terms), (*hidden, joined)


def _one_named(bound: BoundFrom, name: str, side: str, at: int) -> Expression:
    found = [column for column in _visible(bound) if column.name == name]
    if not found:
        raise UserError(
            f'column "{name}" specified in USING clause does not exist in {side} table',
            "42703",
            position=at + 1,
        )
    if len(found) > 1:
        raise UserError(
            f'common column name "{name}" appears more than once in {side} table', "42702", position=at + 1
        )
    return found[0].value


def _merged(planning: Planning, item: JoinedTable, left: Expression, right: Expression) -> Expression:
    target = common_type((left, right), "JOIN/USING", item.at)
    left, right = coerce(planning, left, target, item.at), coerce(planning, right, target, item.at)
    if item.kind == "full":
        merged = operators.scalar(planning, "coalesce", (left, right), item.at)
        return replace(merged, type=target) if isinstance(merged, Call) else merged
    return right if item.kind == "right" else left
