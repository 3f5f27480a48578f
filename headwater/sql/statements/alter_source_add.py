"""ALTER SOURCE .. ADD SUBSOURCE: more of what a legacy source ingests.

ALTER SOURCE [IF EXISTS] name ADD {SUBSOURCE | TABLE} reference [AS name], ...
[WITH (TEXT COLUMNS = (table.column, ...), EXCLUDE COLUMNS = (table.column, ...))]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import OptionReader, clause, parse_with_options, qualified_names, render_options
from headwater.sql.outputs import Output, parse_output
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement

PHRASES = ("ALTER SOURCE [IF EXISTS] <name> ADD",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "TEXT COLUMNS": qualified_names,
    "EXCLUDE COLUMNS": qualified_names,
}


@dataclass(frozen=True, slots=True)
class AlterSourceAdd(Statement):
    """More subsources; columns are named `[[database.]schema.]table.column`."""

    name: Name
    outputs: tuple[Output, ...]
    text_columns: tuple[Name, ...] = ()
    exclude_columns: tuple[Name, ...] = ()
    if_exists: bool = False

    def render(self) -> str:
        outputs = ", ".join(str(output) for output in self.outputs)
        condition = "IF EXISTS " if self.if_exists else ""
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"ALTER SOURCE {condition}{self.name} ADD SUBSOURCE {outputs}{options}"


def parse(cursor: Cursor) -> AlterSourceAdd:
    """Parse the statement."""
    cursor.expect("ALTER", "SOURCE")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    cursor.expect("ADD")
    cursor.expect_any("SUBSOURCE", "TABLE")
    outputs = cursor.separated(lambda: parse_output(cursor))
    return AlterSourceAdd(name, outputs, if_exists=if_exists, **parse_with_options(cursor, _OPTIONS))
