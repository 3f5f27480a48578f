"""EXPLAIN: how a query would be answered.

EXPLAIN [[OPTIMIZED] PLAN [AS TEXT | JSON] FOR] query       our plan
EXPLAIN PHYSICAL PLAN [AS TEXT | JSON] FOR query            the plan of the engine that would run it
EXPLAIN (ENGINE {spark | duckdb}) query                     the plan of that engine
EXPLAIN TIMESTAMP [AS TEXT | JSON] FOR query                the timestamp it would be read at
EXPLAIN ANALYZE query, EXPLAIN (ANALYZE, ...) query         runs it: our plan, what was read, how long it took
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.errors import not_supported
from headwater.sql.cursor import QUERY_WORDS, Cursor
from headwater.sql.statement import Statement

PHRASES = ("EXPLAIN",)
Kind = Literal["plan", "physical plan", "timestamp", "analyze"]

_SHOWN_ANYWAY: Final = ("VERBOSE", "BUFFERS", "COSTS", "TIMING", "SUMMARY")
"""Options of PostgreSQL about what EXPLAIN ANALYZE shows, all of which it does."""
_OPTIONS: Final = ("ANALYZE", "ENGINE", "FORMAT", "GENERIC_PLAN", "SETTINGS", "WAL", *_SHOWN_ANYWAY)


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """What to explain of a query; `engine` only with a physical plan, None is the one chosen."""

    kind: Kind
    statement: Statement
    format: Literal["text", "json"] = "text"
    engine: Literal["spark", "duckdb"] | None = None

    def render(self) -> str:
        if self.kind == "analyze":
            engine = "" if self.engine is None else f", ENGINE {self.engine}"
            return f"EXPLAIN (ANALYZE{engine}) {self.statement.render()}"
        if self.engine is not None:
            return f"EXPLAIN (ENGINE {self.engine}) {self.statement.render()}"
        return f"EXPLAIN {self.kind.upper()} AS {self.format.upper()} FOR {self.statement.render()}"


def parse(cursor: Cursor) -> Explain:
    """Parse the statement."""
    cursor.expect("EXPLAIN")
    if cursor.at_symbol("(") and cursor.peek(1).value.upper() in _OPTIONS:
        return _with_options(cursor)
    if cursor.accept("ANALYZE"):
        if cursor.peek().value.upper() == "VERBOSE":
            cursor.take()
        return Explain("analyze", _analyzed(cursor))
    if cursor.peek().keyword in ("RAW", "DECORRELATED", "LOCALLY", "FILTER", "KEY", "VALUE"):
        raise not_supported(f"EXPLAIN {cursor.peek().keyword}", position=cursor.error_position())
    kind: Kind = "plan"
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


def _with_options(cursor: Cursor) -> Explain:
    """`(ANALYZE, ENGINE spark) query`."""
    analyze, engine = False, None
    cursor.expect_symbol("(")
    while True:
        position = cursor.error_position()
        option = cursor.take().value.upper()
        if option == "ENGINE":
            cursor.accept_symbol("=")
            engine = cursor.expect_any("SPARK", "DUCKDB")
        elif option == "FORMAT" and cursor.peek().value.upper() == "TEXT":
            cursor.take()
        elif option == "ANALYZE":
            analyze = _switched_on(cursor)
        elif option in _SHOWN_ANYWAY:
            _switched_on(cursor)
        else:
            raise not_supported(f"EXPLAIN ({option})", position=position)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    chosen: Literal["spark", "duckdb"] | None = None
    if engine is not None:
        chosen = "spark" if engine == "SPARK" else "duckdb"
    if analyze:
        return Explain("analyze", _analyzed(cursor), engine=chosen)
    kind: Kind = "plan" if chosen is None else "physical plan"
    return Explain(kind, cursor.nested(*QUERY_WORDS), engine=chosen)


def _switched_on(cursor: Cursor) -> bool:
    """The value of an option, which is on without one."""
    if cursor.at_symbol(",") or cursor.at_symbol(")"):
        return True
    return cursor.take().value.lower() not in ("off", "false", "0")


def _analyzed(cursor: Cursor) -> Statement:
    """What is run and measured: queries alone, which change nothing."""
    word = cursor.peek().value.upper()
    if cursor.peek().kind == "word" and word not in QUERY_WORDS:
        raise not_supported(
            f"EXPLAIN ANALYZE {word}",
            hint="It runs the statement, so it takes queries alone.",
            position=cursor.error_position(),
        )
    return cursor.nested(*QUERY_WORDS)
