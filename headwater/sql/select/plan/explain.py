"""A plan as indented text, for EXPLAIN.

    Sort c7 desc nulls first
      Project c6 := c1, c7 := (c2 + 1)
        Filter (c2 > 10)
          Scan materialize.public.t [c1 := a, c2 := b]

Not here: what an engine makes of it.
"""

from __future__ import annotations

from headwater.core.types import format_type
from headwater.sql.select.depth import deep
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnRef,
    Constant,
    Distinct,
    Expression,
    Filter,
    FoundRows,
    InList,
    Join,
    Limit,
    Logical,
    Node,
    OutputColumn,
    Parameter,
    Project,
    Query,
    RecordOf,
    Recursion,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    Subquery,
    TableFunction,
    Values,
    Window,
    WindowCall,
)
from headwater.sql.select.plan.walk import inputs

_VALUES_SHOWN_MAX = 10


@deep
def explain(query: Query) -> str:
    """The plan of a query, one node a line, inputs indented below."""
    shown = ", ".join(
        f"{_name(column)} := {column.name} {format_type(column.type)}" for column in query.output
    )
    return "\n".join([f"Output {shown}", *_lines(query.root, 1)])


def _lines(node: Node, depth: int) -> list[str]:
    pad = "  " * depth
    lines = [pad + _node(node)]
    for inner in inputs(node):
        lines += _lines(inner, depth + 1)
    return lines


def _name(column: OutputColumn) -> str:
    return f"c{column.id}"


def _node(node: Node) -> str:
    match node:
        case Scan():
            columns = ", ".join(f"{_name(c)} := {c.name}" for c in node.columns)
            return f"Scan {node.name} [{columns}]"
        case Values():
            rows = ", ".join(f"({', '.join(map(_text, row))})" for row in node.rows[:_VALUES_SHOWN_MAX])
            more = ", ..." if len(node.rows) > _VALUES_SHOWN_MAX else ""
            return f"Values {rows}{more}"
        case TableFunction():
            arguments = ", ".join(map(_text, node.arguments))
            ordinality = "" if node.ordinality is None else f", c{node.ordinality} := ordinality"
            columns = ", ".join(map(_name, node.columns))
            made = f"{node.function.name}({arguments}){_zone(node.zone)}"
            return f"TableFunction {columns} := {made}{ordinality}"
        case Project():
            return "Project " + ", ".join(f"{_name(c)} := {_text(value)}" for c, value in node.columns)
        case Filter():
            return f"Filter {_text(node.predicate)}"
        case Join():
            on = "" if node.condition is None else f" on {_text(node.condition)}"
            return f"Join {node.kind}{' lateral' if node.lateral else ''}{on}"
        case Aggregate():
            groups = ", ".join(f"{_name(c)} := {_text(value)}" for c, value in node.groups)
            calls = ", ".join(f"{_name(c)} := {_aggregate(call)}" for c, call in node.aggregates)
            return f"Aggregate by [{groups}] of [{calls}]"
        case Window():
            return "Window " + ", ".join(f"{_name(c)} := {_window(call)}" for c, call in node.calls)
        case Distinct():
            on = f" on {', '.join(map(_text, node.on))} {_keys(node.order_by)}" if node.on else ""
            return f"Distinct{on}".rstrip()
        case SetOperation():
            columns = ", ".join(map(_name, node.columns))
            return f"{node.kind.capitalize()}{' all' if node.all else ''} {columns}"
        case Recursion():
            columns = ", ".join(map(_name, node.columns))
            return f"Recursion {node.name}#{node.number}{' all' if node.all else ''} {columns}"
        case FoundRows():
            columns = ", ".join(f"{_name(column)} := c{own}" for column, own in node.columns)
            return f"FoundRows {node.name}#{node.number} [{columns}]"
        case Sort():
            return f"Sort {_keys(node.keys)}"
        case Limit():
            parts = [f"Limit {_text(node.count)}" if node.count is not None else "Limit none"]
            return " ".join(
                [*parts, f"offset {_text(node.offset)}" if node.offset is not None else ""]
            ).rstrip()


def _keys(keys: tuple[SortKey, ...]) -> str:
    return ", ".join(
        f"{_text(key.expression)} {'desc' if key.descending else 'asc'}"
        f" nulls {'first' if key.nulls_first else 'last'}"
        for key in keys
    )


def _text(value: Expression) -> str:
    match value:
        case Constant():
            return "null" if value.value is None else f"'{value.value}'::{format_type(value.type)}"
        case Parameter():
            return f"${value.number}"
        case ColumnRef():
            return f"c{value.id}"
        case Call():
            texts = [_text(argument) for argument in value.arguments]
            if value.function.shape == "operator":
                symbol, zone = value.function.name, _zone(value.zone)
                words = (texts[0], symbol, texts[1]) if len(texts) == 2 else (symbol, texts[0])
                return f"({' '.join(words)}){zone}"
            return f"{value.function.name}({', '.join(texts)}){_zone(value.zone)}"
        case Cast():
            return f"{_text(value.input)}::{format_type(value.type)}{_zone(value.zone)}"
        case Case():
            branches = " ".join(f"when {_text(when)} then {_text(then)}" for when, then in value.branches)
            return f"case {branches} else {_text(value.otherwise)} end"
        case Logical():
            texts = [_text(argument) for argument in value.arguments]
            if value.operator in ("and", "or"):
                return "(" + f" {value.operator} ".join(texts) + ")"
            return f"(not {texts[0]})" if value.operator == "not" else f"({texts[0]} {value.operator})"
        case InList():
            return f"({_text(value.input)} in ({', '.join(map(_text, value.items))}))"
        case Subquery():
            return _subquery(value)
        case ArrayOf():
            return f"array[{', '.join(map(_text, value.elements))}]"
        case RecordOf():
            return f"row({', '.join(map(_text, value.fields))})"


def _zone(zone: str) -> str:
    """By whose clocks, where it matters."""
    return f"@{zone}" if zone else ""


def _subquery(value: Subquery) -> str:
    """The query inside on one line; its nodes from the top down."""
    inner = " < ".join(line.strip() for line in _lines(value.root, 0))
    operand = ""
    if value.operand is not None and value.comparison is not None:
        operand = f"{_text(value.operand)} {value.comparison.name} "
    return f"{operand}{value.kind} {{{inner}}}"


def _aggregate(call: AggregateCall) -> str:
    arguments = ", ".join(map(_text, call.arguments)) or "*"
    distinct = "distinct " if call.distinct else ""
    order = f" order by {_keys(call.order_by)}" if call.order_by else ""
    where = "" if call.filter is None else f" filter {_text(call.filter)}"
    return f"{call.function.name}({distinct}{arguments}{order}){_zone(call.zone)}{where}"


def _window(call: WindowCall) -> str:
    parts = []
    if call.partition_by:
        parts.append("partition by " + ", ".join(map(_text, call.partition_by)))
    if call.order_by:
        parts.append("order by " + _keys(call.order_by))
    if call.frame is not None:
        bounds = [
            word if offset is None else f"{_text(offset)} {word}"
            for word, offset in (call.frame.start, call.frame.end)
        ]
        parts.append(f"{call.frame.unit} between {bounds[0]} and {bounds[1]}")
    return f"{_aggregate(call.call)} over ({' '.join(parts)})"
