"""CREATE TABLE ... FROM WEBHOOK: a table whose rows come by HTTP requests.

    CREATE {TABLE | SOURCE} [IF NOT EXISTS] name [IN CLUSTER cluster] FROM WEBHOOK
    BODY FORMAT {TEXT | JSON [ARRAY] | BYTES}
    [INCLUDE HEADER 'name' AS column [BYTES] | INCLUDE HEADERS [([NOT] 'name', ...)]]...
    [CHECK ([WITH (bind, ...)] condition)]
    [WITH (RETAIN HISTORY = FOR i)]

    bind    {HEADERS | BODY | SECRET name} [AS alias] [BYTES]

CREATE SOURCE is the legacy syntax: it makes a source, which belongs to a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name, SqlText, quote_identifier, quote_string
from headwater.sql.options import (
    Duration,
    OptionReader,
    clause,
    parse_with_options,
    render_options,
    retain_history,
)
from headwater.sql.parts import parse_if_not_exists, render_alias
from headwater.sql.statement import Statement

PHRASES = ("CREATE TABLE ... FROM WEBHOOK", "CREATE SOURCE ... FROM WEBHOOK")

_OPTIONS: Final[dict[str, OptionReader]] = {"RETAIN HISTORY": retain_history}

BodyFormat = Literal["TEXT", "JSON", "JSON ARRAY", "BYTES"]
Given = Literal["BODY", "HEADERS", "SECRET"]


@dataclass(frozen=True, slots=True)
class MappedHeader:
    """A header with a column of its own."""

    header: str
    column: str
    binary: bool = False

    def __str__(self) -> str:
        binary = " BYTES" if self.binary else ""
        return f"INCLUDE HEADER {quote_string(self.header)} AS {quote_identifier(self.column)}{binary}"


@dataclass(frozen=True, slots=True)
class IncludedHeaders:
    """All headers in one column, or those that are named, or all but these."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = [*map(quote_string, self.only), *(f"NOT {quote_string(name)}" for name in self.without)]
        return "INCLUDE HEADERS" + (f" ({', '.join(named)})" if named else "")


@dataclass(frozen=True, slots=True)
class Bind:
    """What a CHECK may look at, and what it calls it."""

    given: Given
    secret: Name | None = None
    alias: str | None = None
    binary: bool = False

    @property
    def column(self) -> str:
        """Its name in the condition."""
        if self.alias is not None:
            return self.alias
        return self.given.lower() if self.secret is None else self.secret.item

    def __str__(self) -> str:
        secret = "" if self.secret is None else f" {self.secret}"
        return f"{self.given}{secret}{render_alias(self.alias)}{' BYTES' if self.binary else ''}"


BODY_AND_HEADERS: Final = (Bind("BODY"), Bind("HEADERS"))
"""What a CHECK without WITH looks at."""


@dataclass(frozen=True, slots=True)
class Check:
    """Which requests are taken."""

    condition: SqlText
    binds: tuple[Bind, ...] = ()

    def __str__(self) -> str:
        binds = f"WITH ({', '.join(map(str, self.binds))}) " if self.binds else ""
        return f"CHECK ({binds}{self.condition})"


@dataclass(frozen=True, slots=True)
class CreateTableFromWebhook(Statement):
    """A new table, or in the legacy syntax a source, that requests write."""

    name: Name
    body: BodyFormat
    mapped: tuple[MappedHeader, ...] = ()
    headers: IncludedHeaders | None = None
    check: Check | None = None
    if_not_exists: bool = False
    legacy: bool = False  # CREATE SOURCE
    cluster: str | None = None
    retain_history: Duration | None = None

    def render(self) -> str:
        kind = "SOURCE" if self.legacy else "TABLE"
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        cluster = "" if self.cluster is None else f"\nIN CLUSTER {quote_identifier(self.cluster)}"
        parts = [f"BODY FORMAT {self.body}"]
        if self.headers is not None:
            parts.append(str(self.headers))
        parts += map(str, self.mapped)
        if self.check is not None:
            parts.append(str(self.check))
        options = clause("WITH", render_options(self, _OPTIONS))
        clauses = "\n".join(parts)
        return f"CREATE {kind} {condition}{self.name}{cluster}\nFROM WEBHOOK\n{clauses}{options};"

    def in_full(self, name: Name, secrets: dict[Name, Name]) -> CreateTableFromWebhook:
        """What is kept of it: everything is named in full."""
        check = self.check
        if check is not None:
            check = replace(check, binds=tuple(_in_full(bind, secrets) for bind in check.binds))
        return replace(self, name=name, check=check, if_not_exists=False)


