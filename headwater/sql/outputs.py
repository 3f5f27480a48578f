"""Which references of an upstream become subsources: the FOR clause of the older CREATE SOURCE.

    FOR ALL TABLES
    FOR SCHEMAS (schema, ...)
    FOR TABLES (reference [AS | INTO name], ...)
    FOR TABLE reference [AS | INTO name]

Also the list of ALTER SOURCE .. ADD SUBSOURCE, which is that of FOR TABLES without its words.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name, quote_identifier


@dataclass(frozen=True, slots=True)
class Output:
    """A reference and the subsource's name; None is the reference's own."""

    reference: Name
    name: Name | None = None

    def __str__(self) -> str:
        return str(self.reference) if self.name is None else f"{self.reference} AS {self.name}"


@dataclass(frozen=True, slots=True)
class AllTables:
    """Everything the upstream has."""

    def __str__(self) -> str:
        return "FOR ALL TABLES"


@dataclass(frozen=True, slots=True)
class OfSchemas:
    """Everything in some schemas of the upstream."""

    schemas: tuple[str, ...]

    def __str__(self) -> str:
        return f"FOR SCHEMAS ({', '.join(quote_identifier(schema) for schema in self.schemas)})"


@dataclass(frozen=True, slots=True)
class TheseTables:
    """What is named."""

    tables: tuple[Output, ...]

    def __str__(self) -> str:
        return f"FOR TABLES ({', '.join(str(table) for table in self.tables)})"


Outputs = AllTables | OfSchemas | TheseTables


def parse_outputs(cursor: Cursor) -> Outputs | None:
    """`[FOR ...]`."""
    if not cursor.accept("FOR"):
        return None
    if cursor.accept("TABLE"):
        return TheseTables((parse_output(cursor),))
    match cursor.expect_any("ALL", "SCHEMAS", "TABLES"):
        case "ALL":
            cursor.expect("TABLES")
            return AllTables()
        case "SCHEMAS":
            return OfSchemas(cursor.parenthesized(cursor.identifier))
        case _:
            return TheseTables(cursor.parenthesized(lambda: parse_output(cursor)))


def parse_output(cursor: Cursor) -> Output:
    """`reference [AS | INTO name]`."""
    reference = cursor.name()
    named = cursor.accept_any("AS", "INTO") is not None
    return Output(reference, cursor.name() if named else None)
