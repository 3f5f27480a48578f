"""CREATE SOURCE: the ingestion of one upstream.

    CREATE SOURCE [IF NOT EXISTS] name [IN CLUSTER cluster]
    FROM upstream
    [WITH (TIMESTAMP INTERVAL = i, RETAIN HISTORY = FOR i)]

Tables are created from it afterwards.  In the legacy syntax the same statement also says
what becomes of the data:

    CREATE SOURCE [IF NOT EXISTS] name
    [(column, ... [, PRIMARY KEY (column, ...) NOT ENFORCED])]
    [IN CLUSTER cluster]
    FROM upstream
    [FORMAT ..] [INCLUDE ..] [ENVELOPE ..]
    [FOR ALL TABLES | FOR SCHEMAS (schema, ...) | FOR TABLES (reference [AS name], ...)]
    [EXPOSE PROGRESS AS name]
    [WITH (..)]

Not here: which of the two may be used (coordinator/source_form.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.encoding import Encoding, parse_encoding
from headwater.sql.options import (
    Duration,
    OptionReader,
    clause,
    duration,
    parse_with_options,
    render_options,
    retain_history,
)
from headwater.sql.outputs import Outputs, parse_outputs
from headwater.sql.parts import parse_if_not_exists, render_key
from headwater.sql.statement import Statement
from headwater.sql.upstream import Upstream, parse_upstream

PHRASES = ("CREATE SOURCE",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "TIMESTAMP INTERVAL": duration,
    "RETAIN HISTORY": retain_history,
}


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """A new source; everything after `if_not_exists` belongs to the legacy syntax."""

    name: Name
    upstream: Upstream
    cluster: str | None = None
    timestamp_interval: Duration | None = None
    retain_history: Duration | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    encoding: Encoding = field(default_factory=Encoding)
    outputs: Outputs | None = None
    progress: Name | None = None

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        columns = [quote_identifier(column) for column in self.columns]
        if self.key:
            columns.append(f"{render_key(self.key)} NOT ENFORCED")
        shape = f" ({', '.join(columns)})" if columns else ""
        cluster = "" if self.cluster is None else f"\nIN CLUSTER {quote_identifier(self.cluster)}"
        outputs = "" if self.outputs is None else f"\n{self.outputs}"
        progress = "" if self.progress is None else f"\nEXPOSE PROGRESS AS {self.progress}"
        options = clause("WITH", render_options(self, _OPTIONS))
        return (
            f"CREATE SOURCE {condition}{self.name}{shape}{cluster}\nFROM {self.upstream.render()}"
            f"{self.encoding.render()}{outputs}{progress}{options};"
        )


def parse(cursor: Cursor) -> CreateSource:
    """Parse the statement."""
    cursor.expect("CREATE", "SOURCE")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    columns, key = _columns(cursor) if cursor.at_symbol("(") else ((), ())
    cluster = cursor.identifier() if cursor.accept("IN", "CLUSTER") else None
    cursor.expect("FROM")
    upstream = parse_upstream(cursor)
    encoding = parse_encoding(cursor)
    outputs = parse_outputs(cursor)
    progress = cursor.name() if cursor.accept("EXPOSE", "PROGRESS", "AS") else None
    options = parse_with_options(cursor, _OPTIONS)
    return CreateSource(
        name,
        upstream,
        cluster,
        if_not_exists=if_not_exists,
        columns=columns,
        key=key,
        encoding=encoding,
        outputs=outputs,
        progress=progress,
        **options,
    )


def _columns(cursor: Cursor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names, and the columns of the key if one is said."""
    columns: list[str] = []
    key: tuple[str, ...] = ()
    cursor.expect_symbol("(")
    while True:
        if cursor.accept("PRIMARY", "KEY"):
            key = cursor.parenthesized(cursor.identifier)
            cursor.expect("NOT", "ENFORCED")
            break
        columns.append(cursor.identifier())
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return tuple(columns), key
