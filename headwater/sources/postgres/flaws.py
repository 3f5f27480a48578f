"""Values of an upstream that cannot be stored: found among a column's, and told of row by row.

A column is converted as a whole.  Only if that fails is it halved, again and again, until what cannot be
converted stands alone: a column without such values costs nothing, one with a few costs little.

Not here: what is done about them (core/flaws.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from headwater.core import flaws
from headwater.core.errors import UserError
from headwater.core.flaws import Flaw, Flaws
from headwater.core.types import SqlType
from headwater.formats.text import from_text
from headwater.sources.contract import Export

_VALUE_SHOWN_MAX: Final = 60
Convert = Callable[[pa.Array], pa.Array]


def as_far(
    array: pa.Array, convert: Convert, type_: pa.DataType, shown: Callable[[pa.Array], str]
) -> tuple[pa.Array, dict[int, Flaw]]:
    """What `convert` makes of the values; NULL where it cannot, and by place what was there and why not."""
    try:
        return convert(array), {}
    except (UserError, pa.ArrowInvalid) as error:
        if len(array) == 1:
            value = shown(array)
            return pa.nulls(1, type_), {0: Flaw(value, _reason(error, value))}
    middle = len(array) // 2
    halves = [as_far(half, convert, type_, shown) for half in (array[:middle], array[middle:])]
    (before, left), (after, right) = halves
    values = pa.concat_arrays([before.cast(type_), after.cast(type_)])
    return values, left | {middle + place: flaw for place, flaw in right.items()}


def _reason(error: Exception, value: str) -> str:
    if isinstance(error, UserError):
        return error.message.removesuffix(f': "{value}"')  # which is told anyway
    return "it is out of range"


def typed(texts: pa.Array, type_: SqlType) -> pa.Array:
    """Values that PostgreSQL has printed, in stored form; UserError if one cannot be."""
    check_text(texts)
    return from_text(texts, type_)


def check_text(texts: pa.Array) -> None:
    """UserError unless all of it is UTF-8, which an upstream with the encoding SQL_ASCII does not see to."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UserError("it is not text in UTF-8", "22021") from error


def printed(texts: pa.Array) -> str:
    """A single text; bytes that are no UTF-8 as \\xff."""
    return bytes(texts.cast(pa.binary())[0].as_py()).decode("utf-8", "backslashreplace")


def bad_key(export: Export, position: int, flaw: Flaw) -> str:
    """Why a table ends: a row whose key cannot be stored could never be found again."""
    value = flaw.value if len(flaw.value) <= _VALUE_SHOWN_MAX else f"{flaw.value[:_VALUE_SHOWN_MAX]}..."
    column = f'column "{export.columns[position]}", part of the key,'
    return f'value "{value}" of {column} cannot be stored: {flaw.why}'


class RowFlaws:
    """Those of a batch of rows, as they are found."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._rows: dict[int, dict[str, Flaw]] = {}

    def add(self, position: int, found: Mapping[int, Flaw]) -> None:
        """Of the column at this place of the table: flaws by row."""
        name = self._export.relation.columns[position].name
        for row, flaw in found.items():
            self._rows.setdefault(row, {})[name] = flaw

    def column(self, rows: int, position: Callable[[int], str]) -> list[pa.Array]:
        """The column that tells of them, if there are any; `position`: where upstream a row is from."""
        if not self._rows:
            return []
        texts: list[str | None] = [None] * rows
        for row, found in self._rows.items():
            texts[row] = flaws.to_text(Flaws(found, position(row)))
        return [pa.array(texts, pa.string())]
