"""Option lists: `(NAME [=] value, ...)`, wherever they stand.

A list is a table from names to readers.  The name of an option is also the name of
the field that keeps it, so reading and rendering need nothing else:

    {"RETAIN HISTORY": retain_history}   <->   retain_history: Duration | None

An unknown name is refused with the names there are, a second value for a name too.

Not here: which options a statement has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from headwater.core.errors import UserError
from headwater.core.interval import Interval, parse_interval
from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, quote_identifier, quote_string
from headwater.sql.words import tree

T = TypeVar("T")

OptionReader = Callable[[Cursor], Any]
"""Takes an option's value, after its name and the optional `=`."""


@dataclass(frozen=True, slots=True)
class Duration:
    """An interval that is not negative, as it was written."""

    text: str
    interval: Interval

    @property
    def milliseconds(self) -> int:
        """Rounded down."""
        return self.interval.total_microseconds() // 1_000

    def __str__(self) -> str:
        return quote_string(self.text)


def parse_options(cursor: Cursor, readers: Mapping[str, OptionReader]) -> dict[str, Any]:
    """`(NAME [=] value, ...)`, by field name."""
    cursor.expect_symbol("(")
    options = parse_bare_options(cursor, readers)
    cursor.expect_symbol(")")
    return options


def parse_bare_options(cursor: Cursor, readers: Mapping[str, OptionReader]) -> dict[str, Any]:
    """The same without parentheses."""
    names = tree((name, name) for name in readers)
    options: dict[str, Any] = {}

    def option() -> None:
        position = cursor.error_position()
        name = cursor.choose(names)
        field = field_of(name)
        if field in options:
            raise UserError(f"{name} specified more than once", "42601", position=position)
        cursor.accept_symbol("=")
        options[field] = readers[name](cursor)

    cursor.separated(option)
    return options


def parse_with_options(cursor: Cursor, readers: Mapping[str, OptionReader]) -> dict[str, Any]:
    """`[WITH (...)]`."""
    return parse_options(cursor, readers) if cursor.accept("WITH") else {}


def exclude_or_ignore(options: dict[str, Any], position: int) -> None:
    """IGNORE COLUMNS is another word for EXCLUDE COLUMNS; both together are one too many."""
    ignored = options.pop("ignore_columns", None)
    if ignored is None:
        return
    if "exclude_columns" in options:
        raise UserError("EXCLUDE COLUMNS specified more than once", "42601", position=position)
    options["exclude_columns"] = ignored


def refused(message: str) -> OptionReader:
    """A reader of an option that only the catalog may have."""

    def refuse(cursor: Cursor) -> None:
        raise cursor.refusal(message, "22023")

    return refuse


def field_of(option: str) -> str:
    """The field that keeps an option."""
    return option.lower().replace(" ", "_")


def option_of(field: str) -> str:
    """The option that a field keeps."""
    return field.upper().replace("_", " ")


def render_options(holder: object, options: Iterable[str]) -> str:
    """`NAME = value, ...` of the options that are set; empty when none is."""
    return render_values((option, getattr(holder, field_of(option))) for option in options)


def render_values(values: Iterable[tuple[str, object]]) -> str:
    """The same of options and their values."""
    return ", ".join(
        f"{option} = {_render_value(option, value)}"
        for option, value in values
        if value is not None and value != ()
    )


def _render_value(option: str, value: object) -> str:
    if option == "RETAIN HISTORY":
        return f"FOR {value}"
    if option in ("AVAILABILITY ZONES", "TOPICS") and isinstance(value, tuple):  # texts, and no names of ours
        return f"({', '.join(map(quote_string, value))})"
    match value:
        case bool():
            return str(value).upper()
        case str():
            return quote_string(value)
        case tuple():
            items = (quote_identifier(item) if isinstance(item, str) else str(item) for item in value)
            return f"({', '.join(items)})"
        case _:
            return str(value)


def clause(keyword: str, content: str) -> str:
    """A clause on a line of its own; nothing when it has no content."""
    return f"\n{keyword} ({content})" if content else ""


# Readers of option values


def duration(cursor: Cursor) -> Duration:
    """`'1 day'` or `INTERVAL '1 day'`."""
    cursor.accept("INTERVAL")
    if cursor.peek().kind != "string":
        raise cursor.error("literal string")
    text = cursor.peek().value
    try:
        interval = parse_interval(text)
    except UserError as error:
        raise cursor.refusal(error.message, error.sqlstate) from None
    if interval.total_microseconds() < 0:
        raise cursor.refusal("cannot convert negative interval to duration", "22023")
    cursor.take()
    return Duration(text, interval)


def retain_history(cursor: Cursor) -> Duration:
    """`FOR '30d'`."""
    cursor.expect("FOR")
    return duration(cursor)


def boolean(cursor: Cursor) -> bool:
    """True, also when there is no value at all."""
    token = cursor.peek()
    if token.kind == "end" or (token.kind == "symbol" and token.value in ",)"):
        return True
    value = _BOOLEANS.get(token.value.lower()) if token.kind in ("word", "string", "number") else None
    if value is None:
        raise cursor.error("boolean")
    cursor.take()
    return value


_BOOLEANS: Final = {
    **dict.fromkeys(("true", "t", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "f", "off", "no", "0"), False),
}


def string(cursor: Cursor) -> str:
    """A string; a bare name is as good."""
    return cursor.string_or_identifier()


def integer(cursor: Cursor) -> int:
    """A whole number, not negative."""
    return cursor.integer()


def number(cursor: Cursor) -> float:
    """A number, not negative."""
    token = cursor.peek()
    if token.kind != "number" or len(token.value) > _NUMBER_CHARACTERS_MAX:
        raise cursor.error("literal number")
    value = float(token.value)
    if value == float("inf"):
        raise cursor.refusal(f'"{token.value}" is out of range for type double precision', "22003")
    cursor.take()
    return value


_NUMBER_CHARACTERS_MAX: Final = 64


def column_names(cursor: Cursor) -> tuple[str, ...]:
    """`(a, b)` or `[a, b]`, possibly empty."""
    return _sequence(cursor, cursor.identifier)


def qualified_names(cursor: Cursor) -> tuple[Name, ...]:
    """`(t.a, s.t.b)`: columns, each of a table that is named too; possibly empty."""
    return _sequence(cursor, lambda: cursor.name(parts_max=NAME_PARTS_MAX + 1))


def strings(cursor: Cursor) -> tuple[str, ...]:
    """`('a', b)` or `['a', b]`, possibly empty."""
    return _sequence(cursor, cursor.string_or_identifier)


def integers(cursor: Cursor) -> tuple[int, ...]:
    """`(1, -2)` or `[1, -2]`, possibly empty."""
    return _sequence(cursor, lambda: cursor.integer(negative=True))


def _sequence(cursor: Cursor, item: Callable[[], T]) -> tuple[T, ...]:
    closing = "]" if cursor.at_symbol("[") else ")"
    cursor.expect_symbol("[" if closing == "]" else "(")
    if cursor.accept_symbol(closing):
        return ()
    items = cursor.separated(item)
    cursor.expect_symbol(closing)
    return items
