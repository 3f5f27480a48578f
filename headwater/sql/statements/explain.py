"""EXPLAIN: how a query would be answered.

EXPLAIN [[OPTIMIZED] PLAN [AS TEXT | JSON] FOR] query       our plan
EXPLAIN PHYSICAL PLAN [AS TEXT | JSON] FOR query            the plan of the engine that would run it
EXPLAIN (ENGINE {spark | duckdb}) query                     the plan of that engine
EXPLAIN TIMESTAMP [AS TEXT | JSON] FOR query                the timestamp it would be read at
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headwater.core.errors import not_supported
from headwater.sql.cursor import QUERY_WORDS, Cursor
from headwater.sql.statement import Statement

PHRASES = ("EXPLAIN",)


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """What to explain of a query; `engine` only with a physical plan, None is the one chosen."""

    kind: Literal["plan", "physical plan", "timestamp"]
    statement: Statement
    format: Literal["text", "json"] = "text"
    engine: Literal["spark", "duckdb"] | None = None

    def render(self) -> str:
        if self.engine is not None:
            return f"EXPLAIN (ENGINE {self.engine}) {self.statement.render()}"
        return f"EXPLAIN {self.kind.upper()} AS {self.format.upper()} FOR {self.statement.render()}"


def parse(cursor: Cursor) -> Explain:
    """Parse the statement."""
    cursor.expect("EXPLAIN")
    if cursor.at_symbol("(") and cursor.peek(1).keyword == "ENGINE":
        cursor.take()
        cursor.take()
        cursor.accept_symbol("=")
        engine = cursor.expect_any("SPARK", "DUCKDB")
        cursor.expect_symbol(")")
        statement = cursor.nested(*QUERY_WORDS)
        return Explain("physical plan", statement, engine="spark" if engine == "SPARK" else "duckdb")
    if cursor.peek().keyword in ("ANALYZE", "RAW", "DECORRELATED", "LOCALLY", "FILTER", "KEY", "VALUE"):
        raise not_supported(f"EXPLAIN {cursor.peek().keyword}", position=cursor.error_position())
    kind: Literal["plan", "physical plan", "timestamp"] = "plan"
    if cursor.accept("PHYSICAL"):
        cursor.expect("PLAN")
        kind = "physical plan"
    elif cursor.accept("TIMESTAMP"):
        kind = "timestamp"
    elif cursor.accept("OPTIMIZED"):
        cursor.expect("PLAN")
    elif not cursor.accept("PLAN"):
        return Explain("plan", cursor.nested(*QUERY_WORDS))
    format_: Literal["text", "json"] = "text"
    if cursor.accept("AS") and cursor.expect_any("TEXT", "JSON") == "JSON":
        format_ = "json"
    cursor.expect("FOR")
    return Explain(kind, cursor.nested(*QUERY_WORDS), format_)
