"""What to type for a table that has ended: another one beside it that takes its place."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog.state import Item
from headwater.core.errors import UserError
from headwater.sql.cursor import Name
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table_from_source import CreateTableFromSource

UNSTORED = (
    "Where a column's values cannot be stored: WITH (TEXT COLUMNS (..)) or WITH (EXCLUDE COLUMNS (..))."
)


def how_to_replace(item: Item) -> str:
    """The statements; where they name columns, that these may have been altered upstream."""
    try:
        statement = parse_statement(item.create_sql)
    except UserError:
        return _SOMEHOW
    name: Name
    if isinstance(statement, CreateSubsource):
        name, reference = statement.name, statement.external_reference
        return f"DROP SOURCE {name}; ALTER SOURCE {statement.source} ADD SUBSOURCE {reference} AS {name};"
    if not isinstance(statement, CreateTableFromSource):
        return _SOMEHOW
    name = statement.name
    other = Name((*name.parts[:-1], f"{name.item}_new"))
    create = " ".join(replace(statement, name=other).render().splitlines())
    statements = f"{create} ALTER TABLE {name} SWAP WITH {Name((other.item,))}; DROP TABLE {other};"
    named = (statement.columns, statement.text_columns, statement.exclude_columns, statement.partition_by)
    return f"{statements} {_AS_THEY_WERE}" if any(named) else statements


_AS_THEY_WERE = (
    "It names columns as they were: leave out those that the upstream no longer has,"
    " and use its new names for the others."
)
_SOMEHOW = "Create a second table on the same reference, then drop this one."
