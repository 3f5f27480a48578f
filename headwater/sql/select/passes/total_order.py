"""Takes chance out of a plan: its result depends on the rows it reads, and on nothing else.

Which rows a LIMIT keeps, what row_number() gives to equal rows, in which order array_agg() meets
them, how a sum of floats is rounded: SQL leaves all that open, and engines answer by the order in
which rows happen to come, which is another one in other files.  A SELECT may do so.  Who compares
two results, as SUBSCRIBE does, may not: changes must fit what was said before.

    LIMIT, DISTINCT ON, ROWS frames      ties are broken by all columns of the input
    row_number, ntile, lag, lead         so they are
    first_value, last_value, nth_value   so they are; over peers in a list of the frame
    array_agg, string_agg, jsonb_agg     in the order of their arguments where none is given
    statistics of floats                 in that order too; sum and avg are exact
    GROUP BY, DISTINCT, UNION, min, ..   of values that are equal but not the same, one is preferred

Where a query has no ORDER BY but reads one that has (`FROM (SELECT .. ORDER BY x)`), that order
comes first, as people expect it.  Breaking ties must tell apart whatever a client could: -0 from
0, '1 month' from '30 days'; so rows that are still tied are interchangeable.  The order is the same
on both engines.

Not here: comparing results (coordinator/hubs.py), counting rows (count_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import BOOL, FACTS, FLOATS, INT2VECTOR, INT8, TEXT, SqlType
from headwater.sql.select.bind.planning import reference
from headwater.sql.select.depth import deep
from headwater.sql.select.functions import FUNCTIONS, sort_key
from headwater.sql.select.functions import exact as fn
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.functions.forms import DUCKDB, SPARK
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    Call,
    Cast,
    ColumnId,
    Distinct,
    Expression,
    Filter,
    Limit,
    Node,
    OutputColumn,
    Project,
    Query,
    Recursion,
    SetOperation,
    Sort,
    SortKey,
    Subquery,
    Values,
    Window,
    WindowCall,
    WindowFrame,
)
from headwater.sql.select.plan.walk import (
    column_ids,
    highest_id,
    output_columns,
    rebuild_expression,
    rebuild_node,
    rewrite,
)

Keys = tuple[SortKey, ...]

_LISTS: Final = frozenset(("array_agg", "list_agg", "string_agg", "jsonb_agg", "jsonb_object_agg"))
_PEERS: Final = frozenset(("rank", "dense_rank", "percent_rank", "cume_dist"))
_NUMBERED: Final = frozenset(("row_number", "ntile", "lag", "lead"))
_COMPOUND: Final = ("record", INT2VECTOR.kind)
_OF_CHANCE: Final = ("gen_random_uuid",)
_WHOLE: Final = WindowFrame("rows", ("unbounded preceding", None), ("unbounded following", None))
_SO_FAR: Final = WindowFrame("rows", ("unbounded preceding", None), ("current row", None))
_NUMBER: Final = OutputColumn(ColumnId(0), "number", INT8)
_STILL: Final = WindowFrame("rows", ("current row", None), ("unbounded following", None))


@deep
def total_order(query: Query) -> Query:
    """The query with one possible result for given rows; constants have that anyway."""
    _refuse_chance(query.root)
    if not query.relation_ids:
        return query
    return replace(query, root=_Pass(highest_id(query.root)).node(query.root))


def _refuse_chance(root: Node) -> None:
    """What gives another value each time cannot be compared."""

    def look(expression: Expression) -> None:
        if isinstance(expression, Call) and expression.function.name in _OF_CHANCE:
            raise not_supported(f"{expression.function.name} in a query that is subscribed to")

    rewrite(root, look)


# Telling values apart


def ambiguous(type_: SqlType) -> bool:
    """Whether values of a type may be equal without being the same."""
    if type_.element is not None:
        return ambiguous(type_.element)
    if FACTS[type_.kind].compared in ("as float", "as interval", "as char"):
        return True
    return any(ambiguous(part) for _, part in type_.fields)


def spelling(value: Expression) -> Keys:
    """Sort keys that only values which are the same have in common; in either engine alike."""
    if not column_ids(value):
        return ()
    parts: tuple[Expression, ...] = (value,)
    match FACTS[value.type.kind].compared:
        case "as float":
            return (_ascending(value), SortKey(_call(fn.NEGATIVE_ZERO, BOOL, value), True, False))
        case "as interval":
            parts = tuple(_call(part, INT8, value) for part in (fn.MONTHS, fn.DAYS, fn.MICROSECONDS))
        case "as char" | "as jsonb" | "by text" | "never" | "not yet":
            parts = (_call(fn.STORED_TEXT, TEXT, value),)
        case "as numeric" if value.type.scale is None:
            parts = (_call(fn.STORED_TEXT, TEXT, value),)
        case "as another" if value.type.element is not None or value.type.kind in _COMPOUND:
            parts = (Cast(value, TEXT),)
    return tuple(map(_ascending, parts))


def _call(function: Function, type_: SqlType, *arguments: Expression) -> Call:
    return Call(function, arguments, type_)


def _ascending(value: Expression) -> SortKey:
    return SortKey(value, descending=False, nulls_first=False)


def _with_ties(keys: Keys, values: Iterable[Expression]) -> Keys:
    """The keys, then whatever else tells these values apart."""
    found = list(keys)
    known = {key.expression for key in keys}
    for value in values:
        found += [key for key in spelling(value) if key.expression not in known]
    return tuple(found)


def _one_row(node: Node) -> bool:
    """Whether a node certainly has no second row."""
    match node:
        case Aggregate():
            return not node.groups
        case Values():
            return len(node.rows) <= 1
        case Project() | Filter() | Sort() | Limit() | Distinct():
            return _one_row(node.input)
    return False


class _Pass:
    """One plan, from its leaves upwards."""

    def __init__(self, number: int) -> None:
        self._number = number

    def _fresh(self, column: OutputColumn) -> OutputColumn:
        self._number += 1
        return replace(column, id=ColumnId(self._number))

    def node(self, node: Node) -> Node:
        node = rebuild_node(node, self.node, self._expression)
        match node:
            case Limit() if not _one_row(node.input):
                below, keys = self._order_of(node.input)
                return self._only(replace(node, input=self._sorted(below, keys)), output_columns(node))
            case Distinct() if node.on:
                below, keys = (node.input, node.order_by) if node.order_by else self._order_of(node.input)
                total = _with_ties(keys, map(reference, output_columns(node.input)))
                return self._only(replace(node, input=below, order_by=total), output_columns(node))
            case Distinct():
                return self._once(node.input) if _any_ambiguous(node) else node
            case Aggregate():
                return self._aggregate(node)
            case Window():
                below, keys = self._order_of(node.input)
                columns = output_columns(node.input)
                calls = tuple((column, _window_call(call, columns, keys)) for column, call in node.calls)
                return self._only(Window(below, calls), output_columns(node))
            case SetOperation() if not (node.kind == "union" and node.all) and _any_ambiguous(node):
                return self._set_operation(node)
            case Recursion() if not node.all and _any_ambiguous(node):
                return self._recursion(node)
        return node

    def _expression(self, value: Expression) -> Expression:
        value = rebuild_expression(value, self._expression, self.node)
        if not isinstance(value, Subquery) or value.kind != "array":
            return value
        below, keys = self._order_of(value.root)
        picked = [reference(c) for c in output_columns(value.root) if c.id == value.column]
        return replace(value, root=Sort(below, _with_ties(keys, picked)))

    def _sorted(self, node: Node, keys: Keys) -> Node:
        """By these keys and all columns; a node that was sorted by the keys is not sorted twice."""
        total = _with_ties(keys, map(reference, output_columns(node)))
        if not total:
            return node
        return Sort(node.input if isinstance(node, Sort) and node.keys == keys else node, total)

    def _only(self, node: Node, columns: tuple[OutputColumn, ...]) -> Node:
        """No other columns than these: others were carried along to sort by them."""
        if len(output_columns(node)) == len(columns):
            return node
        return Project(node, tuple((column, reference(column)) for column in columns))

    def _order_of(self, node: Node) -> tuple[Node, Keys]:
        """A node with what its rows come sorted by, as far as a query inside says so, and the keys."""
        match node:
            case Sort():
                return node, node.keys
            case Filter() | Limit():
                below, keys = self._order_of(node.input)
                return (replace(node, input=below) if keys else node), keys
            case Project():
                below, keys = self._order_of(node.input)
                return self._carrying(replace(node, input=below), keys) if keys else (node, ())
        return node, ()

    def _carrying(self, node: Project, keys: Keys) -> tuple[Node, Keys]:
        """A Project that puts out the keys too, and the keys in its terms."""
        columns = list(node.columns)
        moved: list[SortKey] = []
        for key in keys:
            own = next((column for column, value in columns if value == key.expression), None)
            if own is None:
                own = self._fresh(OutputColumn(ColumnId(0), "order", key.expression.type))
                columns.append((own, key.expression))
            moved.append(replace(key, expression=reference(own)))
        return replace(node, columns=tuple(columns)), tuple(moved)

    # Equal values

    def _aggregate(self, node: Aggregate) -> Node:
        wanted = output_columns(node)
        below, keys = self._order_of(node.input)
        groups: list[tuple[OutputColumn, Expression]] = []
        calls = [(column, _aggregate_call(call, keys)) for column, call in node.aggregates]
        for column, value in node.groups:
            if column.type.kind in FLOATS:
                groups.append((column, _call(fn.UNSIGNED_ZERO, value.type, value)))
            elif ambiguous(column.type):
                groups.append((self._fresh(column), value))
                calls.append((column, _preferred(value)))
            else:
                groups.append((column, value))
        return self._only(Aggregate(below, tuple(groups), tuple(calls)), wanted)

    def _once(self, node: Node) -> Node:
        """DISTINCT, as groups of all columns."""
        columns = output_columns(node)
        pairs = [(self._fresh(column), column) for column in columns]
        grouped = self._aggregate(
            Aggregate(node, tuple((made, reference(column)) for made, column in pairs), ())
        )
        return Project(grouped, tuple((column, reference(made)) for made, column in pairs))

    def _set_operation(self, node: SetOperation) -> Node:
        if node.kind == "union":
            return self._once(replace(node, all=True))
        sides: list[Node] = [
            self._side(node.left, node.left_columns),
            self._side(node.right, node.right_columns),
        ]
        columns = node.columns
        if node.all:
            # The first of equal rows meets the first of the other side, the second the second.
            sides = [self._numbered(side) for side in sides]
            columns = (*columns, self._fresh(_NUMBER))
        else:
            sides[0] = self._once(sides[0])
        left, right = sides
        made = SetOperation(node.kind, False, left, right, _ids(left), _ids(right), columns)
        return self._only(made, node.columns)

    def _numbered(self, node: Node) -> Node:
        """Equal rows with their numbers, in a certain order."""
        columns = tuple(map(reference, output_columns(node)))
        number = AggregateCall(FUNCTIONS["row_number"][0], (), INT8)
        window = WindowCall(number, columns, _with_ties((), columns), None, INT8)
        return Window(node, ((self._fresh(_NUMBER), window),))

    def _recursion(self, node: Recursion) -> Node:
        base, step = self._side(node.base, node.base_columns), self._side(node.step, node.step_columns)
        return replace(node, base=base, step=step, base_columns=_ids(base), step_columns=_ids(step))

    def _side(self, node: Node, ids: tuple[ColumnId, ...]) -> Project:
        """The columns that are compared, and no -0 among them."""
        known = {column.id: column for column in output_columns(node)}
        made: list[tuple[OutputColumn, Expression]] = []
        for id_ in ids:
            value: Expression = reference(known[id_])
            if value.type.kind in FLOATS:
                value = _call(fn.UNSIGNED_ZERO, value.type, value)
            made.append((self._fresh(known[id_]), value))
        return Project(node, tuple(made))


def _ids(node: Node) -> tuple[ColumnId, ...]:
    return tuple(column.id for column in output_columns(node))


def _any_ambiguous(node: Node) -> bool:
    return any(ambiguous(column.type) for column in output_columns(node))


def _preferred(value: Expression) -> AggregateCall:
    """One of a group's equal values."""
    return AggregateCall(fn.FIRST_PRESENT, (value,), value.type, order_by=spelling(value))


