"""CSV: a message is one record, whose fields are text.

Separators are found for all messages at once: a delimiter counts where the quotes before it are even in number.
Fields in quotes lose these, and of two quotes in them one.  What has quotes in other places is read by Python's
csv module, which takes them as Materialize does: `a"b` is what it says, and `"a"b` is `ab`.

Pinned: `header` (names, or null), `columns` (their number) and `delimiter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.relation import Column
from headwater.core.types import TEXT
from headwater.decode.contract import Decoded, Decoder, SchemaOf
from headwater.decode.slices import sliced
from headwater.decode.text import text_and_errors
from headwater.formats.spans import bytes_of, rows_of

_QUOTE, _RETURN, _NEWLINE = 34, 13, 10
_QUOTED: Final = '^"(?:[^"]|"")*"$'


def _columns(pinned: Mapping[str, Any]) -> tuple[Column, ...]:
    names = pinned["header"] or [f"column{number}" for number in range(1, pinned["columns"] + 1)]
    return tuple(Column(name, TEXT, nullable=False) for name in names)


def _decoder(pinned: Mapping[str, Any], _schema_of: SchemaOf) -> Decoder:
    width, delimiter = len(_columns(pinned)), pinned["delimiter"]
    return sliced(lambda messages: _decode(messages, width, delimiter))


def _decode(messages: pa.Array, width: int, delimiter: str) -> Decoded:
    texts, errors = text_and_errors(messages, "CSV")
    data, offsets = bytes_of(texts)
    ends = _without_line_end(data, offsets)
    separators, counts = _separators(data, offsets, ends, ord(delimiter))
    odd = _broken(data, offsets, ends) | (np.zeros(len(texts), np.bool_) if errors is None else _bad(errors))
    odd |= counts != width - 1
    fields = _fields(data, offsets, ends, separators[~odd[rows_of(separators, offsets)]], odd, width)
    odd[~odd] = fields.is_null().to_numpy(zero_copy_only=False).reshape(-1, width).any(axis=1)
    whole = fields.filter(pa.array(np.repeat(~odd[~_before(odd, fields, width)], width)))
    return Decoded((), errors)
