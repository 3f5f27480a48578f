"""CREATE SOURCE: the ingestion of one upstream.

    CREATE SOURCE [IF NOT EXISTS] name [IN CLUSTER cluster]
    FROM upstream
    [WITH (TIMESTAMP INTERVAL = i, RETAIN HISTORY = FOR i)]

Tables are created from it afterwards.  The older form, in which the same statement
also says what becomes of the data (FORMAT, ENVELOPE, FOR ALL TABLES, ...), is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.options import (
    Duration,
    OptionReader,
    clause,
    duration,
    parse_with_options,
    render_options,
    retain_history,
)
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement
from headwater.sql.upstreams import Upstream, parse_upstream

PHRASES = ("CREATE SOURCE",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "TIMESTAMP INTERVAL": duration,
    "RETAIN HISTORY": retain_history,
}
_TABLES_INSTEAD: Final = "not supported; use CREATE TABLE .. FROM SOURCE instead"
_LEGACY: Final = {
    ("FOR", "ALL", "TABLES"): f"FOR ALL TABLES {_TABLES_INSTEAD}",
    ("FOR", "TABLES"): f"FOR TABLES (..) {_TABLES_INSTEAD}",
    ("FOR", "SCHEMAS"): f"FOR SCHEMAS (..) {_TABLES_INSTEAD}",
    ("FORMAT",): f"CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) {_TABLES_INSTEAD}",
    ("KEY", "FORMAT"): f"CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) {_TABLES_INSTEAD}",
    ("INCLUDE",): f"CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) {_TABLES_INSTEAD}",
    ("ENVELOPE",): f"CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE) {_TABLES_INSTEAD}",
    ("EXPOSE", "PROGRESS"): "EXPOSE PROGRESS AS not yet supported",
}


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """A new source."""

    name: Name
    upstream: Upstream
    cluster: str | None = None
    timestamp_interval: Duration | None = None
    retain_history: Duration | None = None
    if_not_exists: bool = False

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        cluster = "" if self.cluster is None else f"\nIN CLUSTER {quote_identifier(self.cluster)}"
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"CREATE SOURCE {condition}{self.name}{cluster}\nFROM {self.upstream.render()}{options};"


def parse(cursor: Cursor) -> CreateSource:
    """Parse the statement."""
    cursor.expect("CREATE", "SOURCE")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    if cursor.at_symbol("("):
        raise not_supported("columns in CREATE SOURCE", position=cursor.error_position())
    cluster = cursor.identifier() if cursor.accept("IN", "CLUSTER") else None
    cursor.expect("FROM")
    upstream = parse_upstream(cursor)
    for words, message in _LEGACY.items():
        if cursor.at(*words):
            raise UserError(message, "0A000", position=cursor.error_position())
    options = parse_with_options(cursor, _OPTIONS)
    return CreateSource(name, upstream, cluster, if_not_exists=if_not_exists, **options)