# Aggregates and windows


def _aggregate_call(call: AggregateCall, before: Keys) -> AggregateCall:
    """An aggregate that does not depend on the order of its rows; `before` is what they come in."""
    name, kinds = call.function.name, [argument.type.kind for argument in call.arguments]
    if call.distinct:
        call = _distinct_call(call)
    total = fn.FLOAT_TOTALS.get((name, kinds[0])) if kinds else None
    if total is not None:
        return replace(call, function=total, order_by=())
    if name in ("min", "max"):
        return _extreme(call)
    if call.distinct:
        return call
    if name in _LISTS:
        return replace(call, order_by=_with_ties(call.order_by or before, call.arguments))
    if name.startswith("percentile_"):
        return replace(call, order_by=_with_ties(call.order_by, call.arguments[1:]))
    if kinds and all(kind in FLOATS for kind in kinds) and name not in ("count", "regr_count"):
        return replace(call, order_by=_with_ties((), call.arguments))
    return call


def _distinct_call(call: AggregateCall) -> AggregateCall:
    """Each value once: no -0 beside 0, and in the order of the values where none is given."""
    made = {
        value: _call(fn.UNSIGNED_ZERO, value.type, value)
        for value in call.arguments
        if value.type.kind in FLOATS
    }
    arguments = tuple(made.get(value, value) for value in call.arguments)
    keys = [replace(key, expression=made.get(key.expression, key.expression)) for key in call.order_by]
    if call.function.name != "jsonb_object_agg":
        sorted_by = {key.expression for key in keys}
        keys += [
            _ascending(value)
            for value in arguments
            if value not in sorted_by and column_ids(value) and _orderable(value.type)
        ]
    listed = call.function.name in _LISTS or bool(made)
    return replace(call, arguments=arguments, order_by=tuple(keys) if listed else call.order_by)


