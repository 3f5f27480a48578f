"""Reads the name of a type.

Not here: which type it is (bind/types_by_name.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import not_supported, syntax_error
from headwater.sql.select.parse.cursor import Cursor
from headwater.sql.select.parse.syntax import INTERVAL_FIELDS, TypeName
from headwater.sql.select.parse.words import RESERVED, word_set

LITERAL_STARTS: Final = word_set(
    """bigint bit boolean char character dec decimal double float int integer national nchar numeric real
    smallint time timestamp varchar"""
)
"""Words that may begin a typed literal whose type is more than one word or has modifiers."""

_LAST_FIELDS: Final = {
    "year": ("month",),
    "day": ("hour", "minute", "second"),
    "hour": ("minute", "second"),
    "minute": ("second",),
}
"""What may follow a field of an interval after TO."""


def parse_type(cursor: Cursor) -> TypeName:
    """A type with its modifiers and array brackets."""
    at = cursor.token.start
    cursor.take_word("setof")
    mapped = cursor.word("map") and cursor.mark("[", ahead=1)
    name = _map(cursor, at) if mapped else _plain(cursor, at)
    dimensions = lists = 0
    while True:
        if cursor.mark("[") and (cursor.mark("]", ahead=1) or cursor.mark("]", ahead=2)):
            cursor.take()
            if cursor.token.kind == "number":
                cursor.take()
            cursor.expect_mark("]")
            dimensions += 1
        elif cursor.take_word("array"):
            dimensions += 1
        elif cursor.take_word("list"):
            lists += 1
        else:
            break
    if dimensions and lists:
        raise not_supported("an array of lists", position=at + 1)
    return TypeName(name.parts, name.modifiers, at, name.quoted, dimensions, lists, name.element, name.fields)


def _map(cursor: Cursor, at: int) -> TypeName:
    cursor.take()
    cursor.take()
    key_at = cursor.token.start
    key = parse_type(cursor)
    if key.parts != ("text",):
        raise not_supported("a map with keys that are not text", position=key_at + 1)
    cursor.expect_mark("=>")
    cursor.enter()
    element = parse_type(cursor)
    cursor.leave()
    cursor.expect_mark("]")
    return TypeName(("map",), (), at, element=element)


def _plain(cursor: Cursor, at: int) -> TypeName:
    token = cursor.token
    if token.kind == "quoted":
        cursor.take()
        parts, quoted = [token.value], True
    elif token.kind == "word" and token.value not in RESERVED:
        cursor.take()
        parts, quoted = [token.value], False
    else:
        raise cursor.expected("a data type name")
    while cursor.mark(".") and cursor.peek().kind in ("word", "quoted"):
        cursor.take()
        quoted = cursor.token.kind == "quoted"
        parts.append(cursor.label())
    if len(parts) > 1 or quoted:
        return TypeName(tuple(parts), modifiers(cursor), at, quoted)
    return _several_words(cursor, parts[0], at)


def _several_words(cursor: Cursor, word: str, at: int) -> TypeName:
    if word == "interval":
        digits = modifiers(cursor)
        fields = None
        if not digits:
            fields, digits = interval_fields(cursor)
        return TypeName((word,), digits, at, fields=fields)
    if word == "double" and cursor.take_word("precision"):
        return TypeName(("double precision",), (), at)
    if word == "national":
        word = "char" if cursor.take_word("character", "char") else word
    if word in ("character", "char", "nchar"):
        varying = cursor.take_word("varying") is not None
        return TypeName(("varchar" if varying else "char",), modifiers(cursor), at)
    given = modifiers(cursor)
    if word in ("time", "timestamp"):
        if cursor.words("with", "time", "zone"):
            cursor.take_words("with", "time", "zone")
            word += "tz"
        else:
            cursor.take_words("without", "time", "zone")
    return TypeName((word,), given, at)


def interval_fields(cursor: Cursor) -> tuple[str | None, tuple[int, ...]]:
    """YEAR, DAY TO SECOND(3) and the like after INTERVAL, with the digits of the seconds."""
    first = cursor.take_word(*INTERVAL_FIELDS)
    if first is None:
        return None, ()
    fields = first
    if cursor.take_word("to"):
        last = cursor.take_word(*_LAST_FIELDS.get(first, ()))
        if last is None:
            raise cursor.expected("an interval field")
        fields = f"{first} to {last}"
    return fields, modifiers(cursor) if fields.endswith("second") else ()


def modifiers(cursor: Cursor) -> tuple[int, ...]:
    """The numbers in parentheses after a type's name, if there are any."""
    if not cursor.mark("("):
        return ()
    cursor.take()
    values: list[int] = []
    while True:
        sign = -1 if cursor.take_mark("-") else 1
        token = cursor.token
        if token.kind != "number" or not token.value.isdigit():
            raise syntax_error("type modifiers must be whole numbers", token.start + 1)
        cursor.take()
        values.append(sign * int(token.value))
        if not cursor.take_mark(","):
            break
    cursor.expect_mark(")")
    return tuple(values)
