"""The options of COPY, in parentheses or in the words of old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor
from headwater.sql.options import OptionReader, boolean, field_of, parse_options, render_options


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How COPY writes or reads; None is the format's own default."""

    format: str = "text"  # text, csv or binary
    delimiter: str | None = None
    null: str | None = None
    header: bool | None = None
    quote: str | None = None
    escape: str | None = None

    def render(self) -> str:
        options = render_options(self, [name for name in COPY_OPTIONS if name != "FORMAT"])
        return f"WITH (FORMAT = {self.format}{', ' if options else ''}{options})"


def _copy_format(cursor: Cursor) -> str:
    token = cursor.peek()
    if token.kind not in ("word", "quoted", "string") or token.value.lower() not in ("text", "csv", "binary"):
        raise cursor.error("TEXT", "CSV", "BINARY")
    return cursor.take().value.lower()


def _one_byte(cursor: Cursor) -> str:
    token = cursor.peek()
    value = cursor.string()
    if len(value) != 1 or ord(value) > 127:
        raise UserError(
            "COPY delimiter, quote and escape must be a single one-byte character",
            "22023",
            position=token.start + 1,
        )
    return value


COPY_OPTIONS: Final[dict[str, OptionReader]] = {
    "FORMAT": _copy_format,
    "DELIMITER": _one_byte,
    "NULL": Cursor.string,
    "HEADER": boolean,
    "QUOTE": _one_byte,
    "ESCAPE": _one_byte,
}


def parse_copy_options(cursor: Cursor) -> CopyOptions:
    """`[WITH] (FORMAT csv, ...)`, or the words of old: `[WITH] CSV HEADER DELIMITER AS ','`."""
    explicit = cursor.accept("WITH")
    if cursor.at_symbol("("):
        return CopyOptions(**parse_options(cursor, COPY_OPTIONS))
    options: dict[str, Any] = {}
    words = ("CSV", "BINARY", "HEADER", "DELIMITER", "NULL", "QUOTE", "ESCAPE")
    while not cursor.at_end() or (explicit and not options):
        position = cursor.error_position()
        word = cursor.expect_any(*words)
        field = "format" if word in ("CSV", "BINARY") else field_of(word)
        if field in options:
            raise UserError(f"{word} specified more than once", "42601", position=position)
        if field == "format":
            options[field] = word.lower()
        elif field == "header":
            options[field] = True
        else:
            cursor.accept("AS")
            options[field] = COPY_OPTIONS[word](cursor)
    return CopyOptions(**options)
