"""Python values as stored forms, for tests: an ordinary array is given and shown as a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from headwater.core.types import SqlType
from headwater.formats.arrays import ELEMENTS, SHAPE
from headwater.formats.arrow import arrow_type


def stored_column(values: Iterable[Any], type_: SqlType) -> pa.Array:
    """A column of a type."""
    return pa.array([_stored(value, type_) for value in values], arrow_type(type_))


def _stored(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    if type_.kind == "array" and type_.element is not None:
        return {ELEMENTS: [_stored(item, type_.element) for item in value], SHAPE: None}
    if type_.kind == "record":
        return {name: _stored(value[name], field) for name, field in type_.fields}
    return value


def shown_value(value: Any) -> Any:
    """A stored value of which ordinary arrays are lists again."""
    ordinary = isinstance(value, dict) and set(value) == {ELEMENTS, SHAPE} and value[SHAPE] is None
    return value[ELEMENTS] if ordinary else value
