"""What to type for a table that has ended: another one beside it that takes its place."""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog.state import Item
from headwater.core.errors import UserError
from headwater.sql.cursor import Name
from headwater.sql.parse import parse_statement
from headwater.sql.statements.create_subsource import CreateSubsource
from headwater.sql.statements.create_table_from_source import CreateTableFromSource


def how_to_replace(item: Item) -> str:
    """The statements; what is named in them may have to be altered, as the upstream was."""
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
    return f"{create} ALTER TABLE {name} SWAP WITH {Name((other.item,))}; DROP TABLE {other};"


_SOMEHOW = "Create a second table on the same reference, then drop this one."
