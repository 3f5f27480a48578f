"""Expressions of a plan as Spark SQL.

Every text that comes out of here is an atom: a name, a literal, a call, or in
parentheses, so that it can be put anywhere.  Columns are `c<number>`; a column of an
enclosing query is just its name, because no number is used twice.

NULL matters in one place: Spark answers false where `x IN (query)` is unknown, unless
it stands in a WHERE.  There (`predicate`) Spark's own IN and NOT IN are used, which become
joins; elsewhere the three answers are spelled out with EXISTS.

Not here: nodes (spark.py), aggregates and windows (generate/spark/aggregates.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.types import MZ_TIMESTAMP, SIGNED, TEXT, SqlType, in_zone
from headwater.sql.select import functions
from headwater.sql.select.functions.array_forms import elements as elements_of_array
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import SPARK, trimmed
from headwater.sql.select.functions.written import (
    Column,
    Literal,
    Simple,
    calling,
    literal,
    may_have_lambda,
    named_column,
    native,
    of_the_engine,
    untrimmed,
    used,
)
from headwater.sql.select.generate.arrays import array_value
from headwater.sql.select.generate.arrays import gathered as array_of_rows
from headwater.sql.select.generate.branches import case
from headwater.sql.select.generate.spark.literals import constant, null_literal, string_literal
from headwater.sql.select.kernels.errors import marked_text
from headwater.sql.select.plan.nodes import (
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnId,
    ColumnRef,
    Constant,
    Expression,
    InList,
    Limit,
    Logical,
    Node,
    Parameter,
    Project,
    RecordOf,
    Sort,
    SortKey,
    Subquery,
    TableFunction,
    zoned_types,
)
from headwater.sql.select.plan.walk import free_column_ids

MANY_ROWS: Final = "more than one row returned by a subquery used as an expression"
_PLACE: Final = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True, slots=True)
class Lifted:
    """A column to be added below an expression: its text, or a query of one row that has it."""

    name: str
    text: str
    query: bool = False


def with_lifted(below: str, lifted: list[Lifted]) -> str:
    """A SELECT with the lifted columns added."""
    for column in lifted:
        if column.query:
            below = f"SELECT * FROM ({below}) CROSS JOIN ({column.text})"
        else:
            below = f"SELECT *, {column.text} AS {column.name} FROM ({below})"
    return below


@dataclass(slots=True)
class Writer:
    """What every part of one generation shares.

    `query` writes a node as the text of a SELECT whose columns are exactly the node's.
    `lifted` are columns that must be added below the expression being written, because Spark
    allows no query inside a lambda; None where nothing can be added.
    """

    query: Callable[[Node], str]
    mz_now: int | None
    with_zeros: frozenset[ColumnId] = frozenset()
    lifted: list[Lifted] | None = None
    query_count: int = 0  # of queries inside expressions, written so far
    _numbers: count[int] = field(default_factory=count)

    def fresh(self) -> Column:
        """A name for a column or relation that only this text knows."""
        return named_column(f"t{next(self._numbers)}")

    def value(self, id_: ColumnId) -> str:
        """A column's value: a numeric that carries its zeros loses them."""
        name = named_column(column_name(id_))
        return trimmed(SPARK, name) if id_ in self.with_zeros else name

    def as_column(self, id_: ColumnId, text: str) -> str:
        """An expression as it becomes a column."""
        return f"{untrimmed(text) if id_ in self.with_zeros else text} AS {column_name(id_)}"

    @contextmanager
    def lifting(self) -> Iterator[list[Lifted]]:
        """Collects what the expressions written meanwhile need computed in a SELECT below them."""
        before, self.lifted = self.lifted, []
        try:
            yield self.lifted
        finally:
            self.lifted = before

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Nothing can be computed below the expressions written meanwhile."""
        before, self.lifted = self.lifted, None
        try:
            yield
        finally:
            self.lifted = before


def column_name(id_: ColumnId) -> str:
    """The name of a column anywhere in the text."""
    return f"c{id_}"


def fill(form: Form, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    """A form with the arguments in their places."""
    if callable(form):
        return form(texts, types)
    text = _PLACE.sub(lambda place: texts[int(place.group(1))], used(form))
    return native(text, *texts) if of_the_engine(form) else text


def spark_form(function: Function) -> Form:
    """A function's form for Spark; without one the plan can only go to DuckDB."""
    if function.spark is None:
        raise not_supported(f"{function.name} in this statement", hint="Call it as a column of a SELECT.")
    return function.spark


