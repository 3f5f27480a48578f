"""Names of relations in a query's text: listing them, and replacing them where they stand.

The text is kept as its author wrote it; only the names change.  Common tables are not
relations and stay as they are.

Not here: which relation a name means (core/names.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from headwater.core.names import Names
from headwater.sql.select.parse_query import parse_query
from headwater.sql.select.recursion import deep
from headwater.sql.select.syntax import QuerySyntax, TableName
from headwater.sql.select.words import RESERVED, column_name

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def quote_name(part: str) -> str:
    """A part of a name, in quotes only where it needs them."""
    if _PLAIN.fullmatch(part) and part not in RESERVED and column_name(part):
        return part
    return '"' + part.replace('"', '""') + '"'


@deep
def relations_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The names of all relations a query reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(table.parts for table in tables_of(parse_query(text))))


@deep
def rename(text: str, mapping: Callable[[tuple[str, ...]], tuple[str, ...] | None]) -> str:
    """The text with other names of relations where `mapping` gives one.

    A relation without an alias is also known by its name in the query, so when the last part
    changes the old one becomes its alias.
    """
    pieces: list[str] = []
    done = 0
    for table in sorted(tables_of(parse_query(text)), key=lambda table: table.at):
        wanted = mapping(table.parts)
        if wanted is None or wanted == table.parts:
            continue
        pieces.append(text[done : table.at])
        pieces.append(".".join(quote_name(part) for part in wanted))
        if table.alias is None and wanted[-1] != table.parts[-1]:
            pieces.append(f" AS {quote_name(table.parts[-1])}")
        done = table.end
    return "".join((*pieces, text[done:]))


@deep
def narrow(text: str, parts: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The text with only these columns of a relation in sight."""
    pieces: list[str] = []
    done = 0
    listed = ", ".join(quote_name(column) for column in columns)
    for table in sorted(tables_of(parse_query(text)), key=lambda table: table.at):
        if table.parts == parts:
            pieces.append(f"{text[done : table.at]}(SELECT {listed} FROM {text[table.at : table.end]})")
            if table.alias is None:
                pieces.append(f" AS {quote_name(parts[-1])}")
            done = table.end
    return "".join((*pieces, text[done:]))


def qualify(text: str, names: Names) -> str:
    """The text with every relation's name in full."""

    def full(parts: tuple[str, ...]) -> tuple[str, ...]:
        found = names.find_relation(parts)
        return tuple(part for part in (found.database, found.schema, found.name) if part is not None)

    return rename(text, full)


def tables_of(query: QuerySyntax) -> Iterator[TableName]:
    """Every relation of a query that is not a common table in sight."""
    yield from _walk(query, frozenset())


def _walk(value: object, common: frozenset[str]) -> Iterator[TableName]:
    if isinstance(value, TableName):
        if len(value.parts) > 1 or value.parts[0] not in common:
            yield value
        return
    if isinstance(value, QuerySyntax):
        common = common | {item.name for item in value.with_items if item.recursive}
        for item in value.with_items:
            yield from _walk(item.query, common)
            common = common | {item.name}
        for part in (value.body, value.order_by, value.limit, value.offset):
            yield from _walk(part, common)
        return
    if isinstance(value, tuple):
        for part in value:
            yield from _walk(part, common)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _walk(getattr(value, field.name), common)