def _in_full(bind: Bind, secrets: dict[Name, Name]) -> Bind:
    return bind if bind.secret is None else replace(bind, secret=secrets[bind.secret], alias=bind.column)


def parse(cursor: Cursor) -> CreateTableFromWebhook:
    """Parse the statement."""
    cursor.expect("CREATE")
    legacy = cursor.accept("SOURCE")
    if not legacy:
        cursor.expect("TABLE")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    cluster = cursor.identifier() if legacy and cursor.accept("IN", "CLUSTER") else None
    cursor.expect("FROM", "WEBHOOK", "BODY", "FORMAT")
    body = _body_format(cursor)
    mapped: list[MappedHeader] = []
    headers: IncludedHeaders | None = None
    while cursor.accept("INCLUDE"):
        if cursor.accept("HEADER"):
            mapped.append(_mapped(cursor))
        else:
            position = cursor.error_position()
            cursor.expect("HEADERS")
            if headers is not None:
                raise UserError("INCLUDE HEADERS specified more than once", "42601", position=position)
            headers = _included(cursor)
    check = _check(cursor) if cursor.accept("CHECK") else None
    return CreateTableFromWebhook(
        *(name, body, tuple(mapped), headers, check, if_not_exists, legacy, cluster),
        **parse_with_options(cursor, _OPTIONS),
    )


def _body_format(cursor: Cursor) -> BodyFormat:
    match cursor.expect_any("TEXT", "JSON", "BYTES"):
        case "JSON":
            return "JSON ARRAY" if cursor.accept("ARRAY") else "JSON"
        case "TEXT":
            return "TEXT"
        case _:
            return "BYTES"


def _mapped(cursor: Cursor) -> MappedHeader:
    header = cursor.string()
    cursor.expect("AS")
    return MappedHeader(header, cursor.identifier(), cursor.accept("BYTES"))


def _included(cursor: Cursor) -> IncludedHeaders:
    only: list[str] = []
    without: list[str] = []
    if cursor.at_symbol("("):
        for name, excluded in cursor.parenthesized(lambda: _filtered(cursor)):
            (without if excluded else only).append(name)
    return IncludedHeaders(tuple(only), tuple(without))


def _filtered(cursor: Cursor) -> tuple[str, bool]:
    excluded = cursor.accept("NOT")
    return cursor.string(), excluded


def _check(cursor: Cursor) -> Check:
    cursor.expect_symbol("(")
    binds: tuple[Bind, ...] = ()
    if cursor.accept("WITH"):
        binds = cursor.parenthesized(lambda: _bind(cursor))
    condition = cursor.span()
    cursor.expect_symbol(")")
    return Check(condition, binds)


def _bind(cursor: Cursor) -> Bind:
    given = cursor.expect_any("BODY", "HEADERS", "SECRET")
    secret = cursor.name() if given == "SECRET" else None
    # BYTES may come before the alias too.
    binary = cursor.accept("BYTES")
    alias = cursor.identifier() if cursor.accept("AS") else None
    binary = cursor.accept("BYTES") or binary
    match given:
        case "BODY":
            return Bind("BODY", None, alias, binary)
        case "HEADERS":
            return Bind("HEADERS", None, alias, binary)
        case _:
            return Bind("SECRET", secret, alias, binary)
