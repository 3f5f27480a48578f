"""Headers of messages as columns: all of them, or the last one of a name.

All pairs lie in one row, and which are a message's is told by where they begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.decode.text import text_and_errors
from headwater.sources.kafka.consume import Messages

_NO_KEY: Final = "Found ill-formed byte sequence in the key of a header that cannot be decoded as valid utf-8"


class Headers:
    """Those of some messages, for one table; read when they are asked for."""

    def __init__(self, found: Messages) -> None:
        self._found = found
        self.missing: dict[int, str] = {}  # by message, why it has not what was asked for

    def all(self) -> pa.Array:
        """A list of keys and values for each message."""
        pairs = pa.StructArray.from_arrays([self._keys, self._values], ["key", "value"])
        return pa.ListArray.from_arrays(pa.array(self._begins), pairs)

    def column(self, name: str, binary: bool) -> pa.Array:
        """The last value under this name; `missing` gets messages that have none, or one that is no text."""
        places = self._places(name)
        for message in np.flatnonzero(places < 0).tolist():
            begin, end = self._begins[message : message + 2]
            there = ", ".join(self._keys[begin:end].to_pylist())
            self.missing.setdefault(
                message, f"A header with key '{name}' was not found in the message headers: [{there}]"
            )
        values = self._values.take(pa.array(places, mask=places < 0))
        if binary:
            return values
        texts, errors = text_and_errors(values.fill_null(b""), name)
        if errors is not None:
            for message in np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)).tolist():
                self.missing[message] = _no_text(name, errors[message].as_py())
        return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.string()))

    def _places(self, name: str) -> np.ndarray[Any, Any]:
        """For each message the place of the last header of this name among all; below zero: there is none."""
        found = np.flatnonzero(pc.equal(self._keys, name).to_numpy(zero_copy_only=False))
        owners = np.searchsorted(self._begins, found, side="right") - 1
        places = np.full(len(self._found), -1, np.int64)
        np.maximum.at(places, owners, found)
        return places

    @cached_property
    def _lists(self) -> list[Sequence[Any]]:
        lists = self._found.headers
        self.missing |= {place: _NO_KEY for place, pairs in enumerate(lists) if pairs is None}
        return [pairs or () for pairs in lists]

    @cached_property
    def _begins(self) -> np.ndarray[Any, Any]:
        return np.cumsum([0, *map(len, self._lists)], dtype=np.int32)

    @cached_property
    def _keys(self) -> pa.Array:
        return pa.array([key for key, _ in chain.from_iterable(self._lists)], pa.string())

    @cached_property
    def _values(self) -> pa.Array:
        return pa.array([value for _, value in chain.from_iterable(self._lists)], pa.binary())


def _no_text(name: str, why: str) -> str:
    if why.endswith("0x00"):
        return f"Found a zero byte in header '{name}', which a text cannot have"
    return f"Found ill-formed byte sequence in header '{name}' that cannot be decoded as valid utf-8"
