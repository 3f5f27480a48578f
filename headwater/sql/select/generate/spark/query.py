"""A plan as one text of Spark SQL.

Each node becomes a SELECT around those of its inputs, whose columns are exactly the
node's, named `c<number>`; Spark's optimizer flattens them again.  Working types are the
stored forms (generate/spark/literals.py), so scans and results need no conversion.

    generate          the text; raises 0A000 for what only DuckDB can do
    supported         that error beforehand, or None

The session must have SESSION_SETTINGS and the kernels; cluster/kernels_spark.py sees to both.

Not here: expressions (expressions.py), what Spark's errors mean (errors.py), running it (cluster/).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.types import holds_fields, holds_floats
from headwater.formats.engine_types import spark_type
from headwater.sql.select import functions
from headwater.sql.select.functions.forms import SPARK, trimmed, within_range
from headwater.sql.select.generate.matching import matched
from headwater.sql.select.generate.spark.aggregates import Prepared, aggregate, window
from headwater.sql.select.generate.spark.expressions import (
    Lifted,
    Writer,
    apply,
    column_name,
    constant_count,
    direction,
    expression,
    predicate,
    sort_text,
    with_lifted,
)
from headwater.sql.select.generate.spark.literals import identifier, string_literal
from headwater.sql.select.passes import before_generating
from headwater.sql.select.plan.nodes import (
    Aggregate,
    Constant,
    Distinct,
    Expression,
    Filter,
    FoundRows,
    Join,
    Limit,
    Node,
    OutputColumn,
    Project,
    Query,
    Recursion,
    Scan,
    SetOperation,
    Sort,
    TableFunction,
    Values,
    Window,
    zoned_types,
)
from headwater.sql.select.plan.walk import holds_query, output_columns, read_columns

_RULES: Final = "org.apache.spark.sql.catalyst.optimizer"
SESSION_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        # A sum or product of decimals keeps its scale, or fails.
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.legacy.followThreeValuedLogicInArrayExists": "true",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        # It makes i of (i + 1) + -1, also where i + 1 is an error.
        "spark.sql.optimizer.excludedRules": f"{_RULES}.ReorderAssociativeOperator",
    }
)
"""What the texts rely on."""

_LIMIT_MAX: Final = 2**31 - 1


def generate(query: Query, relations: Mapping[str, str], mz_now: int | None) -> str:
    """The query as Spark SQL; its columns are `o0`, `o1`, ... in the order of `query.output`."""
    return _Nodes(relations, mz_now).whole(before_generating(query))


def supported(query: Query) -> UserError | None:
    """Why the query cannot run on Spark; None when it can, as far as its text tells."""
    try:
        generate(query, dict.fromkeys(query.relation_ids, "t"), 0)
    except UserError as error:
        return error
    return None


@dataclass(slots=True)
class _Nodes:
    """One generation."""

    relations: Mapping[str, str]
    writer: Writer

    def __init__(self, relations: Mapping[str, str], mz_now: int | None) -> None:
        self.relations = relations
        self.writer = Writer(self.node, mz_now)

    def whole(self, query: Query) -> str:
        self.writer.with_zeros = query.with_zeros
        read = read_columns(query.root)
        columns = ", ".join(
            f"{_nullable(c, self._result(c, c.id in read))} AS o{i}" for i, c in enumerate(query.output)
        )
        return f"SELECT {columns or '1 AS o0'} FROM ({self.node(query.root)})"

    def _result(self, column: OutputColumn, read: bool) -> str:
        value = self.writer.value(column.id)
        return value if read else within_range(SPARK, value, column.type)

    def node(self, node: Node) -> str:
        match node:
            case Scan():
                return self._scan(node)
            case Values():
                return self._values(node)
            case TableFunction():
                return self._table_function(node)
            case Project(below, columns):
                with self.writer.lifting() as lifted:
                    texts = [self.writer.as_column(column.id, self.text(part)) for column, part in columns]
                return f"SELECT {', '.join(texts) or '1'} FROM ({self._below(below, lifted)})"
            case Filter(below, condition):
                with self.writer.lifting() as lifted:
                    where = predicate(condition, self.writer)
                return f"{self._passing(below, lifted)} WHERE {where}"
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Window():
                return self._window(node)
            case Distinct():
                return self._distinct(node)
            case SetOperation():
                return self._set_operation(node)
            case Sort(below, keys):
                with self.writer.lifting() as lifted:
                    order = ", ".join(sort_text(key, self.writer) for key in keys)
                return f"{self._passing(below, lifted)} ORDER BY {order}"
            case Limit():
                return self._limit(node)
            case Recursion() | FoundRows():
                raise not_supported("WITH RECURSIVE on Spark", hint="SET read_engine = duckdb.")
            case _:
                raise InvariantViolation(f"not a node: {node!r}")

    def text(self, plan: Expression) -> str:
        return expression(plan, self.writer)

    def _below(self, node: Node, lifted: list[Lifted]) -> str:
        """A node with what the expressions over it need computed."""
        return with_lifted(self.node(node), lifted)

    def _passing(self, node: Node, lifted: list[Lifted]) -> str:
        """A SELECT of the node's own columns from such."""
        names = ", ".join(column_name(column.id) for column in output_columns(node)) if lifted else "*"
        return f"SELECT {names or '1'} FROM ({self._below(node, lifted)})"

    def _scan(self, node: Scan) -> str:
        columns = ", ".join(f"{identifier(c.name)} AS {column_name(c.id)}" for c in node.columns)
        return f"SELECT {columns or '1'} FROM {self.relations[node.relation_id]}"

    def _values(self, node: Values) -> str:
        names = [column_name(column.id) for column in node.columns]
        if not names:
            one = "SELECT 1" if len(node.rows) == 1 else f"SELECT explode(sequence(1, {len(node.rows)}))"
            return one if node.rows else "SELECT 1 WHERE FALSE"
        if len(node.rows) == 1:
            with self.writer.lifting() as lifted:
                row = self._row(node, node.rows[0])
            return f"SELECT {row}{_source(lifted)}"
        with self.writer.staying():
            return self._several_values(node, names)

    def _several_values(self, node: Values, names: list[str]) -> str:
        if any(holds_query(part) for row in node.rows for part in row):
            return " UNION ALL ".join(f"SELECT {self._row(node, row)}" for row in node.rows)
        rows = [", ".join(self.text(part) for part in row) for row in node.rows]
        if all(isinstance(part, Constant) for row in node.rows for part in row):
            return f"SELECT * FROM VALUES {', '.join(f'({row})' for row in rows)} AS v({', '.join(names)})"
        structs = (f"named_struct({self._struct(node, row)})" for row in node.rows)
        return f"SELECT inline(array({', '.join(structs)})) AS ({', '.join(names)})"

    def _row(self, node: Values, row: tuple[Expression, ...]) -> str:
        return ", ".join(
            self.writer.as_column(column.id, self.text(part))
            for part, column in zip(row, node.columns, strict=True)
        )

    def _struct(self, node: Values, row: tuple[Expression, ...]) -> str:
        return ", ".join(
            f"{string_literal(column_name(column.id))}, {self.text(part)}"
            for part, column in zip(row, node.columns, strict=True)
        )

    # Table functions and joins

    def _elements(self, node: TableFunction) -> str:
        types = zoned_types(node.arguments, node.zone)
        return apply(node.function, tuple(self.text(argument) for argument in node.arguments), types)

    def _unpacked(self, node: TableFunction, place: str, element: str) -> str:
        """The function's columns, from an element of its list and the element's place."""
        columns = node.columns
        if node.ordinality is not None:
            columns = tuple(column for column in columns if column.id != node.ordinality)
        if len(node.function.columns) > 1:
            texts = [
                f"{element}.{identifier(name)} AS {column_name(column.id)}"
                for column, (name, _) in zip(columns, node.function.columns, strict=True)
            ]
        else:
            texts = [f"{element} AS {column_name(column.id)}" for column in columns]
        if node.ordinality is not None:
            texts.append(f"CAST({place} + 1 AS BIGINT) AS {column_name(node.ordinality)}")
        return ", ".join(texts)

    def _table_function(self, node: TableFunction) -> str:
        place, element = self.writer.fresh(), self.writer.fresh()
        with self.writer.lifting() as lifted:
            exploded = f"SELECT posexplode({self._elements(node)}) AS ({place}, {element})"
        return f"SELECT {self._unpacked(node, place, element)} FROM ({exploded}{_source(lifted)})"

    def _join(self, node: Join) -> str:
        always = node.condition is None or _true(node.condition)
        if node.lateral and isinstance(node.right, TableFunction) and (always or node.kind == "inner"):
            return self._lateral_view(node, node.right)
        if node.lateral and node.kind in ("right", "full"):
            raise not_supported(f"LATERAL in a {node.kind} join")
        left, right = self.node(node.left), self.node(node.right)
        lateral = "LATERAL " if node.lateral else ""
        word = "CROSS" if always and node.kind in ("inner", "cross") else node.kind.upper()
        on = "" if word == "CROSS" else f" ON {'TRUE' if always else self._condition(node)}"
        sides = self.writer.fresh(), self.writer.fresh()
        return f"SELECT * FROM ({left}) AS {sides[0]} {word} JOIN {lateral}({right}) AS {sides[1]}{on}"

    def _condition(self, node: Join) -> str:
        if node.condition is None:
            raise InvariantViolation("a join without a condition")
        with self.writer.staying():
            return (
                predicate(node.condition, self.writer) if node.kind == "inner" else self.text(node.condition)
            )

    def _lateral_view(self, node: Join, function: TableFunction) -> str:
        """A table function of the left side's columns needs no join."""
        place, element, view = self.writer.fresh(), self.writer.fresh(), self.writer.fresh()
        outer = "OUTER " if node.kind == "left" else ""
        kept = [column_name(column.id) for column in output_columns(node.left)]
        columns = ", ".join([*kept, self._unpacked(function, place, element)])
        with self.writer.lifting() as lifted:
            elements = self._elements(function)
        text = (
            f"SELECT {columns} FROM ({self._below(node.left, lifted)})"
            f" LATERAL VIEW {outer}posexplode({elements}) {view} AS {place}, {element}"
        )
        if node.kind == "inner" and node.condition is not None and not _true(node.condition):
            return f"SELECT * FROM ({text}) WHERE {self._condition(node)}"
        return text

    # Groups

    def _aggregate(self, node: Aggregate) -> str:
        prepared = Prepared(self.writer)
        texts: list[str] = []
        keys: list[str] = []
        with self.writer.lifting() as lifted:
            for column, part in node.groups:
                name = prepared.bare(part, always=True)
                value = trimmed(SPARK, name) if column.id in self.writer.with_zeros else name
                key = prepared.key(functions.equality_key(SPARK, value, column.type))
                value = name if key == name and not holds_floats(column.type) else f"first({name})"
                texts.append(f"{value} AS {column_name(column.id)}")
                keys.append(key)
            for column, call in node.aggregates:
                texts.append(self.writer.as_column(column.id, aggregate(call, prepared)))
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        below = prepared.select(self._below(node.input, lifted))
        return f"SELECT {', '.join(texts) or 'count(*)'} FROM ({below}){grouped}"

    def _window(self, node: Window) -> str:
        prepared = Prepared(self.writer)
        texts = [column_name(column.id) for column in output_columns(node.input)]
        with self.writer.lifting() as lifted:
            texts += [self.writer.as_column(column.id, window(call, prepared)) for column, call in node.calls]
        return f"SELECT {', '.join(texts)} FROM ({prepared.select(self._below(node.input, lifted))})"

    def _distinct(self, node: Distinct) -> str:
        columns = output_columns(node.input)
        if node.on:
            return self._distinct_on(node, [column_name(column.id) for column in columns])
        return self._once(self.node(node.input), columns)

    def _once(self, text: str, columns: tuple[OutputColumn, ...]) -> str:
        """Each row of a SELECT once; of rows that are equal but not the same, one."""
        names = [column_name(column.id) for column in columns]
        keys = self._equality_keys(columns)
        odd = [_odd(column, key) for column, key in zip(columns, keys, strict=True)]
        if not any(odd):
            return f"SELECT DISTINCT * FROM ({text})"
        prepared = Prepared(self.writer)
        grouped = ", ".join(prepared.key(key) for key in keys)
        values = ", ".join(
            f"first({name}) AS {name}" if apart else name for apart, name in zip(odd, names, strict=True)
        )
        return f"SELECT {values} FROM ({prepared.select(text)}) GROUP BY {grouped}"

    def _equality_keys(self, columns: tuple[OutputColumn, ...]) -> list[str]:
        return [functions.equality_key(SPARK, self.writer.value(c.id), c.type) for c in columns]

    def _distinct_on(self, node: Distinct, names: list[str]) -> str:
        prepared = Prepared(self.writer)
        with self.writer.lifting() as lifted:
            partition = ", ".join(
                prepared.key(functions.equality_key(SPARK, prepared.name(part), part.type))
                for part in node.on
            )
            keys = [f"{prepared.sort_key(key)} {direction(key)}" for key in node.order_by]
        order = ", ".join(keys) or "TRUE"
        place = self.writer.fresh()
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY {partition} ORDER BY {order}) AS {place}"
            f" FROM ({prepared.select(self._below(node.input, lifted))})"
        )
        return f"SELECT {', '.join(names) or '1'} FROM ({numbered}) WHERE {place} = 1"

    def _set_operation(self, node: SetOperation) -> str:
        def side(input_: Node, ids: tuple[int, ...]) -> str:
            pairs = zip(ids, node.columns, strict=True)
            columns = ", ".join(f"c{id_} AS {column_name(column.id)}" for id_, column in pairs)
            return f"SELECT {columns or '1'} FROM ({self.node(input_)})"

        left, right = side(node.left, node.left_columns), side(node.right, node.right_columns)
        names = [column_name(column.id) for column in node.columns]
        keys = self._equality_keys(node.columns)
        odd = any(_odd(column, key) for column, key in zip(node.columns, keys, strict=True))
        if odd and not (node.kind == "union" and node.all):
            return matched(node, (left, right), names, keys, self.writer.fresh)
        word = f"{node.kind.upper()}{' ALL' if node.all else ''}"
        return f"SELECT * FROM ({left}) {word} SELECT * FROM ({right})"

    def _limit(self, node: Limit) -> str:
        number = constant_count(node.count, "LIMIT")
        skipped = constant_count(node.offset, "OFFSET")
        text = self.node(node.input)
        # Directly on the sorted SELECT, so that Spark sees one node to take the first rows from.
        if not isinstance(node.input, Sort):
            text = f"SELECT * FROM ({text})"
        if number is not None:
            text += f" LIMIT {min(number, _LIMIT_MAX)}"
        if skipped:
            text += f" OFFSET {min(skipped, _LIMIT_MAX)}"
        return text


def _odd(column: OutputColumn, key: str) -> bool:
    """Whether values may be equal and not the same; Spark makes 0 of the -0 that it groups by."""
    return key != column_name(column.id) or holds_floats(column.type)


def _source(lifted: list[Lifted]) -> str:
    """The FROM of a SELECT that has no input of its own."""
    return f" FROM ({with_lifted('SELECT 1', lifted)})" if lifted else ""


def _nullable(column: OutputColumn, text: str) -> str:
    """A result's column; where structs are in it, their fields are made nullable.

    Spark knows that the fields of a struct it has just made are never NULL, and then cannot hand
    out as Arrow a row where the struct itself is.
    """
    return f"CAST({text} AS {spark_type(column.type)})" if holds_fields(column.type) else text


def _true(plan: Expression) -> bool:
    return isinstance(plan, Constant) and plan.value == "t" and plan.type.kind == "bool"
