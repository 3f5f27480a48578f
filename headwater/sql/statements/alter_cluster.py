"""ALTER CLUSTER [IF EXISTS] name SET (option = value, ...) | RESET (option, ...)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.sql.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.options import parse_options
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement
from headwater.sql.words import tree

PHRASES = ("ALTER CLUSTER [IF EXISTS] <name> SET|RESET",)

_NAMES: Final = tree((name, name) for name in CLUSTER_OPTIONS)


@dataclass(frozen=True, slots=True)
class AlterCluster(Statement):
    """New values for options that are set in `options`, the defaults for those named in `reset`."""

    name: str
    options: ClusterOptions = field(default_factory=ClusterOptions)
    reset: tuple[str, ...] = ()
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        action = f"RESET ({', '.join(self.reset)})" if self.reset else f"SET ({self.options.render()})"
        return f"ALTER CLUSTER {condition}{quote_identifier(self.name)} {action}"


def parse(cursor: Cursor) -> AlterCluster:
    """Parse the statement."""
    cursor.expect("ALTER", "CLUSTER")
    if_exists = parse_if_exists(cursor)
    name = cursor.name(parts_max=1).item
    if cursor.accept("RESET"):
        reset = cursor.parenthesized(lambda: cursor.choose(_NAMES))
        return AlterCluster(name, reset=reset, if_exists=if_exists)
    cursor.expect("SET")
    return AlterCluster(name, ClusterOptions(**parse_options(cursor, CLUSTER_OPTIONS)), if_exists=if_exists)