def _orderable(type_: SqlType) -> bool:
    try:
        for engine in (DUCKDB, SPARK):
            sort_key(engine, "x", type_)
    except UserError:
        return False
    return True


def _extreme(call: AggregateCall) -> AggregateCall:
    """min and max: of equal values always the same one."""
    value = call.arguments[0]
    if value.type.kind in FLOATS:
        return replace(call, arguments=(_call(fn.UNSIGNED_ZERO, value.type, value),), order_by=())
    if not ambiguous(value.type) or not _orderable(value.type):
        return call
    extreme = SortKey(value, call.function.name == "max", nulls_first=False)
    order = _with_ties((extreme,), (value,))
    return replace(call, function=fn.FIRST_PRESENT, distinct=False, order_by=order)


def _window_call(call: WindowCall, columns: tuple[OutputColumn, ...], before: Keys) -> WindowCall:
    name, frame = call.call.function.name, call.frame
    if name in _PEERS:
        return call
    own = call.order_by or before
    total = _with_ties(own, map(reference, columns))
    rows = frame is not None and frame.unit == "rows"
    if name in _NUMBERED or (rows and name in fn.PLACES):
        return replace(call, order_by=total)
    if name in fn.PLACES:
        return _place(call, own, total)
    inner = _aggregate_call(call.call, own)
    return replace(call, call=inner, order_by=total if rows else call.order_by)


def _place(call: WindowCall, own: Keys, total: Keys) -> WindowCall:
    """first_value and the like over a frame of peers.

    Where the frame begins or ends with the partition, or is all of it, the total order finds the row.
    Elsewhere it would make another frame, so the frame's values are put in order.
    """
    name, frame = call.call.function.name, call.frame
    start = "unbounded preceding" if frame is None else frame.start[0]
    end = "current row" if frame is None else frame.end[0]
    if not call.order_by:
        return replace(call, order_by=total, frame=_WHOLE)
    if name == "first_value" and start == "unbounded preceding" and end in ("current row", _WHOLE.end[0]):
        return replace(call, order_by=total, frame=_SO_FAR)
    if name == "last_value" and end == "unbounded following" and start in ("current row", _WHOLE.start[0]):
        return replace(call, order_by=total, frame=_STILL)
    value = call.call.arguments[0]
    inner = replace(call.call, function=fn.PLACES[name], order_by=_with_ties(own, (value,)))
    return replace(call, call=inner)
