"""The DuckDB generator: a plan as one SQL text.

Every node is a SELECT whose columns are called `c<number>`, so names never clash and a
correlated query simply says an outer column's name.  Scans turn stored forms into working
types, the outermost SELECT turns them back and gives the user's names.

    generate(query, {"u1": "read_parquet([...])"}, mz_now=None)

Not here: expressions (expressions.py), what its errors mean (errors.py), running the text and registering
kernels (the coordinator).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from headwater.core.errors import InvariantViolation
from headwater.core.types import unconstrained
from headwater.formats.engine_types import duckdb_working
from headwater.sql.select.depth import deep
from headwater.sql.select.functions import equality_key
from headwater.sql.select.functions.forms import DUCKDB, call, failure, within_range
from headwater.sql.select.functions.written import Literal
from headwater.sql.select.generate.duckdb.aggregates import aggregate, window
from headwater.sql.select.generate.duckdb.expressions import (
    Data,
    Surroundings,
    apply,
    expression,
    order,
    truth,
)
from headwater.sql.select.generate.duckdb.literals import (
    identifier,
    is_unsigned,
    quoted,
    to_stored,
    to_working,
)
from headwater.sql.select.generate.matching import matched
from headwater.sql.select.kernels.numerics import alike
from headwater.sql.select.passes import before_generating
from headwater.sql.select.plan.nodes import (
    Aggregate,
    Call,
    ColumnId,
    ColumnRef,
    Constant,
    Distinct,
    Expression,
    Filter,
    FoundRows,
    Join,
    Limit,
    Logical,
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
from headwater.sql.select.plan.walk import output_columns, read_columns


@deep
def generate(
    query: Query,
    relations: Mapping[str, str],
    mz_now: int | None = None,
    tables: dict[str, pa.Table] | None = None,
) -> str:
    """One SELECT for a query; `relations` gives the table expression behind each relation's id.

    A query without columns (`SELECT FROM t`) still has rows: then the text has one column that
    means nothing.  With `tables`, long lists of constants are put there, and the text has their names.
    """
    return _Generator(before_generating(query), relations, mz_now, tables).whole()


_SERIES_LISTED_MAX = 10_000
"""In a SELECT list, where rows should come in order, a short series between constants is a list too."""


def _series_length(node: TableFunction) -> int | None:
    """How many rows a series of integers between constants has; None of everything else."""
    values = [
        int(argument.value)
        for argument in node.arguments
        if isinstance(argument, Constant) and argument.value is not None and argument.type.kind in _WHOLE
    ]
    if node.function.name != "generate_series" or len(values) != len(node.arguments):
        return None
    start, stop, step = (*values, 1)[:3]
    if step == 0 or max(map(abs, (start, stop, step))) >= _SERIES_BOUND:
        return None
    return max(0, (stop - start) // step + 1)


_WHOLE = ("int4", "int8")
_SERIES_BOUND = 2**62
"""Beyond, DuckDB would have to count further than its integers go."""


class _Generator:
    """One query being written."""

    def __init__(
        self,
        query: Query,
        relations: Mapping[str, str],
        mz_now: int | None,
        tables: dict[str, pa.Table] | None,
    ) -> None:
        prefix = "c"
        while any(re.fullmatch(rf"{prefix}\d+", output.name.lower()) for output in query.output):
            prefix += "_"
        self._query = query
        self._relations = relations
        data = None if tables is None else Data(tables)
        self._around = Surroundings(mz_now, self.select, prefix, query.with_zeros, data)
        self._column = self._around.column
        self._read = read_columns(query.root)
        self._fresh_count = 0

    def whole(self) -> str:
        """The outermost SELECT: stored forms, the user's names, the final order."""
        node, tail = self._query.root, ""
        if isinstance(node, Limit):
            tail = self._limit(node)
            node = node.input
        if isinstance(node, Sort):
            tail = f"{self._order(node)}{tail}"
            node = node.input
        items = ", ".join(
            f"{to_stored(self._result(output), output.type)} AS {identifier(output.name)}"
            for output in self._query.output
        )
        return f"SELECT {items or self._filler()} FROM ({self.select(node)}){tail}"

    def _result(self, output: OutputColumn) -> str:
        value = self._around.value(output.id)
        return value if output.id in self._read else within_range(DUCKDB, value, output.type)

    # Nodes

    def select(self, node: Node) -> str:
        """A SELECT that puts out the node's columns."""
        match node:
            case Scan():
                return self._scan(node)
            case Values():
                return self._values(node)
            case TableFunction():
                return self._table_function(node)
            case Project():
                return self._project(node)
            case Filter():
                return f"SELECT * FROM {self._filtered(node)}"
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Window():
                calls = ", ".join(self._as_column(o.id, window(call, self._around)) for o, call in node.calls)
                return f"SELECT *, {calls} FROM {self._from(node.input)}"
            case Distinct():
                return self._distinct(node)
            case SetOperation():
                return self._set_operation(node)
            case Recursion():
                return self._recursion(node)
            case FoundRows():
                items = ", ".join(f"{self._column(own)} AS {self._column(o.id)}" for o, own in node.columns)
                return f"SELECT {items or self._filler()} FROM {_recursion_name(node.number)}"
            case Sort():
                return f"SELECT * FROM {self._from(node.input)}{self._order(node)}"
            case Limit():
                if isinstance(node.input, Sort):
                    inner = f"SELECT * FROM {self._from(node.input.input)}{self._order(node.input)}"
                else:
                    inner = f"SELECT * FROM {self._from(node.input)}"
                return inner + self._limit(node)

    def _as_column(self, number: ColumnId, text: str) -> str:
        return f"{self._around.kept(number, text)} AS {self._column(number)}"

    def _from(self, node: Node) -> str:
        return f"({self.select(node)})"

    def _text(self, value: object) -> str:
        return expression(value, self._around)  # type: ignore[arg-type]

    def _filler(self) -> str:
        """A column for a SELECT that has none; its name is never used."""
        return f"1 AS {self._fresh()}"

    def _fresh(self) -> str:
        """A name that only this text knows."""
        self._fresh_count += 1
        return f"n{self._fresh_count}"

    def _order(self, node: Sort) -> str:
        return " " + order(node.keys, self._around)

    def _limit(self, node: Limit) -> str:
        text = ""
        if node.count is not None:
            text += f" LIMIT {self._text(node.count)}"
        if node.offset is not None:
            text += f" OFFSET {self._text(node.offset)}"
        return text

    def _filtered(self, node: Filter) -> str:
        below = node.input
        scan = f"({self._scan(below, node.predicate)})" if isinstance(below, Scan) else self._from(below)
        return f"{scan} WHERE {self._text(node.predicate)}"

    def _scan(self, node: Scan, predicate: Expression | None = None) -> str:
        relation = self._relations.get(node.relation_id)
        if relation is None:
            raise InvariantViolation(f"no table expression for relation {node.relation_id} ({node.name})")
        items = ", ".join(
            f"{to_working(identifier(output.name), output.type)} AS {self._column(output.id)}"
            for output in node.columns
        )
        skipping = " AND ".join(_on_stored(node, predicate)) if predicate is not None else ""
        where = f" WHERE {skipping}" if skipping else ""
        return f"SELECT {items or self._filler()} FROM {relation}{where}"

    def _values(self, node: Values) -> str:
        if not node.columns:
            rows = [f"SELECT {self._filler()}" for _ in node.rows]
            return " UNION ALL ".join(rows)
        if node.literal and self._around.data is not None:
            return self._literal_values(node, self._around.data)
        if len(node.rows) == 1:
            items = (
                self._as_column(output.id, self._text(value))
                for output, value in zip(node.columns, node.rows[0], strict=True)
            )
            return "SELECT " + ", ".join(items)
        rows = [
            "("
            + ", ".join(
                self._around.kept(output.id, self._text(value))
                for output, value in zip(node.columns, row, strict=True)
            )
            + ")"
            for row in node.rows
        ]
        names = ", ".join(self._column(output.id) for output in node.columns)
        return f"SELECT * FROM (VALUES {', '.join(rows)}) AS v({names})"

    def _literal_values(self, node: Values, data: Data) -> str:
        columns = [
            ([value.value for value in values if isinstance(value, Constant)], output.type)
            for values, output in zip(zip(*node.rows, strict=True), node.columns, strict=True)
        ]
        items = ", ".join(
            f"{to_working(f'c{place}', output.type)} AS {self._column(output.id)}"
            for place, output in enumerate(node.columns)
        )
        return f"SELECT {items} FROM {data.add(columns)}"

    def _project(self, node: Project) -> str:
        items = ", ".join(self._as_column(output.id, self._text(value)) for output, value in node.columns)
        source = self._filtered(node.input) if isinstance(node.input, Filter) else self._from(node.input)
        return f"SELECT {items or self._filler()} FROM {source}"

    def _table_function(self, node: TableFunction) -> str:
        if _series_length(node) is not None:
            return self._series(node)
        return f"SELECT {self._unnested(node)}" if len(node.columns) == 1 else self._unpacked(node, "")

    def _series(self, node: TableFunction) -> str:
        """Integers between constants come one after the other, and need no list that holds all of them."""
        bounds = ", ".join(f"CAST({self._text(argument)} AS BIGINT)" for argument in node.arguments)
        output = node.columns[0]
        items = f"CAST(n AS {duckdb_working(output.type)}) AS {self._column(output.id)}"
        if node.ordinality is not None:
            items += f", row_number() OVER () AS {self._column(node.ordinality)}"
        return f"SELECT {items} FROM generate_series({bounds}) AS {self._fresh()}(n)"

    def _list(self, node: TableFunction) -> str:
        texts = tuple(self._text(argument) for argument in node.arguments)
        types = zoned_types(node.arguments, node.zone)
        return apply(node.function.duckdb, node.function.name, texts, types)

    def _unnested(self, node: TableFunction) -> str:
        """The items that put out a function of one column."""
        rows = self._list(node)
        text = f"unnest({rows}) AS {self._column(node.columns[0].id)}"
        if node.ordinality is not None:
            text += f", unnest(range(1, len({rows}) + 1)) AS {self._column(node.ordinality)}"
        return text

    def _unpacked(self, node: TableFunction, source: str) -> str:
        """A function of several columns, whose rows are structs, beside the columns of `source`."""
        rows = self._list(node)
        row = self._fresh()
        inner = f"SELECT {'*, ' if source else ''}unnest({rows}) AS {row}"
        if node.ordinality is not None:
            inner += f", unnest(range(1, len({rows}) + 1)) AS {self._column(node.ordinality)}"
        names = [name for name, _ in node.function.columns]
        items = ", ".join(
            f"struct_extract({row}, {quoted(name)}) AS {self._column(output.id)}"
            for output, name in zip(node.columns, names, strict=True)
        )
        return f"SELECT * EXCLUDE ({row}), {items} FROM ({inner}{source})"

    def _join(self, node: Join) -> str:
        left = self._from(node.left)
        if node.kind == "cross" and node.lateral and isinstance(node.right, TableFunction):
            if (_series_length(node.right) or 0) > _SERIES_LISTED_MAX:
                return f"SELECT * FROM {left} CROSS JOIN ({self._series(node.right)})"
            if len(node.right.columns) == 1:
                return f"SELECT *, {self._unnested(node.right)} FROM {left}"
            return self._unpacked(node.right, f" FROM {left}")
        right = ("LATERAL " if node.lateral else "") + self._from(node.right)
        if node.kind == "cross":
            return f"SELECT * FROM {left} CROSS JOIN {right}"
        condition = node.condition
        # DuckDB has no queries in the condition of an outer join, and data would be one.
        around = self._around if node.kind == "inner" else replace(self._around, data=None)
        on = "TRUE" if condition is None or truth(condition) else expression(condition, around)
        return f"SELECT * FROM {left} {node.kind.upper()} JOIN {right} ON {on}"

    def _aggregate(self, node: Aggregate) -> str:
        items, keys = [], []
        for output, value in node.groups:
            text = self._text(value)
            key = equality_key(DUCKDB, text, output.type)
            keys.append(key)
            # A group's values are equal but need not be identical: any of them will do.
            kept = self._around.kept(output.id, text)
            shown = text if key == kept else f"any_value({kept})"
            items.append(f"{shown} AS {self._column(output.id)}")
        items += [self._as_column(o.id, aggregate(call, self._around)) for o, call in node.aggregates]
        if not items:
            items = [f"count(*) AS {self._fresh()}"]
        by = f" GROUP BY {', '.join(_group_key(key) for key in keys)}" if keys else ""
        return f"SELECT {', '.join(items)} FROM {self._from(node.input)}{by}"

    def _distinct(self, node: Distinct) -> str:
        if not node.on:
            return f"SELECT {self._once(output_columns(node.input))} FROM {self._from(node.input)}"
        on = ", ".join(equality_key(DUCKDB, self._text(value), value.type) for value in node.on)
        ordering = order(node.order_by, self._around)
        place = f"row_number() OVER (PARTITION BY {on} {ordering})"
        return f"SELECT * FROM {self._from(node.input)} QUALIFY {place} = 1"

    def _once(self, columns: tuple[OutputColumn, ...]) -> str:
        """What to select of rows to get each once; of rows that are equal but not the same, one."""
        keys = self._keys(columns)
        if keys == [self._column(column.id) for column in columns]:
            return "DISTINCT *"
        return f"DISTINCT ON ({', '.join(keys)}) *"

    def _keys(self, columns: tuple[OutputColumn, ...]) -> list[str]:
        return [equality_key(DUCKDB, self._around.value(column.id), column.type) for column in columns]

    def _set_operation(self, node: SetOperation) -> str:
        sides = []
        for side, picked in ((node.left, node.left_columns), (node.right, node.right_columns)):
            items = ", ".join(
                f"{self._column(number)} AS {self._column(output.id)}"
                for number, output in zip(picked, node.columns, strict=True)
            )
            sides.append(f"SELECT {items or self._filler()} FROM {self._from(side)}")
        names, keys = [self._column(column.id) for column in node.columns], self._keys(node.columns)
        if keys != names and not (node.kind == "union" and node.all):
            return matched(node, (sides[0], sides[1]), names, keys, self._fresh)
        word = node.kind.upper() + (" ALL" if node.all else "")
        return f"({sides[0]}) {word} ({sides[1]})"

    def _recursion(self, node: Recursion) -> str:
        """DuckDB's own; it takes the types of the first side for those of both."""
        names = [self._column(column.id) for column in node.columns]
        keys = names if node.all else self._keys(node.columns)
        same = {column.id: key == name for column, key, name in zip(node.columns, keys, names, strict=True)}
        sides = []
        for side, picked in ((node.base, node.base_columns), (node.step, node.step_columns)):
            items = ", ".join(
                f"{self._found(self._column(number), output, same[output.id])} AS {self._column(output.id)}"
                for number, output in zip(picked, node.columns, strict=True)
            )
            sides.append(f"(SELECT {items or '1 AS n0'} FROM {self._from(side)})")
        name = _recursion_name(node.number)
        word = "UNION ALL" if node.all else "UNION"
        text = f"WITH RECURSIVE {name} AS ({sides[0]} {word} {sides[1]}) SELECT * FROM "
        return text + (name if keys == names else self._each_once(name, keys))

    def _found(self, text: str, column: OutputColumn, same: bool) -> str:
        """A column of a row that a recursion finds; of such that are compared, zeros must not pile up."""
        value = text if same or not unconstrained(column.type) else call(DUCKDB, "hw_numeric_found", text)
        return f"CAST({value} AS {duckdb_working(column.type)})"

    def _each_once(self, name: str, keys: list[str]) -> str:
        """The rows of a recursion that DuckDB has compared as they are: an error if two are equal."""
        count = self._fresh()
        error = alike()
        refused = failure(DUCKDB, error.message, error.sqlstate, error.hint)
        counted = f"SELECT *, count(*) OVER (PARTITION BY {', '.join(keys)}) AS {count} FROM {name}"
        once = f"CASE WHEN {count} > 1 THEN {refused} ELSE TRUE END"
        return f"(SELECT * EXCLUDE ({count}) FROM ({counted}) WHERE {once})"


def _on_stored(scan: Scan, predicate: Expression) -> Iterator[str]:
    """Parts of a predicate, said of stored columns: behind a conversion DuckDB can skip no files or rows."""
    if isinstance(predicate, Logical) and predicate.operator == "and":
        for part in predicate.arguments:
            yield from _on_stored(scan, part)
    if not isinstance(predicate, Call) or predicate.function.name not in ("=", "<", "<=", ">", ">="):
        return
    match predicate.arguments:
        case (ColumnRef() as column, Constant() as constant) if is_unsigned(column.type):
            name = next((output.name for output in scan.columns if output.id == column.id), None)
            if name is not None and constant.value is not None:
                yield f"{identifier(name)} {predicate.function.name} {constant.value}"


def _recursion_name(number: int) -> str:
    """A name that no relation has."""
    return identifier(f"recursion {number}")


def _group_key(key: str) -> str:
    """A key that DuckDB does not take for a position or an output's name."""
    return f"coalesce({key})" if isinstance(key, Literal) else f"({key})"
