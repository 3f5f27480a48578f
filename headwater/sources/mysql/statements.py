"""Statements in the binary log, and what they may do to rows that no row event tells of.

    TRUNCATED   all rows of a table are gone
    DROPPED     a table is gone, with all tables of its schema perhaps
    RENAMED     a table is under another name, or another table under its name
    ALTERED     its columns may be others; `rows`: also values and rows that are there
    WRITTEN     rows of any tables were changed by a statement that is in the log as a statement
    UNCERTAIN   changes are in the log that are not in the table: an XA transaction that is only prepared, or
                one that was rolled back in part

Everything else leaves rows as they are.  Names are told as they are written; a schema that is not is that of
the session.

Not here: what becomes of our tables (watch.py), events (events.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Final

from headwater.sources.mysql.transactions import Query

Name = tuple[str, str]
"""Schema and table."""


class Effect(Enum):
    """What a statement does."""

    TRUNCATED = "truncated"
    DROPPED = "dropped"
    RENAMED = "renamed"
    ALTERED = "altered"
    WRITTEN = "written"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Statement:
    """One that matters; `tables`: those it names, with the table `*` for a whole schema."""

    effect: Effect
    tables: tuple[Name, ...]
    text: str
    words: frozenset[str] = frozenset()  # of an ALTER TABLE: all its words and names, in lower case
    rows: bool = False

    def names(self, table: Name) -> bool:
        """Whether it is about a table."""
        return table in self.tables or (table[0], "*") in self.tables


_TEXT_SHOWN_MAX: Final = 120
_TOKENS: Final = r"""
      (?P<skipped> \s+ | \#[^\n]* | --(?=\s|$)[^\n]* | /\*(?![!M])(?:.|\n)*?\*/ | /\*M?!\d* | \*/ )
    | `(?P<quoted>(?:[^`]|``)*)`
    | (?P<text> '(?:[^'ESCAPE]|''|ESCAPE.)*' | "(?:[^"ESCAPE]|""|ESCAPE.)*" )
    | (?P<word> [\w$@]+ )
    | (?P<sign> . )
    """
_TOKEN: Final = re.compile(_TOKENS.replace("ESCAPE", r"\\"), re.VERBOSE | re.DOTALL)
_PLAIN_TOKEN: Final = re.compile(re.sub(r"\|?ESCAPE\.?", "", _TOKENS), re.VERBOSE | re.DOTALL)
"""Where a backslash in a text is a letter as any other."""
_WRITING: Final = frozenset(
    ("call", "delete", "do", "insert", "load", "merge", "replace", "select", "update", "values", "with")
)
_AS_SUCH: Final = frozenset(("partition", "tablespace", "convert", "ignore"))
_PARTS: Final = frozenset(("drop", "truncate", "exchange", "discard", "import", "convert"))
_COLUMNS: Final = frozenset(("drop", "modify", "change", "rename"))


@dataclass(frozen=True, slots=True)
class _Token:
    """A name has its quotes taken away; `word`: what it may mean in the language, in lower case."""

    name: str
    word: str = ""


def read_query(query: Query, folded: bool) -> Statement | None:
    """What a statement in the log does; None: nothing that matters."""
    read = [read_statement(query.schema, text, folded, query.backslashes) for text in query.texts()]
    found = [statement for statement in read if statement is not None]
    if not found:
        return None
    tables = tuple(table for statement in found for table in statement.tables)
    words = frozenset[str]().union(*(statement.words for statement in found))
    return replace(found[0], tables=tables, words=words)


def read_statement(schema: str, text: str, folded: bool, backslashes: bool = True) -> Statement | None:
    """What a statement of a session in this schema does; None: nothing that matters.

    `folded`: the server keeps the names of tables in lower case, however they are written.  `backslashes`:
    they escape, in texts.
    """
    found = _read(schema, text, _TOKEN if backslashes else _PLAIN_TOKEN)
    if found is None or not folded:
        return found
    return replace(found, tables=tuple((one.lower(), other.lower()) for one, other in found.tables))


def is_rollback(text: bytes) -> bool:
    """Whether changes before it are not to be."""
    return text[:8].lower() == b"rollback"


def _read(schema: str, text: str, token: re.Pattern[str]) -> Statement | None:
    tokens = _tokens(text, token)
    first = _first(tokens)
    shown = text if len(text) <= _TEXT_SHOWN_MAX else f"{text[:_TEXT_SHOWN_MAX]}..."
    if first in _WRITING:
        return Statement(Effect.WRITTEN, (), shown)
    if first not in ("alter", "create", "drop", "rename", "truncate"):
        return None
    rest = list(tokens)
    words = [token.word for token in rest]
    match first:
        case "truncate":
            begin = 1 if words[:1] == ["table"] else 0
            return Statement(Effect.TRUNCATED, (_name(rest, begin, schema)[0],), shown)
        case "drop":
            return _dropped(rest, words, schema, shown)
        case "rename" if words[:1] in (["table"], ["tables"]):
            return Statement(Effect.RENAMED, tuple(_names(rest, _after(words, 1), schema)), shown)
        case "create" if words[:3] == ["or", "replace", "table"]:
            return Statement(Effect.DROPPED, (_name(rest, _after(words, 3), schema)[0],), shown)
        case "create" if words[:3] in (["or", "replace", "database"], ["or", "replace", "schema"]):
            return _schema_dropped(rest, _after(words, 3), shown)
        case "create" if words[:2] == ["or", "replace"] and "index" in words[2:4] and "on" in words:
            return _index_dropped(rest, words, schema, shown)
        case "alter" if "table" in words[:3]:
            return _altered(rest, words, schema, shown)
    return None


def _first(tokens: Iterator[_Token]) -> str:
    """The word that a statement begins with, behind what MariaDB may have before it.

    SET STATEMENT variable = value, .. FOR;  ANALYZE [FORMAT = JSON], which carries out what it is about.
    """
    words = (token.word for token in tokens)
    first = next(words, "")
    if first == "set" and next(words, "") == "statement":
        return next(words, "") if "for" in words else ""
    if first == "analyze":
        return next((word for word in words if word not in ("format", "=", "json", "traditional")), "")
    return first


def _dropped(rest: list[_Token], words: list[str], schema: str, shown: str) -> Statement | None:
    if words[:1] in (["table"], ["tables"]):
        return Statement(Effect.DROPPED, tuple(_names(rest, _after(words, 1), schema)), shown)
    if words[:1] in (["database"], ["schema"]):
        return _schema_dropped(rest, _after(words, 1), shown)
    if words[:1] == ["index"] and "on" in words:
        return _index_dropped(rest, words, schema, shown)
    return None


def _index_dropped(rest: list[_Token], words: list[str], schema: str, shown: str) -> Statement:
    table, _ = _name(rest, words.index("on") + 1, schema)
    said = frozenset(("drop", "index", *(token.name.lower() for token in rest)))
    return Statement(Effect.ALTERED, (table,), shown, said)


def _schema_dropped(rest: list[_Token], place: int, shown: str) -> Statement | None:
    return Statement(Effect.DROPPED, ((rest[place].name, "*"),), shown) if place < len(rest) else None


def _altered(rest: list[_Token], words: list[str], schema: str, shown: str) -> Statement:
    table, after = _name(rest, _after(words, words.index("table") + 1), schema)
    tail = words[after:]
    for place, (word, behind) in enumerate(pairwise(tail), after + 1):
        if word == "rename" and behind not in ("column", "index", "key"):
            other, _ = _name(rest, place + (behind in ("to", "as", "=")), schema)
            return Statement(Effect.RENAMED, (table, other), shown)
    said = frozenset(token.name.lower() for token in rest[after:])
    tables = [table]
    if "table" in tail and not {"exchange", "convert"}.isdisjoint(
        tail
    ):  # that changes places with a partition
        tables.append(_name(rest, after + tail.index("table") + 1, schema)[0])
    if "ignore" in words[:2]:  # MariaDB then deletes rows that are in the way of a key
        return Statement(Effect.ALTERED, tuple(tables), shown, said | {"ignore"}, rows=True)
    parts = not _AS_SUCH.isdisjoint(tail)
    # A primary key takes its columns' NULLs away, for which a lenient MariaDB puts other values.
    rows = (parts and not _PARTS.isdisjoint(tail)) or not (_COLUMNS | {"primary"}).isdisjoint(tail)
    return Statement(Effect.ALTERED, tuple(tables), shown, said, rows)


def partitions(statement: Statement) -> bool:
    """Whether an ALTER TABLE is about rows as such, whatever columns it names."""
    return not _AS_SUCH.isdisjoint(statement.words)


def lifts(statement: Statement, primary: bool) -> bool:
    """Whether rows may have been alike in a primary key for a while, or in another one."""
    kinds = ("primary",) if primary else ("index", "key", "constraint")
    return "drop" in statement.words and not statement.words.isdisjoint(kinds)


def _tokens(text: str, token: re.Pattern[str]) -> Iterator[_Token]:
    for match in token.finditer(text):
        if match["quoted"] is not None:
            yield _Token(match["quoted"].replace("``", "`"))
        elif match["text"] is not None:
            yield _Token(match["text"][1:-1])
        elif match["word"] is not None:
            yield _Token(match["word"], match["word"].lower())
        elif match["sign"] is not None:
            yield _Token(match["sign"], match["sign"])


def _after(words: list[str], place: int) -> int:
    """The place behind IF EXISTS."""
    if words[place : place + 2] == ["if", "exists"]:
        return place + 2
    return place + 3 if words[place : place + 3] == ["if", "not", "exists"] else place


def _name(tokens: list[_Token], place: int, schema: str) -> tuple[Name, int]:
    """A table's name, and the place behind it."""
    first = tokens[place].name if place < len(tokens) else ""
    if place + 2 < len(tokens) and tokens[place + 1].word == ".":
        return (first, tokens[place + 2].name), place + 3
    return (schema, first), place + 1


def _names(tokens: list[_Token], place: int, schema: str) -> Iterator[Name]:
    """Those of a list, also of pairs with TO between them."""
    while place < len(tokens):
        name, place = _name(tokens, place, schema)
        yield name
        while place < len(tokens) and tokens[place].word not in (",", "to"):
            place += 1
        place += 1
