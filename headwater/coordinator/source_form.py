"""The two forms of CREATE SOURCE: a source from which tables are made, or all in one statement.

A statement is in the legacy syntax if it has any clause that only that form has.  Two flags
say what may be written:

    enable_create_table_from_source off     only the legacy syntax
    both as they are                        either
    force_source_table_syntax on            only the current syntax; the refusal shows it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from headwater.coordinator.variables import flag
from headwater.core.errors import UserError
from headwater.sources.dialect import Dialect
from headwater.sql.cursor import Name
from headwater.sql.encoding import Encoding
from headwater.sql.outputs import AllTables, OfSchemas, TheseTables
from headwater.sql.statements.create_source import CreateSource
from headwater.sql.statements.create_table_from_source import CreateTableFromSource
from headwater.sql.upstream import EXCLUDE_COLUMNS, TEXT_COLUMNS

_TABLES_INSTEAD: Final = "not supported; use CREATE TABLE .. FROM SOURCE instead"


def legacy_syntax(variables: Mapping[str, str], statement: CreateSource) -> bool:
    """Whether a statement is in the legacy syntax; UserError when it may not be."""
    clause = _legacy_clause(statement)
    if flag(variables, "force_source_table_syntax"):
        if clause is not None:
            raise UserError(f"{clause} {_TABLES_INSTEAD}", "0A000", hint=f"Type: {newer_form(statement)}")
        return False
    return clause is not None or not flag(variables, "enable_create_table_from_source")


def refuse_if_forced(variables: Mapping[str, str], what: str, hint: str) -> None:
    """For statements that only the legacy syntax has."""
    if flag(variables, "force_source_table_syntax"):
        raise UserError(f"{what} {_TABLES_INSTEAD}", "0A000", hint=hint)


def missing_tables(dialect: Dialect, hint: str) -> UserError:
    """A source with many references, and none was named."""
    return UserError(f"{dialect.prefix}{dialect.unnamed}", "42601", hint=hint)


def _legacy_clause(statement: CreateSource) -> str | None:
    """What makes it a legacy one, as the refusal names it."""
    match statement.outputs:
        case AllTables():
            return "FOR ALL TABLES"
        case OfSchemas():
            return "FOR SCHEMAS (..)"
        case TheseTables():
            return "FOR TABLES (..)"
    if not statement.encoding.empty:
        return "CREATE SOURCE (ENVELOPE|FORMAT|INCLUDE)"
    if statement.columns or statement.key:
        return "columns in CREATE SOURCE"
    return None if statement.progress is None else "EXPOSE PROGRESS AS"


def newer_form(statement: CreateSource) -> str:
    """The statements to write instead."""
    source = replace(
        statement,
        upstream=statement.upstream.without_columns(),
        columns=(),
        key=(),
        encoding=Encoding(),
        outputs=None,
        progress=None,
        retain_history=None,
    )
    retain = statement.retain_history
    if statement.outputs is None and statement.upstream.single:
        # What had one output had its rows under its own name.
        source = replace(source, name=Name((*source.name.parts[:-1], f"{source.name.item}_source")))
        tables = [
            CreateTableFromSource(
                *(statement.name, source.name, None, statement.columns),
                encoding=statement.encoding,
                retain_history=retain,
            ).render()
        ]
    elif isinstance(statement.outputs, TheseTables):
        tables = [
            CreateTableFromSource(
                output.name or Name((*source.name.parts[:-1], output.reference.item)),
                source.name,
                output.reference,
                text_columns=_columns_of(statement.upstream.columns(TEXT_COLUMNS), output.reference),
                exclude_columns=_columns_of(statement.upstream.columns(EXCLUDE_COLUMNS), output.reference),
                retain_history=retain,
            ).render()
            for output in statement.outputs.tables
        ]
    else:
        tables = [
            f"CREATE TABLE t FROM SOURCE {source.name} (REFERENCE schema.t),"
            f" for each that SHOW REFERENCES ON {source.name} lists"
        ]
    return " ".join([source.render(), *tables]).replace("\n", " ")


def _columns_of(columns: Sequence[Name], table: Name) -> tuple[str, ...]:
    """The columns of a list that are this table's, as far as names alone can tell."""
    return tuple(column.item for column in columns if column.parts[-2:-1] == table.parts[-1:])
