"""EXPLAIN MIGRATION: what would become of legacy sources."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement

PHRASES = ("EXPLAIN MIGRATION",)


@dataclass(frozen=True, slots=True)
class ExplainMigration(Statement):
    """It says everything."""

    def render(self) -> str:
        return "EXPLAIN MIGRATION"


def parse(cursor: Cursor) -> ExplainMigration:
    """Parse the statement."""
    cursor.expect("EXPLAIN", "MIGRATION")
    return ExplainMigration()
