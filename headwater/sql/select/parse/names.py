"""Names of relations in a query's text: listing them, and replacing them where they stand.

The text is kept as its author wrote it; only the names change.  Common tables are not
relations and stay as they are.

Not here: which relation a name means (core/names.py), which of a query's relations a column's
qualifier means (qualifiers.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType

from headwater.core.names import Names
from headwater.core.quoting import quoted
from headwater.sql.lexer import tokenize
from headwater.sql.select.depth import deep
from headwater.sql.select.parse.qualifiers import Entries, Parts, Qualifier, RelationEntry, entries_of
from headwater.sql.select.parse.query import parse_query
from headwater.sql.select.parse.syntax import QuerySyntax, TableName
from headwater.sql.select.parse.words import RESERVED, column_name

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def quote_name(part: str) -> str:
    """A part of a name, in quotes only where it needs them."""
    if _PLAIN.fullmatch(part) and part not in RESERVED and column_name(part):
        return part
    return quoted(part)


@deep
def relations_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The names of all relations a query reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(table.parts for table in tables_of(parse_query(text))))


@deep
def rename(
    text: str, mapping: Callable[[Parts], Parts | None], path: Callable[[Parts], Parts] = tuple
) -> str:
    """The text with other names of relations where `mapping` gives one.

    `path` is what a name is in full, where the text does not say it.  Columns qualified by more
    than the relation's name get its new name in full.  A relation without an alias is
    also known by its name in the query, so when the last part changes the old one becomes its
    alias, or another name if that is needed to tell it from others.
    """
    edits = _Edits(text)
    entries = entries_of(parse_query(text), path)
    for entry in entries.relations:
        table = entry.table
        wanted = mapping(table.parts) or entry.path
        if wanted[-1] == entry.path[-1]:
            if wanted != table.parts:
                edits.put(table.at, table.end, _written(wanted))
            edits.requalify((q for q in entry.qualifiers if len(q.parts) > 1), wanted)
        else:
            _put_aliased(edits, entries, entry, _written(wanted))
    return edits.text()


@deep
def narrow(text: str, parts: Parts, columns: Parts, absent: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text with only these columns of a relation, which it names in full, in sight.

    `absent` are the types of those that the relation does not have and nobody needs: they keep the
    places of the others.
    """
    edits = _Edits(text)
    entries = entries_of(parse_query(text), tuple)
    listed = ", ".join(
        f"NULL::{absent[column]} AS {quote_name(column)}" if column in absent else quote_name(column)
        for column in columns
    )
    for entry in entries.relations:
        if entry.path == parts:
            _put_aliased(edits, entries, entry, f"(SELECT {listed} FROM {_written(parts)})")
    return edits.text()


def qualify(text: str, names: Names) -> str:
    """The text with every relation's name in full, before columns too if they were qualified so."""

    def full(parts: Parts) -> Parts:
        found = names.find_relation(parts)
        return tuple(part for part in (found.database, found.schema, found.name) if part is not None)

    return rename(text, full, full)


def _put_aliased(edits: _Edits, entries: Entries, entry: RelationEntry, wanted: str) -> None:
    """Puts something in a relation's place that has another name, or none.

    Columns qualified by the relation's name alone find it under the alias as before.  Others
    would not, and get the alias: nothing else in the query may have that name then.
    """
    table, alias = entry.table, entry.name
    clear = all(len(qualifier.parts) == 1 for qualifier in entry.qualifiers)
    kept = clear and (table.alias is not None or alias not in entry.beside)
    if not kept and entries.names[alias] > 1:
        alias = entries.unused(alias)
    edits.requalify((q for q in entry.qualifiers if q.parts != (alias,)), (alias,))
    if table.alias is not None:
        edits.put(table.begin, table.end, wanted)
        if alias != table.alias.name:
            edits.put(table.alias.at, table.alias.end, quote_name(alias))
    elif table.whole:
        edits.put(table.begin, table.end, f"SELECT * FROM {wanted} AS {quote_name(alias)}")
    else:
        edits.put(table.begin, table.end, f"{wanted} AS {quote_name(alias)}")


def _written(parts: Parts) -> str:
    return ".".join(quote_name(part) for part in parts)


class _Edits:
    """Pieces of a text that are to be others."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._places = {token.start: place for place, token in enumerate(self._tokens)}
        self._edits: list[tuple[int, int, str]] = []

    def put(self, at: int, end: int, piece: str) -> None:
        self._edits.append((at, end, piece))

    def requalify(self, qualifiers: Iterable[Qualifier], wanted: Parts) -> None:
        """Other parts before a column's name or star."""
        for qualifier in qualifiers:
            if qualifier.parts != wanted:
                last = self._places[qualifier.at] + 2 * (len(qualifier.parts) - 1)  # dots are tokens too
                self.put(qualifier.at, self._tokens[last].end, _written(wanted))

    def text(self) -> str:
        pieces: list[str] = []
        done = 0
        for at, end, piece in sorted(self._edits):
            pieces += [self._text[done:at], piece]
            done = end
        return "".join((*pieces, self._text[done:]))


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
