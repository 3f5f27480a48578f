"""SHOW kind [FROM schema] [ON relation] [IN CLUSTER cluster] [LIKE 'pattern' | WHERE condition].

All kinds of the dialect are read, also those of which there are no objects: their
answer is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.parts import Filter, parse_filter
from headwater.sql.statement import Statement
from headwater.sql.words import tree


@dataclass(frozen=True, slots=True)
class _Clauses:
    """Which clauses a kind takes; `from_parts_max` 0 is no FROM."""

    from_parts_max: int = 2
    on: bool = False
    cluster: bool = False


_KINDS: Final = {
    "sources": _Clauses(cluster=True),
    "subsources": _Clauses(on=True),
    "references": _Clauses(from_parts_max=0, on=True),
    "tables": _Clauses(on=True),
    "views": _Clauses(),
    "materialized views": _Clauses(cluster=True),
    "sinks": _Clauses(cluster=True),
    "indexes": _Clauses(on=True, cluster=True),
    "connections": _Clauses(),
    "secrets": _Clauses(),
    "types": _Clauses(),
    "objects": _Clauses(),
    "schemas": _Clauses(from_parts_max=1),
    "databases": _Clauses(from_parts_max=0),
    "roles": _Clauses(from_parts_max=0),
    "clusters": _Clauses(from_parts_max=0),
    "cluster replicas": _Clauses(from_parts_max=0),
}
_NAMES: Final = tree((kind.upper(), kind) for kind in _KINDS)

PHRASES = tuple(f"SHOW {kind.upper()}" for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class ShowObjects(Statement):
    """Objects of a kind (`materialized views`), by schema or database, by relation, by cluster."""

    kind: str
    from_: Name | None = None
    on: Name | None = None
    cluster: str | None = None
    filter: Filter = field(default_factory=Filter)

    def render(self) -> str:
        from_ = "" if self.from_ is None else f" FROM {self.from_}"
        on = "" if self.on is None else f" ON {self.on}"
        cluster = "" if self.cluster is None else f" IN CLUSTER {quote_identifier(self.cluster)}"
        return f"SHOW {self.kind.upper()}{from_}{on}{cluster}{self.filter}"


def parse(cursor: Cursor) -> ShowObjects:
    """Parse the statement."""
    cursor.expect("SHOW")
    kind = cursor.choose(_NAMES)
    clauses = _KINDS[kind]
    from_: Name | None = None
    on: Name | None = None
    cluster: str | None = None
    while True:
        if clauses.cluster and cluster is None and cursor.accept("IN", "CLUSTER"):
            cluster = cursor.identifier()
        elif clauses.from_parts_max and from_ is None and cursor.accept_any("FROM", "IN"):
            from_ = cursor.name(clauses.from_parts_max)
        elif clauses.on and on is None and cursor.accept("ON"):
            on = cursor.name()
        else:
            break
        if from_ is not None and on is not None:
            raise cursor.refusal("Cannot specify both FROM and ON", "42601")
    return ShowObjects(kind, from_, on, cluster, parse_filter(cursor))
