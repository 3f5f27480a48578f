"""CREATE CLUSTER name [(] SIZE = 'x', REPLICATION FACTOR = n, ... [)].

Clusters whose replicas are listed one by one (REPLICAS) are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.core.errors import not_supported
from headwater.sql.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.options import parse_bare_options, parse_options
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement

PHRASES = ("CREATE CLUSTER",)


@dataclass(frozen=True, slots=True)
class CreateCluster(Statement):
    """A new cluster."""

    name: str
    options: ClusterOptions = field(default_factory=ClusterOptions)
    if_not_exists: bool = False

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        options = self.options.render()
        return f"CREATE CLUSTER {condition}{quote_identifier(self.name)}{f' ({options})' if options else ''};"


def parse(cursor: Cursor) -> CreateCluster:
    """Parse the statement."""
    cursor.expect("CREATE", "CLUSTER")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name(parts_max=1).item
    parenthesized = cursor.at_symbol("(")
    if cursor.peek(int(parenthesized)).keyword == "REPLICAS":
        raise not_supported("CREATE CLUSTER with REPLICAS", position=cursor.error_position())
    if cursor.at_end():
        return CreateCluster(name, if_not_exists=if_not_exists)
    options = (parse_options if parenthesized else parse_bare_options)(cursor, CLUSTER_OPTIONS)
    return CreateCluster(name, ClusterOptions(**options), if_not_exists)
