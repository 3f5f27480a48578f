"""Values of an upstream that cannot be stored: found among a column's, and told of row by row.

A column is converted as a whole.  Only if that fails is it halved, again and again, until what cannot be
converted stands alone: a column without such values costs nothing, one with a few costs little.  Errors that
nobody foresaw are of their values as well, unless they are many.

Not here: what is done about them (core/flaws.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headwater.core import flaws
from headwater.core.errors import DefiniteError, UserError
from headwater.core.flaws import Flaw, Flaws
from headwater.core.limits import DEFECTS_TOLD_MAX, VALUES_UNFORESEEN_MAX
from headwater.sources.contract import Export
from headwater.sources.unforeseen import OF_OTHERS, named, where

_VALUE_SHOWN_MAX: Final = 60
_FORESEEN: Final = (UserError, pa.ArrowInvalid)
Convert = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class Defect(Flaw):
    """A value at which the conversion has a defect, and where."""

    where: str


def as_far(
    array: pa.Array, convert: Convert, type_: pa.DataType, shown: Callable[[pa.Array], str]
) -> tuple[pa.Array, dict[int, Flaw]]:
    """What `convert` makes of the values; NULL where it cannot, and by place what was there and why not."""
    return _as_far(array, convert, type_, shown, [VALUES_UNFORESEEN_MAX])


def _as_far(
    array: pa.Array,
    convert: Convert,
    type_: pa.DataType,
    shown: Callable[[pa.Array], str],
    left: list[int],  # how many more values may be to blame for what nobody foresaw
) -> tuple[pa.Array, dict[int, Flaw]]:
    try:
        return convert(array), {}
    except OF_OTHERS:
        raise
    except Exception as error:
        if not len(array):
            raise
        if len(array) == 1:
            if not isinstance(error, _FORESEEN):
                left[0] -= 1
                if left[0] < 0:
                    raise
            return pa.nulls(1, type_), {0: _flaw(error, shown(array))}
    middle = len(array) // 2
    halves = [_as_far(half, convert, type_, shown, left) for half in (array[:middle], array[middle:])]
    (before, first), (after, second) = halves
    values = pa.concat_arrays([before.cast(type_), after.cast(type_)])
    return values, first | {middle + place: flaw for place, flaw in second.items()}


def _flaw(error: Exception, value: str) -> Flaw:
    if isinstance(error, _FORESEEN):
        return Flaw(value, _reason(error, value))
    return Defect(value, f"internal error: {named(error)}", where(error))


def _reason(error: Exception, value: str) -> str:
    if isinstance(error, UserError):
        return error.message.removesuffix(f': "{value}"')  # which is told anyway
    return "it is out of range"


class RowFlaws:
    """Those of a batch of rows, as they are found."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._rows: dict[int, dict[str, Flaw]] = {}
        self._keys: dict[int, bytes] = {}
        self._key = export.relation.keys[0] if export.discipline == "keyed" else ()
        self.defects: tuple[str, ...] = ()  # where errors came about that nobody foresaw

    def add(self, position: int, found: Mapping[int, Flaw], texts: pa.Array | None = None) -> None:
        """Of the column at this place of the table: flaws by row; `texts`: what the upstream sent, where a
        flaw's own text may not say all of it."""
        name = self._export.relation.columns[position].name
        for row, flaw in found.items():
            self._rows.setdefault(row, {})[name] = flaw
            if isinstance(flaw, Defect):
                self.defects = (*self.defects, flaw.where)[:DEFECTS_TOLD_MAX]
        if found and position in self._key:
            self._add_to_keys(position, found, texts)

    def _add_to_keys(self, position: int, found: Mapping[int, Flaw], texts: pa.Array | None) -> None:
        """A zero, which no value that is shown as text has, ends each part, so that no two keys are alike."""
        name = self._export.columns[position].encode()
        for row, flaw in found.items():
            value = flaw.value.encode()
            if texts is not None and pa.types.is_string(texts.type):
                value = texts.slice(row, 1).cast(pa.binary())[0].as_py()
            self._keys[row] = b"%b%b\0%b\0" % (self._keys.get(row, b""), name, value)

    def columns(self, rows: int, position: Callable[[int], str]) -> list[pa.Array]:
        """What tells keys apart that could not be stored, if the table has such a column; then the column
        that tells of all flaws, if there are any.  `position`: where upstream a row is from."""
        odd = [pa.nulls(rows, pa.binary())] if self._export.odd_keys else []
        if not self._rows:
            return odd
        if self._keys and not odd:
            raise self._ends(position)
        if self._keys:
            odd = [pa.array(map(self._keys.get, range(rows)), pa.binary())]
        texts: list[str | None] = [None] * rows
        for row, found in self._rows.items():
            texts[row] = flaws.to_text(Flaws(found, position(row)))
        return [*odd, pa.array(texts, pa.string())]

    def _ends(self, position: Callable[[int], str]) -> DefiniteError:
        """A row whose key could not be foreseen to have such values could never be found again."""
        row = min(self._keys)
        place = next(p for p in self._key if self._export.relation.columns[p].name in self._rows[row])
        flaw = self._rows[row][self._export.relation.columns[place].name]
        value = flaw.value if len(flaw.value) <= _VALUE_SHOWN_MAX else f"{flaw.value[:_VALUE_SHOWN_MAX]}..."
        column = f'column "{self._export.columns[place]}", part of the key,'
        message = f'value "{value}" of {column} cannot be stored: {flaw.why}'
        doubtful = isinstance(flaw, Defect)
        return DefiniteError(".".join(self._export.reference), position(row), message, doubtful=doubtful)

    def __bool__(self) -> bool:
        return bool(self._rows)
