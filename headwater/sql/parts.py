"""Pieces of grammar that several statements share.

Not here: option lists (options.py), types (type_names.py), and whatever belongs to
one statement alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, SqlText, quote_identifier, quote_string
from headwater.sql.words import KEYWORDS


@dataclass(frozen=True, slots=True)
class UpstreamPosition:
    """`POSITION 'text' [OF source]`."""

    text: str
    source: Name | None
    offset: int = field(default=0, compare=False)  # of the text in the statement

    def __str__(self) -> str:
        of = "" if self.source is None else f" OF {self.source}"
        return f"POSITION {quote_string(self.text)}{of}"


@dataclass(frozen=True, slots=True)
class AsOf:
    """`AS OF [AT LEAST] expression`, or `AS OF AT LEAST` some positions of upstreams."""

    expression: SqlText | None
    at_least: bool = False
    positions: tuple[UpstreamPosition, ...] = ()

    def __str__(self) -> str:
        moment = str(self.expression) if self.expression is not None else ", ".join(map(str, self.positions))
        return f"AS OF AT LEAST {moment}" if self.at_least else f"AS OF {moment}"


@dataclass(frozen=True, slots=True)
class Filter:
    """`LIKE 'pattern'` or `WHERE condition` of a SHOW; at most one of them."""

    like: str | None = None
    where: SqlText | None = None

    def __str__(self) -> str:
        if self.like is not None:
            return f" LIKE {quote_string(self.like)}"
        return "" if self.where is None else f" WHERE {self.where}"


ALTERED: Final = {
    "SOURCE": NAME_PARTS_MAX,
    "TABLE": NAME_PARTS_MAX,
    "VIEW": NAME_PARTS_MAX,
    "SECRET": NAME_PARTS_MAX,
    "CONNECTION": NAME_PARTS_MAX,
    "SCHEMA": 2,
    "CLUSTER": 1,
    "DATABASE": 1,
}
"""What can be renamed and has an owner, and of how many parts a name of each kind is at most."""


def parse_altered(cursor: Cursor) -> tuple[str, Name, bool]:
    """`ALTER kind [IF EXISTS] name`: the kind, in lower case, the name, and whether there was a condition."""
    cursor.expect("ALTER")
    kind = cursor.expect_any(*ALTERED)
    if_exists = parse_if_exists(cursor)
    return kind.lower(), cursor.name(ALTERED[kind]), if_exists


def render_altered(kind: str, name: Name, if_exists: bool) -> str:
    """The same as text."""
    return f"ALTER {kind.upper()} {'IF EXISTS ' if if_exists else ''}{name}"


def parse_filter(cursor: Cursor) -> Filter:
    """`[LIKE 'pattern' | WHERE condition]`."""
    if cursor.accept("LIKE"):
        return Filter(like=cursor.string())
    return Filter(where=cursor.span() if cursor.accept("WHERE") else None)


def parse_if_not_exists(cursor: Cursor) -> bool:
    """`[IF NOT EXISTS]`."""
    return cursor.accept("IF", "NOT", "EXISTS")


def parse_if_exists(cursor: Cursor) -> bool:
    """`[IF EXISTS]`."""
    return cursor.accept("IF", "EXISTS")


def parse_cascade(cursor: Cursor, default: bool = False) -> bool:
    """`[CASCADE | RESTRICT]`."""
    word = cursor.accept_any("CASCADE", "RESTRICT")
    if word is not None and cursor.peek().keyword in ("CASCADE", "RESTRICT"):
        raise cursor.refusal("Cannot specify both RESTRICT and CASCADE in DROP", "42601")
    return default if word is None else word == "CASCADE"


def parse_column_list(cursor: Cursor) -> tuple[str, ...]:
    """`[(a, b)]`."""
    return cursor.parenthesized(cursor.identifier) if cursor.at_symbol("(") else ()


def render_column_list(columns: tuple[str, ...]) -> str:
    """` (a, b)`, or nothing."""
    return f" ({', '.join(quote_identifier(column) for column in columns)})" if columns else ""


def render_key(columns: Iterable[str], primary: bool = True) -> str:
    """`PRIMARY KEY (a, b)` or `UNIQUE (a, b)`."""
    names = ", ".join(quote_identifier(column) for column in columns)
    return f"{'PRIMARY KEY' if primary else 'UNIQUE'} ({names})"


def parse_alias(cursor: Cursor, *clauses: str) -> str | None:
    """`[AS] alias`, where none of `clauses` begins."""
    if cursor.accept("AS"):
        return cursor.identifier()
    if cursor.at_identifier() and cursor.peek().keyword not in clauses:
        return cursor.identifier()
    return None


def render_alias(alias: str | None) -> str:
    """` AS alias`, or nothing."""
    return "" if alias is None else f" AS {quote_identifier(alias)}"


def parse_as_of(cursor: Cursor, *stops: str) -> AsOf | None:
    """`[AS OF [AT LEAST] expression | AS OF AT LEAST POSITION 'text' [OF source], ...]`."""
    if not cursor.accept("AS", "OF"):
        return None
    at_least = cursor.accept("AT", "LEAST")
    if cursor.at("POSITION") and not cursor.at_symbol("(", 1):  # it is also a function
        if not at_least:
            raise cursor.refusal(
                "AS OF a position needs AT LEAST",
                "42601",
                hint="Write AS OF AT LEAST POSITION '...': the first timestamp that shows it may show more.",
            )
        return AsOf(None, True, cursor.separated(lambda: _position(cursor)))
    return AsOf(cursor.span(*stops), at_least)


def _position(cursor: Cursor) -> UpstreamPosition:
    cursor.expect("POSITION")
    offset = cursor.position()
    text = cursor.take().value if cursor.peek().kind == "number" else cursor.string()
    return UpstreamPosition(text, cursor.name() if cursor.accept("OF") else None, offset)


def parse_setting_values(cursor: Cursor) -> tuple[str, ...] | None:
    """The values of `SET x = a, b`, as texts; None is DEFAULT."""
    if cursor.accept("DEFAULT"):
        return None

    def value() -> str:
        sign = "-" if cursor.accept_symbol("-") else "+" if cursor.accept_symbol("+") else ""
        token = cursor.peek()
        if token.kind == "number":
            return sign.removeprefix("+") + cursor.take().value
        if sign:
            raise cursor.error("literal number")
        if token.kind not in ("word", "quoted", "string"):
            raise cursor.error("variable value")
        return cursor.take().value

    return cursor.separated(value)


def render_setting_values(values: tuple[str, ...] | None) -> str:
    """Values as string literals, which read back as the same texts."""
    return "DEFAULT" if values is None else ", ".join(quote_string(value) for value in values)


def parse_variable(cursor: Cursor) -> str:
    """A variable's name, in lower case; it may have parts."""
    return ".".join(part.lower() for part in cursor.name().parts)


def render_variable(variable: str) -> str:
    """A variable's name as it is read back; `SHOW tables` would not be a variable."""
    parts = variable.split(".")
    apart = all(parts) and len(parts) <= NAME_PARTS_MAX
    return ".".join(
        f'"{part}"' if part.upper() in KEYWORDS else quote_identifier(part)
        for part in (parts if apart else [variable])
    )
