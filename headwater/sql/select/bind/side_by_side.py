"""Several set-returning functions of one SELECT list, made one: row by row, NULL where one has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater.core.errors import InvariantViolation
from headwater.core.types import SqlType
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.plan.nodes import TableFunction


def side_by_side(functions: Sequence[TableFunction]) -> TableFunction:
    """A function of all their arguments, whose columns are theirs."""
    columns = tuple(function.columns[0] for function in functions)
    made = Function(
        "rows from",
        tuple(argument.type for function in functions for argument in function.arguments),
        columns[0].type,
        _zipped(functions, _duckdb_rows, [function.function.duckdb for function in functions]),
        _zipped(functions, _spark_rows, [function.function.spark for function in functions]),
        "table",
        columns=tuple((f"s{i}", column.type) for i, column in enumerate(columns)),
        zoned=any(function.function.zoned for function in functions),
    )
    arguments = tuple(argument for function in functions for argument in function.arguments)
    return TableFunction(made, arguments, columns)


def _zipped(
    functions: Sequence[TableFunction], rows: Callable[[list[str]], str], forms: list[Form | None]
) -> Form | None:
    if any(form is None for form in forms):
        return None

    def form(texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
        lists, begin = [], 0
        for function, one in zip(functions, forms, strict=True):
            end = begin + len(function.arguments)
            lists.append(_applied(one, texts[begin:end], types[begin:end]))
            begin = end
        return rows(lists)

    return form


def _applied(form: Form | None, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    if form is None:
        raise InvariantViolation("a function without this engine's form")
    return form.format(*texts) if isinstance(form, str) else form(texts, types)


def _duckdb_rows(lists: list[str]) -> str:
    longest = f"greatest({', '.join(f'len({one})' for one in lists)})"
    items = ", ".join(f"'s{i}': ({one})[i + 1]" for i, one in enumerate(lists))
    return f"list_transform(range({longest}), lambda i: {{{items}}})"


def _spark_rows(lists: list[str]) -> str:
    items = ", ".join(f"'s{i}', x.`{i}`" for i in range(len(lists)))
    # A list that has a name would give it to the field.
    nameless = ", ".join(f"concat({one})" for one in lists)
    return f"transform(arrays_zip({nameless}), x -> named_struct({items}))"