def expression(plan: Expression, writer: Writer) -> str:
    """An expression whose NULL is told from false."""
    match plan:
        case Constant(value, type_):
            return literal(constant(value, type_), value)
        case ColumnRef(id_):
            return writer.value(id_)
        case Parameter(number):
            raise UserError(f"there is no parameter ${number}", "42P02")
        case Call():
            return _call(plan, writer)
        case Cast():
            return _cast(plan, writer)
        case Case():
            return case(SPARK, plan, lambda part: expression(part, writer))
        case Logical():
            return _logical(plan, writer)
        case InList(operand, items):
            return _in_list(operand, items, writer)
        case Subquery():
            writer.query_count += 1
            return _subquery(plan, writer)
        case ArrayOf(elements, type_):
            return array_value(SPARK, f"array({_listed(elements, writer)})", elements, type_)
        case RecordOf(fields, type_):
            parts = (
                f"{string_literal(name)}, {expression(part, writer)}"
                for (name, _), part in zip(type_.fields, fields, strict=True)
            )
            return f"named_struct({', '.join(parts)})"
        case _:
            raise InvariantViolation(f"not an expression: {plan!r}")


def predicate(plan: Expression, writer: Writer, conjunct: bool = True) -> str:
    """A condition of which only the truth counts; `conjunct` as long as only AND is around it."""
    match plan:
        case Logical(operator="and" | "or" as word, arguments=arguments):
            within = conjunct and word == "and"
            return f"({f' {word.upper()} '.join(predicate(part, writer, within) for part in arguments)})"
        case Logical(operator="not", arguments=(Subquery(kind="any") as subquery,)) if conjunct:
            return _native_in(subquery, "NOT IN", writer) or _logical(plan, writer)
        case Subquery(kind="any"):
            return _native_in(plan, "IN", writer) or _subquery(plan, writer)
        case _:
            return expression(plan, writer)


def sort_text(key: SortKey, writer: Writer) -> str:
    """One item of an ORDER BY."""
    by = functions.sort_key(SPARK, expression(key.expression, writer), key.expression.type)
    place = (
        isinstance(by, Literal) and key.expression.type.kind in SIGNED
    )  # a bare number would mean a column's
    return f"{f'({by} + 0)' if place else by} {direction(key)}"


def direction(key: SortKey) -> str:
    """The words after a sort key."""
    return f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _listed(parts: tuple[Expression, ...], writer: Writer) -> str:
    return ", ".join(expression(part, writer) for part in parts)


def _call(plan: Call, writer: Writer) -> str:
    if plan.function.name == "mz_now" and not plan.arguments:
        if writer.mz_now is None:
            raise not_supported("mz_now() in this place")
        return constant(str(writer.mz_now), MZ_TIMESTAMP)
    form, types = spark_form(plan.function), zoned_types(plan.arguments, plan.zone)
    texts = _operands(form, plan.arguments, writer)
    text = fill(form, texts, types)
    if plan.function.null_guard and texts:
        missing = " OR ".join(f"{argument} IS NULL" for argument in texts)
        return f"(CASE WHEN {missing} THEN {null_literal(plan.type)} ELSE {text} END)"
    return text


