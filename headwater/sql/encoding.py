"""Encoding: what the bytes of messages are, and which rows they become.

    [FORMAT format | KEY FORMAT format VALUE FORMAT format]
    [INCLUDE metadata, ...]
    [ENVELOPE {NONE | DEBEZIUM | UPSERT [(VALUE DECODING ERRORS [=] (INLINE [AS name]))] | MATERIALIZE}]

    metadata    {KEY | PARTITION | OFFSET | TIMESTAMP | HEADERS} [AS name]  |  HEADER 'k' AS name [BYTES]

A bare FORMAT is the value's.  The inner parentheses of UPSERT may be left out.

Not here: the formats themselves (formats.py), which of all this goes together and with
which upstream, and the decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from headwater.sql.cursor import Cursor, Name, quote_string
from headwater.sql.formats import Format, connection_of, parse_format, renamed
from headwater.sql.parts import render_alias
from headwater.sql.words import Branch, tree

Part = Literal["key", "partition", "offset", "timestamp", "headers"]


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part that every message has; the column is called like it, or by the alias."""

    part: Part
    alias: str | None = None

    def __str__(self) -> str:
        return self.part.upper() + render_alias(self.alias)


@dataclass(frozen=True, slots=True)
class Header:
    """One header by its key; text unless it is `binary`."""

    key: str
    alias: str
    binary: bool = False

    def __str__(self) -> str:
        binary = " BYTES" if self.binary else ""
        return f"HEADER {quote_string(self.key)}{render_alias(self.alias)}{binary}"


Metadata = MessagePart | Header
"""What is written after INCLUDE."""

INCLUDABLE: Final = {
    "partition": MessagePart("partition"),
    "offset": MessagePart("offset"),
    "timestamp": MessagePart("timestamp"),
    "headers": MessagePart("headers"),
}
"""What every message has, whatever its formats."""

EnvelopeType = Literal["none", "debezium", "upsert", "materialize"]


@dataclass(frozen=True, slots=True)
class InlineErrors:
    """A value that cannot be decoded becomes a row with the error in a column, of this name if it has one."""

    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """How messages become changes; only UPSERT has errors inline."""

    type: EnvelopeType
    inline_errors: InlineErrors | None = None

    def __str__(self) -> str:
        if self.inline_errors is None:
            return self.type.upper()
        alias = render_alias(self.inline_errors.alias)
        return f"{self.type.upper()} (VALUE DECODING ERRORS = (INLINE{alias}))"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The clauses together; what is not said is None or empty.  A key has a format only beside a value."""

    key_format: Format | None = None
    value_format: Format | None = None
    include: tuple[Metadata, ...] = ()
    envelope: Envelope | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is said at all."""
        return self == Encoding()

    @property
    def key_format_name(self) -> str | None:
        """`avro`, `csv`, ...; None when the key has no format."""
        return None if self.key_format is None else self.key_format.name

    @property
    def value_format_name(self) -> str | None:
        """The same of the value, which a bare FORMAT is about."""
        return None if self.value_format is None else self.value_format.name

    @property
    def envelope_type(self) -> EnvelopeType | None:
        """None when it is not said, which is not NONE."""
        return None if self.envelope is None else self.envelope.type

    def names(self) -> tuple[Name, ...]:
        """The connections that the formats name, the key's first."""
        connections = (connection_of(format_) for format_ in (self.key_format, self.value_format))
        return tuple(name for name in connections if name is not None)

    def including(self, parts: tuple[str, ...]) -> Encoding:
        """The same with more parts of messages, under their own names."""
        more = tuple(INCLUDABLE[part] for part in parts)
        return replace(self, include=(*self.include, *more))

    def rename(self, mapping: Callable[[Name], Name]) -> Encoding:
        """The same with other names for the connections."""
        key, value = renamed(self.key_format, mapping), renamed(self.value_format, mapping)
        return replace(self, key_format=key, value_format=value)

    def render(self) -> str:
        """Each clause on a line of its own, after the line before; nothing when nothing is said."""
        lines = []
        if self.key_format is not None:
            lines.append(f"KEY FORMAT {self.key_format.render()}")
        if self.value_format is not None:
            word = "FORMAT" if self.key_format is None else "VALUE FORMAT"
            lines.append(f"{word} {self.value_format.render()}")
        if self.include:
            lines.append(f"INCLUDE {', '.join(map(str, self.include))}")
        if self.envelope is not None:
            lines.append(f"ENVELOPE {self.envelope}")
        return "".join(f"\n{line}" for line in lines)


def parse_encoding(cursor: Cursor) -> Encoding:
    """The clauses that are there, in this order."""
    key_format = value_format = None
    if cursor.accept("KEY"):
        cursor.expect("FORMAT")
        key_format = parse_format(cursor)
        cursor.expect("VALUE", "FORMAT")
        value_format = parse_format(cursor)
    elif cursor.accept("FORMAT"):
        value_format = parse_format(cursor)
    include = cursor.separated(lambda: _metadata(cursor)) if cursor.accept("INCLUDE") else ()
    envelope = _envelope(cursor) if cursor.accept("ENVELOPE") else None
    return Encoding(key_format, value_format, include, envelope)


def _metadata(cursor: Cursor) -> Metadata:
    part = cursor.choose(_PARTS)
    if part != "header":
        return MessagePart(part, cursor.identifier() if cursor.accept("AS") else None)
    key = cursor.string()
    cursor.expect("AS")
    return Header(key, cursor.identifier(), cursor.accept("BYTES"))


def _envelope(cursor: Cursor) -> Envelope:
    type_ = cursor.choose(_ENVELOPES)
    if type_ != "upsert" or not cursor.accept_symbol("("):
        return Envelope(type_)
    cursor.expect("VALUE", "DECODING", "ERRORS")
    cursor.accept_symbol("=")
    nested = cursor.accept_symbol("(")
    cursor.expect("INLINE")
    errors = InlineErrors(cursor.identifier() if cursor.accept("AS") else None)
    if nested:
        cursor.expect_symbol(")")
    cursor.expect_symbol(")")
    return Envelope(type_, errors)


_PARTS: Final[Branch[Part | Literal["header"]]] = tree(
    [
        ("KEY", "key"),
        ("PARTITION", "partition"),
        ("OFFSET", "offset"),
        ("TIMESTAMP", "timestamp"),
        ("HEADERS", "headers"),
        ("HEADER", "header"),
    ]
)
_ENVELOPES: Final[Branch[EnvelopeType]] = tree(
    [("NONE", "none"), ("DEBEZIUM", "debezium"), ("UPSERT", "upsert"), ("MATERIALIZE", "materialize")]
)
