"""What a kind of scalars is outside of engines: the text and the binary form of its values, both ways.

A column in stored form is shown and sent as a whole; what a client sends comes value by value, and becomes
a text that `from_text` reads, so whoever executes a statement knows a single form of arguments.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.types import SqlType, format_type

Convert = Callable[[pa.Array, SqlType], pa.Array]
Receive = Callable[[bytes, SqlType], str]


def unchanged(array: pa.Array, type_: SqlType) -> pa.Array:
    """Of a kind whose values are stored as their texts."""
    return array


def as_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """What Arrow writes of a value."""
    return array.cast(pa.string())


def decoded(data: bytes, type_: SqlType) -> str:
    """Of a kind whose binary form is its text."""
    return data.decode()


def unmodified(convert: Callable[[pa.Array], pa.Array]) -> Convert:
    """What a conversion does to a column, whatever the type's modifiers."""
    return lambda array, type_: convert(array)


@dataclass(frozen=True, slots=True)
class Kind:
    """The forms of a kind's values; what a record does not say is as with text."""

    to_text: Convert = as_text
    from_text: Convert = unchanged
    to_binary: Convert | None = None
    """What PostgreSQL's send function gives; None if that is the text."""
    binary_to_text: Receive = decoded
    """What the receive function would take, as text; ValueError, struct.error or the like for other bytes."""
    unescaped: bool = False
    """Whether its text has nothing in it that COPY's text format could have to escape."""

    def send(self, array: pa.Array, type_: SqlType) -> pa.Array:
        """Values in binary form, whichever that is."""
        if self.to_binary is None:
            return self.to_text(array, type_).cast(pa.binary())
        return self.to_binary(array, type_)


def received(receive: Receive, data: bytes, type_: SqlType) -> str:
    """The text of a value in binary form; UserError 22P03 if the bytes are not one."""
    try:
        text = receive(data, type_)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        if isinstance(error, UnicodeDecodeError):
            wrong = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
            raise UserError(f'invalid byte sequence for encoding "UTF8": {wrong}', "22021") from None
        raise UserError(f"incorrect binary data format for type {format_type(type_)}", "22P03") from None
    if "\x00" in text:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
    return text
