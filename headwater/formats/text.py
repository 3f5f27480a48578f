"""Between stored forms and PostgreSQL's text, a column at a time.

    to_text     what psql would show of a column (and what a cast to text gives,
                except that a boolean is then `true` or `false`)
    from_text   what PostgreSQL would read: COPY, INSERT, parameters, casts from text

One difference, which is the dialect's: a numeric never shows needless zeros.
A type says whose clocks its moments are shown by (`in_zone`); of itself it is UTC.
Errors are `UserError` with PostgreSQL's words.

Not here: what each kind's text is (kinds/), binary forms (binary.py), names for
regclass and its kin (they need a catalog; here they are numbers).
"""

from __future__ import annotations

import pyarrow as pa

from headwater.core.types import SqlType
from headwater.formats import text_arrays, text_nested
from headwater.formats.arrow import arrow_type
from headwater.formats.columns import combined
from headwater.formats.kinds import KINDS
from headwater.formats.kinds.kind import as_text, unchanged

_CONTAINERS_TO_TEXT = {
    "array": text_arrays.array_to_text,
    "list": text_nested.list_to_text,
    "map": text_nested.map_to_text,
}
_CONTAINERS_FROM_TEXT = {
    "array": text_arrays.array_from_text,
    "list": text_nested.list_from_text,
    "map": text_nested.map_from_text,
}


def to_text(array: pa.Array | pa.ChunkedArray, type_: SqlType) -> pa.Array:
    """The text of each value; NULL stays NULL."""
    array = combined(array).cast(arrow_type(type_))
    if type_.element is not None:
        return _CONTAINERS_TO_TEXT[type_.kind](array, type_.element, to_text)
    if type_.kind == "record":
        return text_nested.record_to_text(array, type_.fields, to_text)
    return KINDS[type_.kind].to_text(array, type_)


def from_text(array: pa.Array | pa.ChunkedArray, type_: SqlType) -> pa.Array:
    """The stored form of each text; NULL stays NULL, text that is no such value is an error."""
    array = combined(array).cast(pa.string())
    if type_.element is not None:
        read = _CONTAINERS_FROM_TEXT[type_.kind]
        return read(array, type_, type_.element, from_text).cast(arrow_type(type_))
    if type_.kind == "record":
        return text_nested.record_from_text(array, type_, from_text)
    return KINDS[type_.kind].from_text(array, type_)


def unescaped(type_: SqlType) -> bool:
    """Whether no text of the type has anything in it that COPY's text format could have to escape."""
    kind = KINDS.get(type_.kind)
    return kind is not None and kind.unescaped


def written_alike(type_: SqlType) -> bool:
    """Whether any text is a value of the type, stored and shown as it is."""
    kind = KINDS.get(type_.kind)
    return kind is not None and kind.from_text is unchanged and kind.to_text is as_text