def apply(function: Function, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    """A scalar function of arguments that are texts already."""
    return fill(spark_form(function), texts, types)


def _operands(form: Form, operands: tuple[Expression, ...], writer: Writer) -> tuple[str, ...]:
    """What is put into a form: if it may have a lambda, those with a query are computed below."""
    texts: list[str] = []
    for operand in operands:
        before = writer.query_count
        text = expression(operand, writer)
        if writer.lifted is not None and writer.query_count > before and may_have_lambda(form):
            writer.lifted.append(Lifted(writer.fresh(), text))
            text = writer.lifted[-1].name
        texts.append(text)
    return tuple(texts)


def _cast(plan: Cast, writer: Writer) -> str:
    source = TEXT if plan.input.type.kind == "unknown" else in_zone(plan.input.type, plan.zone)
    target = in_zone(plan.type, plan.zone)
    find = functions.assignment_cast if plan.implicit else functions.find_cast
    entry = find(source, target)
    if entry is None:
        raise UserError(f"cannot cast type {source} to {plan.type}", "42846")
    if entry.spark is None:
        raise not_supported(f"the cast from {source} to {plan.type} on Spark")
    return fill(entry.spark, _operands(entry.spark, (plan.input,), writer), (source, target))


def _logical(plan: Logical, writer: Writer) -> str:
    texts = [expression(argument, writer) for argument in plan.arguments]
    match plan.operator:
        case "and" | "or":
            return f"({f' {plan.operator.upper()} '.join(texts)})"
        case "not":
            return f"(NOT {texts[0]})"
        case _:
            return f"({texts[0]} {plan.operator.upper()})"


def _in_list(operand: Expression, items: tuple[Expression, ...], writer: Writer) -> str:
    def key(part: Expression) -> str:
        return functions.equality_key(SPARK, expression(part, writer), part.type)

    return f"({key(operand)} IN ({', '.join(key(item) for item in items)}))"


# Subqueries


def _subquery(plan: Subquery, writer: Writer) -> str:
    match plan.kind:
        case "scalar":
            made = _scalar_subquery(plan, writer)
            return trimmed(SPARK, made) if plan.column in writer.with_zeros else made
        case "exists":
            return f"EXISTS ({writer.query(plan.root)})"
        case "array":
            return _array_subquery(plan, writer)
        case "any" | "all" if (over := _over_array(plan, writer)) is not None:
            return over
        case "any":
            found = _exists_where(plan, "{0}", writer)
            unknown = _exists_where(plan, "({0} IS NULL)", writer)
            return f"(CASE WHEN {found} THEN TRUE WHEN {unknown} THEN CAST(NULL AS BOOLEAN) ELSE FALSE END)"
        case "all":
            found = _exists_where(plan, "(NOT {0})", writer)
            unknown = _exists_where(plan, "({0} IS NULL)", writer)
            return f"(CASE WHEN {found} THEN FALSE WHEN {unknown} THEN CAST(NULL AS BOOLEAN) ELSE TRUE END)"


def _scalar_subquery(plan: Subquery, writer: Writer) -> str:
    """The value of the one row, NULL without any.

    Spark cannot run a query that calls Python from within the arguments of a Python function; such
    a query, if it stands for itself, is joined below instead.
    """
    with calling() as kernels:
        query, output = writer.query(plan.root), _output(plan)
    if writer.lifted is None or not kernels or free_column_ids(plan):
        return f"(SELECT {output} FROM ({query}))"
    name = writer.fresh()
    many = string_literal(marked_text(UserError(MANY_ROWS, "21000")))
    value = f"CASE WHEN count(*) > 1 THEN raise_error({many}) ELSE first({output}) END"
    writer.lifted.append(Lifted(name, f"SELECT {value} AS {name} FROM ({query})", query=True))
    return name


def _output(plan: Subquery) -> str:
    if plan.column is None:
        raise InvariantViolation(f"a subquery of kind {plan.kind} without a column")
    return column_name(plan.column)


def _exists_where(plan: Subquery, condition: str, writer: Writer) -> str:
    if plan.operand is None:
        raise InvariantViolation(f"a subquery of kind {plan.kind} without an operand")
    where = condition.replace("{0}", _compared(plan, expression(plan.operand, writer), _output(plan)))
    return f"EXISTS (SELECT 1 FROM ({writer.query(plan.root)}) WHERE {where})"


def _over_array(plan: Subquery, writer: Writer) -> str | None:
    """A comparison with the elements of an array, without a query; None when Spark needs one."""
    root = plan.root
    if not isinstance(root, TableFunction) or root.function.name != "unnest" or plan.operand is None:
        return None
    before = writer.query_count
    with calling() as kernels:
        operand = expression(plan.operand, writer)
    stays = isinstance(operand, Simple) or not (kernels or writer.query_count > before)
    element = writer.fresh()
    with calling() as kernels:
        compared = _compared(plan, operand, element)
    # Spark runs no Python function and no query inside a lambda.
    if kernels or not stays:
        return None
    word = "exists" if plan.kind == "any" else "forall"
    array = expression(root.arguments[0], writer)
    if root.arguments[0].type.kind == "array":
        array = elements_of_array(SPARK, array, root.arguments[0].type)
    return f"{word}({array}, {element} -> {compared})"


def _compared(plan: Subquery, operand: str, value: str) -> str:
    if plan.operand is None or plan.comparison is None:
        raise InvariantViolation(f"a subquery of kind {plan.kind} without a comparison")
    return apply(plan.comparison, (operand, value), (plan.operand.type, plan.operand.type))


def _native_in(plan: Subquery, word: str, writer: Writer) -> str | None:
    """Spark's own IN, where its equality is ours."""
    if plan.operand is None or plan.comparison is None or plan.comparison.name != "=":
        return None
    if isinstance(plan.root, TableFunction) or plan.operand.type.kind == "array":
        return None  # of a struct Spark would compare the fields with as many columns
    operand = expression(plan.operand, writer)
    output = _output(plan)
    if functions.equality_key(SPARK, output, plan.operand.type) != output:
        return None
    return f"({operand} {word} (SELECT {output} FROM ({writer.query(plan.root)})))"


def _array_subquery(plan: Subquery, writer: Writer) -> str:
    """ARRAY(SELECT ...): in the query's order, and empty rather than NULL."""
    value, node = _output(plan), plan.root
    if isinstance(node, Project):
        text = next(expression(part, writer) for column, part in node.columns if column.id == plan.column)
        if _ordered(node.input):
            value, node = text, node.input
    keys = _sort_keys(node)
    if keys is None:
        gathered = f"collect_list(struct({value} AS v))"
    else:
        texts = [
            functions.sort_key(SPARK, expression(key.expression, writer), key.expression.type) for key in keys
        ]
        gathered = ordered_list(value, keys, texts)
    made = array_of_rows(SPARK, f"transform({gathered}, e -> e.v)", plan)
    return f"(SELECT {made} FROM ({writer.query(node)}))"


def _ordered(node: Node) -> bool:
    return _sort_keys(node) is not None


def _sort_keys(node: Node) -> tuple[SortKey, ...] | None:
    match node:
        case Sort(keys=keys):
            return keys
        case Limit(input=Sort(keys=keys)):
            return keys
        case _:
            return None


def ordered_list(
    value: str, keys: tuple[SortKey, ...], texts: list[str], gather: str = "collect_list({0})"
) -> str:
    """All values as an array of struct<v, k0, k1, ...>, sorted by the keys, which `texts` spell."""
    parts = [f"{value} AS v"]
    steps: list[str] = []
    for index, (key, text) in enumerate(zip(keys, texts, strict=True)):
        parts.append(f"{text} AS k{index}")
        left, right = f"l.k{index}", f"r.k{index}"
        before = -1 if key.nulls_first else 1
        less = 1 if key.descending else -1
        steps.append(
            f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN {before}"
            f" WHEN {left} IS NOT NULL AND {right} IS NULL THEN {-before}"
            f" WHEN {left} < {right} THEN {less} WHEN {left} > {right} THEN {-less}"
        )
    gathered = gather.replace("{0}", f"struct({', '.join(parts)})")
    return f"array_sort({gathered}, (l, r) -> CASE {' '.join(steps)} ELSE 0 END)"


def constant_count(plan: Expression | None, word: str) -> int | None:
    """The number of a LIMIT or OFFSET; None when there is none."""
    while isinstance(plan, Cast):
        plan = plan.input
    if plan is None:
        return None
    if not isinstance(plan, Constant):
        raise not_supported(f"{word} with an expression on Spark")
    if plan.value is None:
        return None
    number = int(plan.value)
    if number < 0:
        raise UserError(f"{word} must not be negative", "2201W" if word == "LIMIT" else "2201X")
    return number
