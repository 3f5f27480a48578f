"""All kinds of upstreams as statements know them.

Importing this makes their words, connections and system relations known to the parser and the catalog.
The cluster has no need of it.
"""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin import registry
from headwater.sources import told_by_kinds
from headwater.sources.connections import ConnectionKind
from headwater.sources.dialect import Dialect
from headwater.sql import connection_options, upstream

DIALECTS: Final[dict[str, Dialect]] = {
    dialect.source_type: dialect for dialect in told_by_kinds(".dialect", "DIALECT").values()
}
"""By the names of source types."""

CONNECTION_KINDS: Final[dict[str, ConnectionKind]] = {
    kind.words: kind for dialect in DIALECTS.values() for kind in dialect.connections
}
"""By their words in SQL."""


def dialect_of(written: upstream.Upstream) -> Dialect | None:
    """The dialect of the kind that a statement is about; None if there are no such sources yet."""
    return next((d for d in DIALECTS.values() if d.grammar.words == written.words), None)


for _dialect in DIALECTS.values():
    upstream.register(_dialect.grammar)
    registry.register(_dialect.relations)
for _connection in CONNECTION_KINDS.values():
    connection_options.register(_connection.words, _connection.readers)
